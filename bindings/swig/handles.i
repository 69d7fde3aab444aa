/* Handles: %opd_handle(C type, class).
 *
 * An argument `T *` borrows the handle; optional.i says where null is allowed. `T **out_x` returns a new reference,
 * which the language's object owns. Functions that add or release references are not offered, because the objects of
 * the language release their references themselves. */
%opd_handle(opd_tensor, Tensor)
%opd_handle(opd_function, Function)
%opd_handle(opd_module, Module)
%opd_handle(opd_array, Array)
%opd_handle(opd_map, Map)
%opd_handle(opd_shape, Shape)
%opd_handle(opd_executable, Executable)
%opd_handle(opd_vm, VirtualMachine)
%opd_handle(opd_kv_state, KvState)
%opd_handle(opd_cancel_token, Cancel)
%opd_handle(opd_params, Params)
%opd_handle(opd_report, Report)
%opd_handle(opd_report_builder, ReportBuilder)
%opd_handle(opd_trace, Trace)
%opd_handle(opd_profiler, Profiler)
%opd_handle(opd_evaluator, Evaluator)
%opd_handle(opd_benchmark, Benchmark)
%opd_handle(opd_collector, Collector)
%opd_handle(opd_closure, Closure)
%opd_handle(opd_rpc_session, RpcSession)
%opd_handle(opd_telemetry, Telemetry)

%opd_handles_in(opd_collector, Collector, opd_collector *const *collectors, int32_t num_collectors)
%opd_handles_in(opd_trace, Trace, const opd_trace *const *traces, int32_t num_traces)

/* The language's objects manage reference counts themselves. */
%ignore opd_buffer_retain;
%ignore opd_buffer_release;
%ignore opd_error_retain;
%ignore opd_error_release;
%ignore opd_object_retain;
%ignore opd_object_release;
%ignore opd_object_type;
%ignore opd_value_of_object;
%ignore opd_value_retain;
%ignore opd_value_release;

/* Options are structs that begin with struct_size and have an _init function: %opd_options(struct). */
%opd_options(opd_module_options)
%opd_options(opd_export_options)
%opd_options(opd_params_options)
%opd_options(opd_vm_options)
%opd_options(opd_call_options)
%opd_options(opd_profile_options)
%opd_options(opd_profiler_options)
%opd_options(opd_profiler_dump_options)
%opd_options(opd_trace_write_options)
%opd_options(opd_trace_merge_options)
%opd_options(opd_report_write_options)
%opd_options(opd_evaluator_options)
%opd_options(opd_compare_options)
%opd_options(opd_record_options)
%opd_options(opd_replay_options)
%opd_options(opd_diff_options)
%opd_options(opd_counter_options)
%opd_options(opd_rpc_connect_options)
%opd_options(opd_telemetry_options)
%opd_options(opd_telemetry_value)

/* Results are structs whose struct_size the caller sets: %opd_stats(struct). */
%opd_stats(opd_memory_stats)
%opd_stats(opd_kv_stats)
%opd_stats(opd_params_stats)
%opd_stats(opd_tensor_info)
%opd_stats(opd_machine_peak)
%opd_stats(opd_benchmark_stats)
%opd_stats(opd_telemetry_stats)
