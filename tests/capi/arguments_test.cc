// Every function of the C API that can fail refuses a NULL where it needs a pointer, and names the argument.
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
// may be absent are. `names` are those of the needed arguments.
template <class... Types>
void refuses(opd_error *(*function)(Types...), std::vector<size_t> needed, std::vector<std::string> names) {
  ASSERT_EQ(needed.size(), names.size());
  for (size_t i = 0; i < needed.size(); ++i) {
    const size_t absent = needed[i];
    const std::string message = names[i] + " must not be NULL";
    size_t place = 0;
    const auto is_null = [&] {
      const size_t here = place++;
      return here == absent || std::find(needed.begin(), needed.end(), here) == needed.end();
    };
    const std::tuple<Types...> args{value_of<Types>(is_null())...};  // braces: from left to right
    opd_error *error = std::apply(function, args);
    ASSERT_NE(error, nullptr) << message;
    const Error given(error);
    EXPECT_EQ(given.code(), OPD_INVALID_ARGUMENT) << message;
    EXPECT_EQ(given.message(), message);
  }
}

TEST(Arguments, NullIsRefusedByName) {
  refuses(opd_build_info, {0}, {"out_json"});
  refuses(opd_evaluator_create, {0, 2}, {"function", "out_evaluator"});
  refuses(opd_evaluator_call, {0, 3}, {"evaluator", "out_benchmark"});
  refuses(opd_benchmark_create, {0, 2}, {"seconds", "out_benchmark"});
  refuses(opd_benchmark_get_stats, {0, 1}, {"benchmark", "out_stats"});
  refuses(opd_benchmark_to_text, {0, 1}, {"benchmark", "out_text"});
  refuses(opd_cancel_token_create, {0}, {"out_token"});
  refuses(opd_metrics_set, {0, 1, 3}, {"metrics", "name", "value"});
  refuses(opd_collector_create, {0, 1, 2}, {"name", "table", "out_collector"});
  refuses(opd_collector_create_builtin, {2}, {"out_collector"});
  refuses(opd_collector_list_events, {1}, {"out_names"});
  refuses(opd_function_profile, {0, 5}, {"function", "out_function"});
  refuses(opd_device_from_string, {0, 1}, {"text", "out_device"});
  refuses(opd_device_get_attr, {2}, {"out_value"});
  refuses(opd_memory_get_stats, {1}, {"out_stats"});
  refuses(opd_report_diff, {5}, {"out_report"});
  refuses(opd_benchmark_diff, {0, 1, 3}, {"before", "after", "out_report"});
  refuses(opd_executable_load_bytes, {0, 2}, {"data", "out_executable"});
  refuses(opd_executable_save_bytes, {0, 1}, {"executable", "out_bytes"});
  refuses(opd_executable_assemble, {0, 2}, {"text", "out_executable"});
  refuses(opd_executable_write, {0, 2}, {"executable", "out_text"});
  refuses(opd_executable_from_module, {0, 1}, {"module", "out_executable"});
  refuses(opd_executable_to_module, {0, 1}, {"executable", "out_module"});
  refuses(opd_executable_builder_create, {0}, {"out_builder"});
  refuses(opd_executable_builder_begin_function, {0, 1}, {"builder", "name"});
  refuses(opd_executable_builder_end_function, {0}, {"builder"});
  refuses(opd_executable_builder_add_constant, {0, 1, 2}, {"builder", "value", "out_operand"});
  refuses(opd_executable_builder_add_function, {0, 1, 2}, {"builder", "name", "out_operand"});
  refuses(opd_executable_builder_emit, {0, 1}, {"builder", "instruction"});
  refuses(opd_executable_builder_get, {0, 1}, {"builder", "out_executable"});
  refuses(opd_function_create, {0, 3}, {"callback", "out_function"});
  refuses(opd_function_register, {0, 1}, {"name", "function"});
  refuses(opd_function_get_global, {0, 1}, {"name", "out_function"});
  refuses(opd_function_remove_global, {0}, {"name"});
  refuses(opd_function_list_global, {0}, {"out_names"});
  refuses(opd_function_create_native, {0, 1, 4}, {"pointer", "signature", "out_function"});
  refuses(opd_closure_create, {0, 1, 2}, {"function", "signature", "out_closure"});
  refuses(opd_module_load, {0, 2}, {"path", "out_module"});
  refuses(opd_module_load_bytes, {0, 4}, {"data", "out_module"});
  refuses(opd_module_load_static_library, {0, 3}, {"path", "out_module"});
  refuses(opd_module_load_native, {0, 5}, {"path", "out_module"});
  refuses(opd_module_system_lib, {1}, {"out_module"});
  refuses(opd_module_get_function, {0, 3}, {"module", "out_function"});
  refuses(opd_module_native_function, {0, 1, 2, 3}, {"module", "symbol", "signature", "out_function"});
  refuses(opd_module_list_functions, {0, 1}, {"module", "out_names"});
  refuses(opd_module_list_formats, {0, 1}, {"module", "out_formats"});
  refuses(opd_module_save, {0, 1}, {"module", "path"});
  refuses(opd_module_export, {0, 1}, {"module", "path"});
  refuses(opd_module_list_imports, {0, 1}, {"module", "out_modules"});
  refuses(opd_module_add_import, {0, 1}, {"module", "imported"});
  refuses(opd_module_get_source, {0, 2}, {"module", "out_text"});
  refuses(opd_module_to_json, {0, 1}, {"module", "out_json"});
  refuses(opd_params_create, {0}, {"out_params"});
  refuses(opd_params_open, {0, 2}, {"path", "out_params"});
  refuses(opd_params_open_bytes, {0, 5}, {"data", "out_params"});
  refuses(opd_params_save, {0, 1}, {"params", "path"});
  refuses(opd_params_save_bytes, {0, 1}, {"params", "out_bytes"});
  refuses(opd_params_get_info, {0, 2}, {"params", "out_info"});
  refuses(opd_params_get_stats, {0, 1}, {"params", "out_stats"});
  refuses(opd_params_get, {0, 1, 2}, {"params", "name", "out_tensor"});
  refuses(opd_params_set, {0, 1, 2}, {"params", "name", "tensor"});
  refuses(opd_profiler_create, {1}, {"out_profiler"});
  refuses(opd_profiler_start, {0}, {"profiler"});
  refuses(opd_profiler_set_action, {0}, {"profiler"});
  refuses(opd_profiler_step, {0, 1}, {"profiler", "out_trace"});
  refuses(opd_profiler_stop, {0, 1}, {"profiler", "out_trace"});
  refuses(opd_profiler_snapshot, {0, 1}, {"profiler", "out_trace"});
  refuses(opd_profiler_set_dumps, {0}, {"profiler"});
  refuses(opd_profiler_dump, {0}, {"profiler"});
  refuses(opd_report_from_json, {0, 2}, {"json", "out_report"});
  refuses(opd_report_write, {0, 3}, {"report", "out_text"});
  refuses(opd_report_to_arrow, {0, 1}, {"report", "out_stream"});
  refuses(opd_report_list, {0, 2}, {"report", "out_names"});
  refuses(opd_report_get, {0, 3, 4}, {"report", "name", "out_value"});
  refuses(opd_report_get_column, {0, 2, 3}, {"report", "name", "out_values"});
  refuses(opd_report_builder_create, {0}, {"out_builder"});
  refuses(opd_report_builder_add_call, {0}, {"builder"});
  refuses(opd_report_builder_set, {0, 3, 5}, {"builder", "name", "value"});
  refuses(opd_report_builder_finish, {0, 1}, {"builder", "out_report"});
  refuses(opd_machine_measure_peak, {0}, {"out_peak"});
  refuses(opd_report_add_roofline, {0, 3}, {"report", "out_report"});
  refuses(opd_tensor_create, {4}, {"out_tensor"});
  refuses(opd_tensor_copy, {0, 1}, {"from", "to"});
  refuses(opd_tensor_copy_from_bytes, {0}, {"to"});
  refuses(opd_tensor_copy_to_bytes, {0}, {"from"});
  refuses(opd_tensor_reshape, {0, 3}, {"tensor", "out_tensor"});
  refuses(opd_tensor_borrow, {0, 1}, {"from", "out_tensor"});
  refuses(opd_tensor_from_dlpack, {0, 1}, {"managed", "out_tensor"});
  refuses(opd_tensor_from_dlpack_versioned, {0, 1}, {"managed", "out_tensor"});
  refuses(opd_tensor_to_dlpack, {0, 1}, {"tensor", "out_managed"});
  refuses(opd_tensor_to_dlpack_versioned, {0, 1}, {"tensor", "out_managed"});
  refuses(opd_trace_load, {0, 1}, {"path", "out_trace"});
  refuses(opd_trace_write, {0, 3}, {"trace", "out_bytes"});
  refuses(opd_trace_save, {0, 1}, {"trace", "path"});
  refuses(opd_trace_to_report, {0, 3}, {"trace", "out_report"});
  refuses(opd_trace_merge, {0, 3}, {"traces", "out_trace"});
  refuses(opd_value_retain, {0, 1}, {"value", "out_value"});
  refuses(opd_string_create, {0, 2}, {"data", "out_value"});
  refuses(opd_bytes_create, {0, 2}, {"data", "out_value"});
  refuses(opd_string_get, {0, 1, 2}, {"value", "out_data", "out_size"});
  refuses(opd_shape_create, {0, 2}, {"dims", "out_shape"});
  refuses(opd_array_create, {0, 2}, {"items", "out_array"});
  refuses(opd_array_get, {0, 2}, {"array", "out_item"});
  refuses(opd_map_create, {0, 2}, {"pairs", "out_map"});
  refuses(opd_map_get, {0, 1, 2}, {"map", "key", "out_value"});
  refuses(opd_map_entry, {0, 2, 3}, {"map", "out_key", "out_value"});
  refuses(opd_dtype_from_string, {0, 1}, {"text", "out_dtype"});
  refuses(opd_value_to_string, {0, 1}, {"value", "out_text"});
  refuses(opd_vm_create, {0, 2}, {"module", "out_vm"});
  refuses(opd_vm_call, {0, 1}, {"vm", "name"});
  refuses(opd_vm_get_function, {0, 1, 2}, {"vm", "name", "out_function"});
  refuses(opd_vm_invoke_closure, {0, 1}, {"vm", "closure"});
  refuses(opd_vm_save_function, {0, 1, 2}, {"vm", "name", "saved_name"});
  refuses(opd_vm_set_input, {0, 1}, {"vm", "name"});
  refuses(opd_vm_invoke_stateful, {0, 1}, {"vm", "name"});
  refuses(opd_vm_get_outputs, {0, 1, 2, 4}, {"vm", "name", "path", "out_value"});
  refuses(opd_vm_set_instrument, {0}, {"vm"});
  refuses(opd_vm_list_functions, {0, 1}, {"vm", "out_names"});
  refuses(opd_vm_list_params, {0, 1, 2}, {"vm", "name", "out_names"});
  refuses(opd_vm_trim, {0}, {"vm"});
  refuses(opd_vm_profile, {0, 1, 6}, {"vm", "name", "out_report"});
  refuses(opd_vm_profile_start, {0}, {"vm"});
  refuses(opd_vm_profile_stop, {0, 1}, {"vm", "out_report"});
  refuses(opd_stream_create, {1}, {"out_stream"});
  refuses(opd_stream_set, {2}, {"out_before"});
  refuses(opd_device_register, {0, 1, 2}, {"kind", "table", "out_type"});
  refuses(opd_compare, {0, 1, 2, 6}, {"a", "b", "function", "out_report"});
  refuses(opd_kv_state_from_value, {0, 1}, {"value", "out_state"});
  refuses(opd_kv_state_add, {0}, {"state"});
  refuses(opd_kv_state_remove, {0}, {"state"});
  refuses(opd_kv_state_clear, {0}, {"state"});
  refuses(opd_kv_state_fork, {0}, {"state"});
  refuses(opd_kv_state_pop, {0}, {"state"});
  refuses(opd_kv_state_begin, {0}, {"state"});
  refuses(opd_kv_state_end, {0}, {"state"});
  refuses(opd_kv_state_lengths, {0}, {"state"});
  refuses(opd_kv_state_get_stats, {0}, {"state"});
  refuses(opd_report_merge, {0, 2}, {"reports", "out_report"});
  refuses(opd_replay, {0, 3}, {"path", "out_report"});
  refuses(opd_vm_record_next_call, {0}, {"vm"});
  refuses(opd_rpc_connect, {0, 2}, {"address", "out_session"});
  refuses(opd_rpc_request, {0, 2}, {"tracker", "out_session"});
  refuses(opd_rpc_tracker_summary, {0, 2}, {"tracker", "out_json"});
  refuses(opd_rpc_session_device, {0, 2}, {"session", "out_device"});
  refuses(opd_rpc_session_get_function, {0, 1, 2}, {"session", "name", "out_function"});
  refuses(opd_rpc_session_upload, {0, 1, 2}, {"session", "name", "data"});
  refuses(opd_rpc_session_download, {0, 1, 2}, {"session", "name", "out_bytes"});
  refuses(opd_rpc_session_load_module, {0, 1, 2}, {"session", "name", "out_module"});
  refuses(opd_rpc_session_describe, {0, 1}, {"session", "out_json"});
  refuses(opd_rpc_serve_describe, {1}, {"out_json"});
  refuses(opd_rpc_tell_end, {1}, {"progress"});
  refuses(opd_telemetry_start, {1}, {"out_telemetry"});
  refuses(opd_telemetry_to_text, {2}, {"out_text"});
  refuses(opd_telemetry_set_value, {1}, {"value"});
  refuses(opd_telemetry_flush, {0}, {"telemetry"});
  refuses(opd_telemetry_get_stats, {1}, {"out_stats"});
}

}  // namespace
