/* The scenario that each language runs and that prints the same in each: expected.txt. Argument: a library of TVM's. */
#include <opdyno/opdyno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(opd_error *error) {
  if (!error) return;
  fprintf(stderr, "%s: %s\n", opd_error_kind(error), opd_error_message(error));
  exit(1);
}

static void print_tensor(const char *what, const opd_value *value) {
  const DLTensor *view = opd_tensor_view((const opd_tensor *)value->u.object);
  printf("%s", what);
  for (int64_t i = 0; i < view->shape[0]; ++i) printf(" %g", ((const float *)view->data)[i]);
  printf("\n");
}

static void print_names(const char *what, opd_array *names) {
  printf("%s", what);
  for (size_t i = 0; i < opd_array_count(names); ++i) {
    opd_value name;
    const char *text;
    size_t size;
    check(opd_array_get(names, i, &name));
    check(opd_string_get(&name, &text, &size));
    printf(" %.*s", (int)size, text);
    opd_value_release(&name);
  }
  printf("\n");
  opd_array_release(names);
}

/* The function of the host that the second program calls. */
static opd_error *scale(void *factor, const opd_value *args, int32_t num_args, opd_value *out_result) {
  if (num_args != 1) return opd_error_create(OPD_INVALID_ARGUMENT, "TypeError", "golden.scale takes one number");
  *out_result = opd_int(args[0].u.int64 * *(int64_t *)factor);
  return NULL;
}

/* Counts the calls that it sees, before and after. */
static opd_error *count_calls(void *counts, const opd_value *args, int32_t num_args, opd_value *out_result) {
  (void)num_args, (void)out_result;
  ++((int64_t *)counts)[args[2].u.int64 ? 0 : 1];
  return NULL;
}

static opd_vm *vm_of(opd_module *module) {
  opd_vm *vm;
  check(opd_vm_create(module, NULL, &vm));
  return vm;
}

static void run_program(opd_vm *vm, const opd_value *x) {
  opd_array *names;
  opd_value result;
  check(opd_vm_list_functions(vm, &names));
  print_names("functions", names);
  check(opd_vm_list_params(vm, "main", &names));
  print_names("parameters", names);
  check(opd_vm_call(vm, "main", x, 1, NULL, &result));
  print_tensor("result", &result);
  opd_value_release(&result);
  check(opd_vm_set_input(vm, "main", x, 1, NULL));
  check(opd_vm_invoke_stateful(vm, "main", NULL));
  check(opd_vm_get_outputs(vm, "main", NULL, 0, &result));
  print_tensor("stateful", &result);
  opd_value_release(&result);
  opd_error *error = opd_vm_call(vm, "mian", x, 1, NULL, &result);
  printf("error %s: %s\n", opd_error_kind(error), opd_error_message(error));
  opd_error_release(error);
}

static void call_back(void) {
  static int64_t factor = 6;
  static const char text[] = ".func main(n) {\n  %m = call golden.scale(%n)\n  ret %m\n}";
  opd_function *function;
  opd_executable *program;
  opd_module *module;
  const opd_value seven = opd_int(7);
  opd_value result;
  check(opd_function_create(scale, &factor, NULL, &function));
  check(opd_function_register("golden.scale", function, 1));
  check(opd_executable_assemble(text, sizeof text - 1, &program));
  check(opd_executable_to_module(program, &module));
  opd_vm *vm = vm_of(module);
  check(opd_vm_call(vm, "main", &seven, 1, NULL, &result));
  printf("callback %d\n", (int)result.u.int64);
  check(opd_function_remove_global("golden.scale"));
  opd_vm_release(vm), opd_module_release(module), opd_executable_release(program), opd_function_release(function);
}

static void instrument(opd_vm *vm, const opd_value *x) {
  int64_t counts[2] = {0, 0};
  opd_function *function;
  opd_value result;
  check(opd_function_create(count_calls, counts, NULL, &function));
  check(opd_vm_set_instrument(vm, function));
  check(opd_vm_call(vm, "main", x, 1, NULL, &result));
  check(opd_vm_set_instrument(vm, NULL));
  printf("instrument %d before, %d after\n", (int)counts[0], (int)counts[1]);
  opd_value_release(&result), opd_function_release(function);
}

static void profile(opd_vm *vm, const opd_value *x) {
  opd_report *report, *again;
  opd_trace *trace;
  opd_buffer *json;
  int64_t adds = 0;
  check(opd_vm_profile(vm, "main", x, 1, NULL, NULL, &report, &trace));
  for (size_t row = 0; row < opd_report_count(report, OPD_REPORT_CALLS); ++row) {
    opd_value name;
    const char *text;
    size_t size;
    check(opd_report_get(report, OPD_REPORT_CALLS, row, "Name", &name, NULL));
    check(opd_string_get(&name, &text, &size));
    adds += size == 3 && memcmp(text, "add", 3) == 0;
    opd_value_release(&name);
  }
  printf("profile %d rows, %d of add\n", (int)opd_report_count(report, OPD_REPORT_CALLS), (int)adds);
  printf("trace %d calls, %d dropped\n", (int)opd_trace_call_count(trace), (int)opd_trace_dropped_count(trace));
  check(opd_report_write(report, OPD_REPORT_JSON, NULL, &json));
  check(opd_report_from_json(opd_buffer_data(json), opd_buffer_size(json), &again));
  printf("JSON %d rows\n", (int)opd_report_count(again, OPD_REPORT_CALLS));
  opd_buffer_release(json), opd_report_release(again), opd_report_release(report), opd_trace_release(trace);
}

int main(int argc, char **argv) {
  const int64_t dims[] = {4};
  const float elements[] = {0, 1, 2, 3};
  const DLDataType float32 = {kDLFloat, 32, 1};
  const DLDevice cpu = {kDLCPU, 0};
  opd_module *module;
  opd_tensor *x;
  if (argc != 2) return 2;
  check(opd_module_load(argv[1], NULL, &module));
  printf("module %s\n", opd_module_kind(module));
  opd_vm *vm = vm_of(module);
  check(opd_tensor_create(dims, 1, float32, cpu, &x));
  check(opd_tensor_copy_from_bytes(x, elements, sizeof elements));
  const opd_value arg = opd_value_of_object(x);
  run_program(vm, &arg);
  call_back();
  instrument(vm, &arg);
  opd_vm_release(vm);
  vm = vm_of(module); /* without inputs that were set */
  profile(vm, &arg);
  opd_tensor_release(x), opd_vm_release(vm), opd_module_release(module);
  return 0;
}
