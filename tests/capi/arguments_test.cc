// Every function of the C API that can fail refuses a NULL where it needs a pointer, and names the arguments.
#include <algorithm>
#include <tuple>

#include "support/opdyno_test.h"

namespace {

using namespace opdyno_test;

alignas(64) char storage[4096];  // what pointers point to that are not looked at

template <class T>
T value_of(bool is_null) {
  if constexpr (std::is_pointer_v<T>)
    return is_null ? nullptr : reinterpret_cast<T>(reinterpret_cast<uintptr_t>(storage));
  else if constexpr (std::is_integral_v<T>) return T{1};  // of one item, so its pointer is needed
  else return T{};
}

// Calls `function` once for each place in `needed`, with NULL there. The other needed pointers are not NULL, those that
// may be absent are.
template <class... Types>
void refuses(opd_error *(*function)(Types...), std::vector<size_t> needed, const std::string &message) {
  for (const size_t absent : needed) {
    size_t place = 0;
    const auto is_null = [&] {
      const size_t here = place++;
      return here == absent || std::find(needed.begin(), needed.end(), here) == needed.end();
    };
    const std::tuple<Types...> args{value_of<Types>(is_null())...};  // braces: from left to right
    opd_error *error = std::apply(function, args);
    ASSERT_NE(error, nullptr) << message << ", place " << absent;
    const Error given(error);
    EXPECT_EQ(given.code(), OPD_INVALID_ARGUMENT) << message;
    EXPECT_EQ(given.message(), message) << "place " << absent;
  }
}

TEST(Arguments, NullIsRefusedByName) {
  refuses(opd_build_info, {0}, "out_json must not be NULL");
  refuses(opd_evaluator_create, {0, 2}, "function and out_evaluator must not be NULL");
  refuses(opd_evaluator_call, {0, 3}, "evaluator and out_benchmark must not be NULL");
  refuses(opd_benchmark_create, {0, 2}, "seconds and out_benchmark must not be NULL, and num not 0");
  refuses(opd_benchmark_get_stats, {0, 1}, "benchmark and out_stats must not be NULL");
  refuses(opd_benchmark_to_text, {0, 1}, "benchmark and out_text must not be NULL");
  refuses(opd_cancel_token_create, {0}, "out_token must not be NULL");
  refuses(opd_metrics_set, {0, 1, 3}, "metrics, name and value must not be NULL");
  refuses(opd_collector_create, {0, 1, 2}, "name, table and out_collector must not be NULL, nor name empty");
  refuses(opd_collector_create_builtin, {2}, "out_collector must not be NULL");
  refuses(opd_collector_list_events, {1}, "out_names must not be NULL");
  refuses(opd_function_profile, {0, 5}, "function and out_function must not be NULL");
  refuses(opd_device_from_string, {0, 1}, "text and out_device must not be NULL");
  refuses(opd_device_get_attr, {2}, "out_value must not be NULL");
  refuses(opd_memory_get_stats, {1}, "out_stats must not be NULL");
  refuses(opd_report_diff, {5}, "out_report must not be NULL");
  refuses(opd_benchmark_diff, {0, 1, 3}, "before, after and out_report must not be NULL");
  refuses(opd_executable_load_bytes, {0, 2}, "data and out_executable must not be NULL");
  refuses(opd_executable_save_bytes, {0, 1}, "executable and out_bytes must not be NULL");
  refuses(opd_executable_assemble, {0, 2}, "text and out_executable must not be NULL");
  refuses(opd_executable_write, {0, 2}, "executable and out_text must not be NULL");
  refuses(opd_executable_from_module, {0, 1}, "module and out_executable must not be NULL");
  refuses(opd_executable_to_module, {0, 1}, "executable and out_module must not be NULL");
  refuses(opd_executable_builder_create, {0}, "out_builder must not be NULL");
  refuses(opd_executable_builder_begin_function, {0, 1}, "builder and name must not be NULL");
  refuses(opd_executable_builder_end_function, {0}, "builder must not be NULL");
  refuses(opd_executable_builder_add_constant, {0, 1, 2}, "builder, value and out_operand must not be NULL");
  refuses(opd_executable_builder_add_function, {0, 1, 2}, "builder, name and out_operand must not be NULL");
  refuses(opd_executable_builder_emit, {0, 1}, "builder and instruction must not be NULL");
  refuses(opd_executable_builder_get, {0, 1}, "builder and out_executable must not be NULL");
  refuses(opd_function_create, {0, 3}, "callback and out_function must not be NULL");
  refuses(opd_function_register, {0, 1}, "name and function must not be NULL");
  refuses(opd_function_get_global, {0, 1}, "name and out_function must not be NULL");
  refuses(opd_function_remove_global, {0}, "name must not be NULL");
  refuses(opd_function_list_global, {0}, "out_names must not be NULL");
  refuses(opd_function_create_native, {0, 1, 4}, "pointer, signature and out_function must not be NULL");
  refuses(opd_closure_create, {0, 1, 2}, "function, signature and out_closure must not be NULL");
  refuses(opd_module_load, {0, 2}, "path and out_module must not be NULL");
  refuses(opd_module_load_bytes, {0, 4}, "data and out_module must not be NULL");
  refuses(opd_module_load_static_library, {0, 3}, "path and out_module must not be NULL");
  refuses(opd_module_load_native, {0, 5}, "path and out_module must not be NULL");
  refuses(opd_module_system_lib, {1}, "out_module must not be NULL");
  refuses(opd_module_get_function, {0, 3}, "module and out_function must not be NULL");
  refuses(opd_module_native_function, {0, 1, 2, 3}, "module, symbol, signature and out_function must not be NULL");
  refuses(opd_module_list_functions, {0, 1}, "module and out_names must not be NULL");
  refuses(opd_module_list_formats, {0, 1}, "module and out_formats must not be NULL");
  refuses(opd_module_save, {0, 1}, "module and path must not be NULL");
  refuses(opd_module_export, {0, 1}, "module and path must not be NULL");
  refuses(opd_module_list_imports, {0, 1}, "module and out_modules must not be NULL");
  refuses(opd_module_add_import, {0, 1}, "module and imported must not be NULL");
  refuses(opd_module_get_source, {0, 2}, "module and out_text must not be NULL");
  refuses(opd_module_to_json, {0, 1}, "module and out_json must not be NULL");
  refuses(opd_params_create, {0}, "out_params must not be NULL");
  refuses(opd_params_open, {0, 2}, "path and out_params must not be NULL");
  refuses(opd_params_open_bytes, {0, 5}, "data and out_params must not be NULL");
  refuses(opd_params_save, {0, 1}, "params and path must not be NULL");
  refuses(opd_params_save_bytes, {0, 1}, "params and out_bytes must not be NULL");
  refuses(opd_params_get_info, {0, 2}, "params and out_info must not be NULL");
  refuses(opd_params_get_stats, {0, 1}, "params and out_stats must not be NULL");
  refuses(opd_params_get, {0, 1, 2}, "params, name and out_tensor must not be NULL");
  refuses(opd_params_set, {0, 1, 2}, "params, name and tensor must not be NULL");
  refuses(opd_profiler_create, {1}, "out_profiler must not be NULL");
  refuses(opd_profiler_start, {0}, "profiler must not be NULL");
  refuses(opd_profiler_set_action, {0}, "profiler must not be NULL");
  refuses(opd_profiler_step, {0, 1}, "profiler and out_trace must not be NULL");
  refuses(opd_profiler_stop, {0, 1}, "profiler and out_trace must not be NULL");
  refuses(opd_profiler_snapshot, {0, 1}, "profiler and out_trace must not be NULL");
  refuses(opd_profiler_set_dumps, {0}, "profiler must not be NULL");
  refuses(opd_profiler_dump, {0}, "profiler must not be NULL");
  refuses(opd_report_from_json, {0, 2}, "json and out_report must not be NULL");
  refuses(opd_report_write, {0, 3}, "report and out_text must not be NULL");
  refuses(opd_report_to_arrow, {0, 1}, "report and out_stream must not be NULL");
  refuses(opd_report_list, {0, 2}, "report and out_names must not be NULL");
  refuses(opd_report_get, {0, 3, 4}, "report, name and out_value must not be NULL");
  refuses(opd_report_get_column, {0, 2, 3}, "report, name and out_values must not be NULL");
  refuses(opd_report_builder_create, {0}, "out_builder must not be NULL");
  refuses(opd_report_builder_add_call, {0}, "builder must not be NULL");
  refuses(opd_report_builder_set, {0, 3, 5}, "builder, name and value must not be NULL");
  refuses(opd_report_builder_finish, {0, 1}, "builder and out_report must not be NULL");
  refuses(opd_machine_measure_peak, {0}, "out_peak must not be NULL");
  refuses(opd_report_add_roofline, {0, 3}, "report and out_report must not be NULL");
  refuses(opd_tensor_create, {4}, "out_tensor must not be NULL");
  refuses(opd_tensor_copy, {0, 1}, "from and to must not be NULL");
  refuses(opd_tensor_copy_from_bytes, {0}, "to must not be NULL");
  refuses(opd_tensor_copy_to_bytes, {0}, "from must not be NULL");
  refuses(opd_tensor_reshape, {0, 3}, "tensor and out_tensor must not be NULL");
  refuses(opd_tensor_borrow, {0, 1}, "from and out_tensor must not be NULL");
  refuses(opd_tensor_from_dlpack, {0, 1}, "managed and out_tensor must not be NULL");
  refuses(opd_tensor_from_dlpack_versioned, {0, 1}, "managed and out_tensor must not be NULL");
  refuses(opd_tensor_to_dlpack, {0, 1}, "tensor and out_managed must not be NULL");
  refuses(opd_tensor_to_dlpack_versioned, {0, 1}, "tensor and out_managed must not be NULL");
  refuses(opd_trace_load, {0, 1}, "path and out_trace must not be NULL");
  refuses(opd_trace_write, {0, 3}, "trace and out_bytes must not be NULL");
  refuses(opd_trace_save, {0, 1}, "trace and path must not be NULL");
  refuses(opd_trace_to_report, {0, 3}, "trace and out_report must not be NULL");
  refuses(opd_trace_merge, {0, 3}, "traces and out_trace must not be NULL");
  refuses(opd_value_retain, {0, 1}, "value and out_value must not be NULL");
  refuses(opd_string_create, {0, 2}, "data and out_value must not be NULL");
  refuses(opd_bytes_create, {0, 2}, "data and out_value must not be NULL");
  refuses(opd_string_get, {0, 1, 2}, "value, out_data and out_size must not be NULL");
  refuses(opd_shape_create, {0, 2}, "dims and out_shape must not be NULL");
  refuses(opd_array_create, {0, 2}, "items and out_array must not be NULL");
  refuses(opd_array_get, {0, 2}, "array and out_item must not be NULL");
  refuses(opd_map_create, {0, 2}, "pairs and out_map must not be NULL");
  refuses(opd_map_get, {0, 1, 2}, "map, key and out_value must not be NULL");
  refuses(opd_map_entry, {0, 2, 3}, "map, out_key and out_value must not be NULL");
  refuses(opd_dtype_from_string, {0, 1}, "text and out_dtype must not be NULL");
  refuses(opd_value_to_string, {0, 1}, "value and out_text must not be NULL");
  refuses(opd_vm_create, {0, 2}, "module and out_vm must not be NULL");
  refuses(opd_vm_call, {0, 1}, "vm and name must not be NULL");
  refuses(opd_vm_get_function, {0, 1, 2}, "vm, name and out_function must not be NULL");
  refuses(opd_vm_invoke_closure, {0, 1}, "vm and closure must not be NULL");
  refuses(opd_vm_save_function, {0, 1, 2}, "vm, name and saved_name must not be NULL");
  refuses(opd_vm_set_input, {0, 1}, "vm and name must not be NULL");
  refuses(opd_vm_invoke_stateful, {0, 1}, "vm and name must not be NULL");
  refuses(opd_vm_get_outputs, {0, 1, 2, 4}, "vm, name, path and out_value must not be NULL");
  refuses(opd_vm_set_instrument, {0}, "vm must not be NULL");
  refuses(opd_vm_list_functions, {0, 1}, "vm and out_names must not be NULL");
  refuses(opd_vm_list_params, {0, 1, 2}, "vm, name and out_names must not be NULL");
  refuses(opd_vm_trim, {0}, "vm must not be NULL");
  refuses(opd_vm_profile, {0, 1, 6}, "vm, name and out_report must not be NULL");
  refuses(opd_vm_profile_start, {0}, "vm must not be NULL");
  refuses(opd_vm_profile_stop, {0, 1}, "vm and out_report must not be NULL");
  refuses(opd_stream_create, {1}, "out_stream must not be NULL");
  refuses(opd_stream_set, {2}, "out_before must not be NULL");
  refuses(opd_device_register, {0, 1, 2}, "kind, table and out_type must not be NULL");
  refuses(opd_compare, {0, 1, 2, 6}, "a, b, function and out_report must not be NULL");
  refuses(opd_kv_state_from_value, {0, 1}, "value and out_state must not be NULL");
  refuses(opd_kv_state_add, {0}, "state must not be NULL");
  refuses(opd_kv_state_remove, {0}, "state must not be NULL");
  refuses(opd_kv_state_clear, {0}, "state must not be NULL");
  refuses(opd_kv_state_fork, {0}, "state must not be NULL");
  refuses(opd_kv_state_pop, {0}, "state must not be NULL");
  refuses(opd_kv_state_begin, {0}, "state must not be NULL");
  refuses(opd_kv_state_end, {0}, "state must not be NULL");
  refuses(opd_kv_state_lengths, {0}, "state must not be NULL");
  refuses(opd_kv_state_get_stats, {0}, "state must not be NULL");
  refuses(opd_report_merge, {0, 2}, "reports and out_report must not be NULL");
  refuses(opd_replay, {0, 3}, "path and out_report must not be NULL");
  refuses(opd_vm_record_next_call, {0}, "vm must not be NULL");
  refuses(opd_rpc_connect, {0, 2}, "address and out_session must not be NULL");
  refuses(opd_rpc_request, {0, 2}, "tracker and out_session must not be NULL");
  refuses(opd_rpc_tracker_summary, {0, 2}, "tracker and out_json must not be NULL");
  refuses(opd_rpc_session_device, {0, 2}, "session and out_device must not be NULL");
  refuses(opd_rpc_session_get_function, {0, 1, 2}, "session, name and out_function must not be NULL");
  refuses(opd_rpc_session_upload, {0, 1, 2}, "session, name and data must not be NULL");
  refuses(opd_rpc_session_download, {0, 1, 2}, "session, name and out_bytes must not be NULL");
  refuses(opd_rpc_session_load_module, {0, 1, 2}, "session, name and out_module must not be NULL");
  refuses(opd_rpc_session_describe, {0, 1}, "session and out_json must not be NULL");
  refuses(opd_rpc_serve_describe, {1}, "out_json must not be NULL");
  refuses(opd_telemetry_start, {1}, "out_telemetry must not be NULL");
  refuses(opd_telemetry_to_text, {2}, "out_text must not be NULL");
  refuses(opd_telemetry_set_value, {1}, "value must not be NULL");
  refuses(opd_telemetry_flush, {0}, "telemetry must not be NULL");
  refuses(opd_telemetry_get_stats, {1}, "out_stats must not be NULL");
}

}  // namespace
