/* Callbacks are functions of the language. They are kept until the deleter is called. */
%opd_packed_callback(opd_packed_fn callback, void *user_data, opd_deleter deleter)
%opd_log_callback(opd_log_fn callback, void *user_data, opd_deleter deleter)
%opd_collector_callback(const opd_collector_table *table, opd_collector_create)
%ignore opd_collector_table;
%ignore opd_metrics;
%ignore opd_metrics_set;
%ignore opd_device_table;  /* only for C, because its functions run within each allocation, copy and launch */
%ignore opd_device_register;
%ignore opd_device_activity;
%ignore opd_activity_receiver;
%ignore opd_activity_kind;
%rename("$ignore", regexmatch$name="^OPD_ACTIVITY_") "";
%ignore opd_kernel_arg;
%ignore opd_kernel_launch;
%opd_pointer(void *pointer)
%opd_pointer(void *stream)
%opd_pointer_out(void **out_stream)
%opd_pointer_out(void **out_before)
%opd_pointer(void *keep_alive)
