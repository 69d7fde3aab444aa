/* Values. `const opd_value *` views a value of the language for the call; `opd_value *out_x` returns a value. The
 * macros are %opd_value_in(parameter), %opd_value_out(parameter), %opd_values_in(pointer, count). Other kinds have
 * similar macros. */
%opd_value_in(const opd_value *value)
%opd_value_in(const opd_value *key)
%opd_value_out(opd_value *out_value)
%opd_value_out(opd_value *out_result)
%opd_value_out(opd_value *out_item)
%opd_value_out(opd_value *out_key)
%opd_values_in(const opd_value *args, int32_t num_args)
%opd_values_in(const opd_value *items, int32_t count)
%opd_pairs_in(const opd_value *pairs, int32_t count)

/* Bytes and text. The name of a buffer tells whether it is text or bytes. */
%opd_bytes_in(const void *data, size_t size)
%opd_bytes_in(const char *data, size_t size)
%opd_bytes_in(const char *json, size_t size)
%opd_bytes_in(const char *text, size_t size)
%opd_text_out(opd_buffer **out_text)
%opd_text_out(opd_buffer **out_json)
%opd_text_out(opd_buffer **out_csv)
%opd_bytes_out(opd_buffer **out_bytes)

/* Sequences. */
%opd_dims_in(const int64_t *dims, int32_t ndim)
%opd_dims_in(const int64_t *path, int32_t path_size)
%opd_dims_in(const int64_t *ids, int32_t num_ids)
%opd_dims_in(const int64_t *counts, int32_t num_counts)
%opd_dims_in(const int64_t *parents, int32_t num_parents)
%opd_texts_in(const char *const *func_names, int32_t num_func_names)
%opd_handles_in(opd_report, Report, const opd_report *const *reports, int32_t num)
%opd_handles_in(opd_report, Report, const opd_report *const *before, int32_t num_before)
%opd_handles_in(opd_report, Report, const opd_report *const *after, int32_t num_after)
%opd_signatures_in(const char *const *names, const char *const *signatures, int32_t num_functions)

/* Numbers, which have a limited range in C. */
%opd_number(int32_t)
%opd_number(uint32_t)
%opd_number(int64_t)
%opd_number(uint64_t)
%opd_number(size_t)
%opd_number(double)
%opd_number(enum SWIGTYPE)

/* Plain outputs, and the structs of DLPack. */
%opd_number_out(int64_t *out_arity)
%opd_kind_out(opd_metric_kind *out_kind)
%opd_dtype(DLDataType)
%opd_device(DLDevice)
%opd_dtype_out(DLDataType *out_dtype)
%opd_device_out(DLDevice *out_device)
%opd_dltensor_in(const DLTensor *from)

/* The struct of an Arrow stream. */
%opd_arrow_stream_out(ArrowArrayStream *out_stream)

/*
 * These functions are not wrapped: they make values, use memory behind bare pointers, or have a counterpart in the
 * languages.
 */
%ignore opd_none;
%ignore opd_int;
%ignore opd_bool;
%ignore opd_float;
%ignore opd_pointer;
%ignore opd_cstring;
%ignore opd_dltensor;
%ignore opd_dtype_value;
%ignore opd_device_value;
%ignore opd_string_create;
%ignore opd_bytes_create;
%ignore opd_string_get;
%ignore opd_shape_dims;
%ignore opd_buffer_data;
%ignore opd_buffer_size;
%ignore opd_tensor_view;
%ignore opd_tensor_borrow;  /* only for the native parts of bindings, around callbacks */
%ignore opd_tensor_end_borrow;
%ignore opd_tensor_is_borrowed;
%ignore opd_tensor_copy_to_bytes;
%ignore opd_tensor_from_dlpack;
%ignore opd_tensor_from_dlpack_versioned;
%ignore opd_tensor_to_dlpack;
%ignore opd_tensor_to_dlpack_versioned;
%ignore opd_params_open_bytes;
%ignore opd_benchmark_seconds;
%ignore opd_benchmark_create;
%ignore opd_memory_set_hooks;
%ignore opd_memory_hooks;

/* Experimental functions that build programs, only for C. */
%ignore opd_operand_register;
%ignore opd_operand_immediate;
%ignore opd_instruction;
%ignore opd_instruction_call;
%ignore opd_instruction_ret;
%ignore opd_instruction_goto;
%ignore opd_instruction_if;
%ignore opd_executable_builder_retain;
%ignore opd_executable_builder_release;
%ignore opd_executable_builder_create;
%ignore opd_executable_builder_begin_function;
%ignore opd_executable_builder_end_function;
%ignore opd_executable_builder_add_constant;
%ignore opd_executable_builder_add_function;
%ignore opd_executable_builder_emit;
%ignore opd_executable_builder_get;
