/* A program of ABI 1.0: compiled with the headers of that release (1.0/include), and run with every later library. It
 * writes, runs, profiles and compares a program, and reads all that it gets through the headers' own inline functions.
 * Prints "ok". */
#include <opdyno/opdyno.h>
#include <stdio.h>
#include <string.h>

#define EXPECT(CONDITION) \
  if (!(CONDITION)) return fail(__LINE__, #CONDITION)
#define EXPECT_OK(CALL) \
  if ((error = (CALL))) return fail(__LINE__, opd_error_message(error))

static int fail(int line, const char *text) {
  fprintf(stderr, "line %d: %s\n", line, text);
  return 1;
}

static opd_error *build(opd_executable **out_executable) {
  opd_executable_builder *builder = NULL;
  const opd_operand args[] = {opd_operand_register(0), opd_operand_immediate(-3)};
  const opd_instruction call = opd_instruction_call("vm.builtin.make_tuple", args, 2, 1), ret = opd_instruction_ret(1);
  opd_error *error = opd_executable_builder_create(&builder);
  if (!error) error = opd_executable_builder_begin_function(builder, "main", 1, NULL);
  if (!error) error = opd_executable_builder_emit(builder, &call);
  if (!error) error = opd_executable_builder_emit(builder, &ret);
  if (!error) error = opd_executable_builder_end_function(builder);
  if (!error) error = opd_executable_builder_get(builder, out_executable);
  opd_executable_builder_release(builder);
  return error;
}

static int run(void) {
  opd_executable *executable = NULL;
  opd_module *module = NULL;
  opd_vm *vm = NULL;
  opd_report *report = NULL, *difference = NULL;
  opd_trace *trace = NULL;
  opd_cancel_token *token = NULL;
  opd_buffer *text = NULL;
  opd_array *names = NULL;
  opd_error *error;
  opd_call_options options;
  opd_profile_options profile;
  opd_value arg = opd_int(7), result = opd_none(), item = opd_none();
  opd_metric_kind kind = OPD_METRIC_NONE;
  const opd_report *runs[1];
  int64_t arity = 0;
  opd_call_options_init(&options);
  opd_profile_options_init(&profile);
  profile.builtins = OPD_BUILTINS_ALL;
  EXPECT_OK(build(&executable));
  EXPECT_OK(opd_executable_write(executable, OPD_EXECUTABLE_ASSEMBLY, &text));
  EXPECT(strstr(opd_buffer_data(text), "make_tuple"));
  opd_buffer_release(text);
  EXPECT_OK(opd_executable_to_module(executable, &module));
  EXPECT_OK(opd_vm_create(module, NULL, &vm));
  EXPECT_OK(opd_vm_call(vm, "main", &arg, 1, &options, &result));
  EXPECT(result.type == OPD_ARRAY && opd_array_count((opd_array *)result.u.object) == 2);
  EXPECT_OK(opd_array_get((opd_array *)result.u.object, 1, &item));
  EXPECT(item.u.int64 == -3);
  EXPECT_OK(opd_vm_set_input(vm, "main", &arg, 1, NULL));
  EXPECT_OK(opd_vm_invoke_stateful(vm, "main", NULL));
  EXPECT_OK(opd_vm_get_output_arity(vm, "main", NULL, 0, &arity));
  EXPECT(arity == 2);
  EXPECT_OK(opd_vm_profile(vm, "main", NULL, 0, NULL, &profile, &report, &trace));
  EXPECT(opd_report_call_count(report) >= 1 && opd_trace_call_count(trace) == 1);
  EXPECT_OK(opd_report_get(report, OPD_REPORT_CALLS, 0, "Duration (us)", &item, &kind));
  EXPECT(kind == OPD_METRIC_DURATION && item.u.float64 >= 0);
  EXPECT_OK(opd_report_list(report, OPD_REPORT_CALLS, &names));
  opd_array_release(names);
  EXPECT_OK(opd_report_write(report, OPD_REPORT_JSON, NULL, &text));
  opd_buffer_release(text);
  runs[0] = report;
  EXPECT_OK(opd_report_diff(runs, 1, runs, 1, NULL, &difference));
  EXPECT(opd_report_count(difference, OPD_REPORT_CONFIGURATION) == 1);
  EXPECT_OK(opd_cancel_token_create(&token));
  options.cancel = token;
  opd_cancel_token_cancel(token);
  error = opd_vm_call(vm, "main", NULL, 0, &options, &result);
  EXPECT(error && opd_error_code(error) != OPD_OK);
  opd_error_release(error);
  opd_value_release(&result);
  opd_value_release(&item);
  opd_cancel_token_release(token);
  opd_report_release(difference);
  opd_trace_release(trace);
  opd_report_release(report);
  opd_vm_release(vm);
  opd_module_release(module);
  opd_executable_release(executable);
  return 0;
}

static int keep(void) {
  opd_params *params = NULL, *read = NULL;
  opd_tensor *tensor = NULL;
  opd_buffer *bytes = NULL;
  opd_error *error;
  opd_tensor_info info;
  const int64_t dims[] = {2, 3};
  DLDataType dtype;
  const DLDevice cpu = {kDLCPU, 0};
  info.struct_size = (uint32_t)sizeof info;
  EXPECT_OK(opd_dtype_from_string("float32", &dtype));
  EXPECT_OK(opd_tensor_create(dims, 2, dtype, cpu, &tensor));
  memset(opd_tensor_view(tensor)->data, 0, opd_tensor_bytes(tensor));
  EXPECT_OK(opd_params_create(&params));
  EXPECT_OK(opd_params_set(params, "weights", tensor));
  EXPECT_OK(opd_params_save_bytes(params, &bytes));
  EXPECT_OK(opd_params_load_bytes(opd_buffer_data(bytes), opd_buffer_size(bytes), &read));
  EXPECT_OK(opd_params_get_info(read, 0, &info));
  EXPECT(info.struct_size == sizeof info && info.ndim == 2 && info.shape[1] == 3 && info.bytes == 24);
  EXPECT(strcmp(opd_params_name(read, 0), "weights") == 0 && !opd_params_name(read, 1));
  opd_params_release(read);
  opd_params_release(params);
  opd_buffer_release(bytes);
  opd_tensor_release(tensor);
  return 0;
}

int main(void) {
  if (run() || keep()) return 1;
  puts("ok");
  return 0;
}
