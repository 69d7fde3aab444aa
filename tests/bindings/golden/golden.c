/* The scenario that each language runs. Its output must be expected.txt in all languages. Arguments: a library made by
 * TVM, the directory examples/digits. */
#include <opdyno/opdyno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(opd_error *error) {
  if (!error) return;
  fprintf(stderr, "%s: %s\n", opd_error_kind(error), opd_error_message(error));
  exit(1);
}

/* Prints the elements of a tensor. For a matrix, prints the index of the largest element in each row. */
static void print_tensor(const char *what, const opd_value *value) {
  const DLTensor *view = opd_tensor_view((const opd_tensor *)value->u.object);
  const float *elements = view->data;
  printf("%s", what);
  for (int64_t i = 0; i < view->shape[0]; ++i) {
    if (view->ndim == 1) {
      printf(" %g", elements[i]);
      continue;
    }
    const float *row = elements + i * view->shape[1];
    int64_t largest = 0;
    for (int64_t k = 1; k < view->shape[1]; ++k)
      if (row[k] > row[largest]) largest = k;
    printf(" %d", (int)largest);
  }
  printf("\n");
}

static void print_names(const char *what, opd_array *names) {
  printf("%s", what);
  for (int32_t i = 0; i < opd_array_count(names); ++i) {
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

/* The host function that the second program calls. */
static opd_error *scale(void *factor, const opd_value *args, int32_t num_args, opd_value *out_result) {
  if (num_args != 1) return opd_error_create(OPD_INVALID_ARGUMENT, "TypeError", "golden.scale takes one number");
  *out_result = opd_int(args[0].u.int64 * *(int64_t *)factor);
  return NULL;
}

/* An instrument that counts how often it runs before and after calls. */
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

static void run_program(opd_vm *vm, const opd_value *args, int32_t num_args) {
  opd_array *names;
  opd_value result;
  check(opd_vm_list_functions(vm, &names));
  print_names("functions", names);
  check(opd_vm_list_params(vm, "main", &names));
  print_names("parameters", names);
  check(opd_vm_call(vm, "main", args, num_args, NULL, &result));
  print_tensor("result", &result);
  opd_value_release(&result);
  check(opd_vm_set_input(vm, "main", args, num_args, NULL));
  check(opd_vm_invoke_stateful(vm, "main", NULL));
  check(opd_vm_get_outputs(vm, "main", NULL, 0, &result));
  print_tensor("stateful", &result);
  opd_value_release(&result);
  opd_error *error = opd_vm_call(vm, "mian", args, num_args, NULL, &result);
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

static void instrument(opd_vm *vm, const opd_value *args, int32_t num_args) {
  int64_t counts[2] = {0, 0};
  opd_function *function;
  opd_value result;
  check(opd_function_create(count_calls, counts, NULL, &function));
  check(opd_vm_set_instrument(vm, function));
  check(opd_vm_call(vm, "main", args, num_args, NULL, &result));
  check(opd_vm_set_instrument(vm, NULL));
  printf("instrument %d before, %d after\n", (int)counts[0], (int)counts[1]);
  opd_value_release(&result), opd_function_release(function);
}

static void profile(opd_vm *vm, const opd_value *args, int32_t num_args, const char *operator_name) {
  opd_report *report, *again;
  opd_trace *trace;
  opd_buffer *json;
  int64_t calls = 0;
  check(opd_vm_profile(vm, "main", args, num_args, NULL, NULL, &report, &trace));
  for (int32_t row = 0; row < opd_report_count(report, OPD_REPORT_CALLS); ++row) {
    opd_value name;
    const char *text;
    size_t size;
    check(opd_report_get(report, OPD_REPORT_CALLS, row, "Name", &name, NULL));
    check(opd_string_get(&name, &text, &size));
    calls += size == strlen(operator_name) && memcmp(text, operator_name, size) == 0;
    opd_value_release(&name);
  }
  printf("profile %d rows, %d of %s\n", (int)opd_report_count(report, OPD_REPORT_CALLS), (int)calls, operator_name);
  printf("trace %d calls, %d dropped\n", (int)opd_trace_call_count(trace), (int)opd_trace_dropped_count(trace));
  check(opd_report_write(report, OPD_REPORT_JSON, NULL, &json));
  check(opd_report_from_json(opd_buffer_data(json), opd_buffer_size(json), &again));
  printf("JSON %d rows\n", (int)opd_report_count(again, OPD_REPORT_CALLS));
  opd_buffer_release(json), opd_report_release(again), opd_report_release(report), opd_trace_release(trace);
}

/* Prints the results of one model. */
static void show(opd_module *module, const opd_value *args, int32_t num_args, const char *operator_name) {
  printf("module %s\n", opd_module_kind(module));
  opd_vm *vm = vm_of(module);
  run_program(vm, args, num_args);
  instrument(vm, args, num_args);
  opd_vm_release(vm);
  vm = vm_of(module); /* a new VM, whose inputs are not set */
  profile(vm, args, num_args, operator_name);
  opd_vm_release(vm), opd_module_release(module);
}

static opd_tensor *floats(const int64_t *dims, int32_t ndim) {
  const DLDataType float32 = {kDLFloat, 32, 1};
  const DLDevice cpu = {kDLCPU, 0};
  opd_tensor *made;
  check(opd_tensor_create(dims, ndim, float32, cpu, &made));
  return made;
}

static void show_artifact(const char *path) {
  const int64_t dims[] = {4};
  const float elements[] = {0, 1, 2, 3};
  opd_module *module;
  opd_tensor *x = floats(dims, 1);
  check(opd_module_load(path, NULL, &module));
  check(opd_tensor_copy_from_bytes(x, elements, sizeof elements));
  const opd_value arg = opd_value_of_object(x);
  show(module, &arg, 1, "add");
  opd_tensor_release(x);
}

static const char *path_of(const char *directory, const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

/* Loads the program of the example with its kernels. */
static opd_module *load_digits(const char *directory) {
  static char text[1 << 16];
  FILE *file = fopen(path_of(directory, "digits.opdasm"), "rb");
  if (!file) exit(2);
  const size_t size = fread(text, 1, sizeof text, file);
  fclose(file);
  opd_executable *program;
  opd_module *module, *kernels;
  check(opd_executable_assemble(text, size, &program));
  check(opd_executable_to_module(program, &module));
  check(opd_module_load(path_of(directory, "kernels.c"), NULL, &kernels));
  check(opd_module_add_import(module, kernels));
  opd_module_release(kernels), opd_executable_release(program);
  return module;
}

static void show_digits(const char *directory) {
  enum { IMAGES = 20, PIXELS = 8 * 8, ARGS = 7 };
  const int64_t dims[] = {IMAGES, 8, 8, 1};
  opd_params *trained, *held_out;
  opd_tensor *images, *tensors[ARGS] = {floats(dims, 4)};
  opd_value args[ARGS];
  check(opd_params_open(path_of(directory, "data/digits.params"), NULL, &trained));
  check(opd_params_open(path_of(directory, "data/digits_test.npz"), NULL, &held_out));
  check(opd_params_get(held_out, "images", &images));
  const uint8_t *pixels = opd_tensor_view(images)->data;
  for (int i = 0; i < IMAGES * PIXELS; ++i) ((float *)opd_tensor_view(tensors[0])->data)[i] = (float)pixels[i] / 16;
  for (int i = 1; i < ARGS; ++i) check(opd_params_get(trained, opd_params_name(trained, (size_t)i - 1), &tensors[i]));
  for (int i = 0; i < ARGS; ++i) args[i] = opd_value_of_object(tensors[i]);
  show(load_digits(directory), args, ARGS, "conv2d");
  for (int i = 0; i < ARGS; ++i) opd_tensor_release(tensors[i]);
  opd_tensor_release(images), opd_params_release(trained), opd_params_release(held_out);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  show_artifact(argv[1]);
  call_back();
  show_digits(argv[2]);
  return 0;
}
