/* A program without dynamic loading: what TVM compiled is linked into it, and registered itself before main(). */
#include <opdyno/opdyno.h>
#include <stdio.h>
#include <string.h>

static int failures;
#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

static int ok(opd_error *error) {
  if (error) fprintf(stderr, "%s\n", opd_error_message(error));
  const int good = error == NULL;
  opd_error_release(error);
  return good;
}

static opd_error *add(void *self, const opd_value *args, int32_t num_args, opd_value *out) {
  (void)self, (void)num_args;
  *out = opd_int(args[0].u.int64 + args[1].u.int64);
  return NULL;
}
static int notes;
static opd_error *note(void *self, const opd_value *args, int32_t num_args, opd_value *out) {
  (void)self, (void)args, (void)out;
  notes += num_args;
  return NULL;
}
static void define(const char *name, opd_packed_fn callback) {
  opd_function *function = NULL;
  EXPECT(ok(opd_function_create(callback, NULL, NULL, &function)));
  EXPECT(ok(opd_function_register(name, function, 0)));
  opd_function_release(function);
}

static opd_tensor *tensor_of(int64_t rows, int64_t columns, float first) {
  const int64_t dims[2] = {rows, columns};
  const DLDataType f32 = {kDLFloat, 32, 1};
  const DLDevice cpu = {kDLCPU, 0};
  opd_tensor *tensor = NULL;
  EXPECT(ok(rows ? opd_tensor_create(dims, 2, f32, cpu, &tensor) : opd_tensor_create(dims + 1, 1, f32, cpu, &tensor)));
  float *data = opd_tensor_view(tensor)->data;
  for (int64_t i = 0; i < (rows ? rows : 1) * columns; ++i) data[i] = first + (float)i;
  return tensor;
}
static float *data_of(opd_tensor *tensor) { return opd_tensor_view(tensor)->data; }

/* Objects with the prefix "". */
static void test_kernels(void) {
  opd_module *module = NULL, *again = NULL;
  EXPECT(ok(opd_module_system_lib(NULL, &module)));
  EXPECT(ok(opd_module_system_lib("", &again)));
  EXPECT(module == again);
  EXPECT(strcmp(opd_module_kind(module), "library") == 0);
  EXPECT(opd_module_has_function(module, "in_parallel", 0));
  EXPECT(!opd_module_has_function(module, "_library_ctx", 0));

  opd_function *function = NULL;
  opd_tensor *x = tensor_of(0, 4, 1), *y = tensor_of(0, 4, 0), *many = tensor_of(0, 64, 0);
  opd_value args[2], result = opd_none();
  args[0] = opd_value_of_object(x);
  args[1] = opd_value_of_object(y);
  EXPECT(ok(opd_module_get_function(module, "add_one", 0, &function)));
  EXPECT(ok(opd_function_call(function, args, 2, &result)));
  EXPECT(data_of(y)[0] == 2 && data_of(y)[3] == 5);
  opd_error *error = opd_function_call(function, args, 1, &result);
  EXPECT(error && strcmp(opd_error_kind(error), "TypeError") == 0); /* through the exported error functions */
  opd_error_release(error);
  opd_function_release(function);

  EXPECT(ok(opd_module_get_function(module, "ask_host", 0, &function)));
  EXPECT(ok(opd_function_call(function, args, 1, &result)));
  EXPECT(data_of(x)[0] == 3 + 4);
  opd_function_release(function);

  args[0] = opd_value_of_object(many);
  EXPECT(ok(opd_module_get_function(module, "in_parallel", 0, &function)));
  EXPECT(ok(opd_function_call(function, args, 1, &result)));
  EXPECT(data_of(many)[0] == 0 && data_of(many)[63] == 126);
  opd_function_release(function);
  opd_tensor_release(x);
  opd_tensor_release(y);
  opd_tensor_release(many);
  opd_module_release(module);
  opd_module_release(again);
}

/* How often a report has a row of that name. */
static int rows_of(const opd_report *report, const char *name) {
  int count = 0;
  for (int32_t i = 0; i < opd_report_call_count(report); ++i) {
    opd_value value = opd_none();
    const char *text = NULL;
    size_t size = 0;
    EXPECT(ok(opd_report_get(report, OPD_REPORT_CALLS, i, "Name", &value, NULL)));
    EXPECT(ok(opd_string_get(&value, &text, &size)));
    count += size == strlen(name) && memcmp(text, name, size) == 0;
    opd_value_release(&value);
  }
  return count;
}

/* A Relax program with its kernels; its bytes are in the program, too. In TVM's mode "compiled" its code calls the
 * kernels straight away, which nobody sees. */
static void test_program(const char *prefix, int is_compiled) {
  opd_module *module = NULL;
  opd_vm *vm = NULL;
  EXPECT(ok(opd_module_system_lib(prefix, &module)));
  EXPECT(strcmp(opd_module_kind(module), "relax.VMExecutable") == 0);
  EXPECT(ok(opd_vm_create(module, NULL, &vm)));
  opd_module_release(module);
  opd_tensor *x = tensor_of(2, 4, 0);
  opd_value arg = opd_value_of_object(x), result = opd_none(), note = opd_none();
  notes = 0;
  EXPECT(ok(opd_vm_call(vm, "main", &arg, 1, NULL, &result)));
  EXPECT(result.type == OPD_TENSOR);
  if (result.type == OPD_TENSOR) {
    const float *y = data_of((opd_tensor *)result.u.object);
    for (int i = 0; i < 8; ++i) EXPECT(y[i] == (float)(i * (i % 4 + 1))); /* x * [1, 2, 3, 4] */
  }
  EXPECT(notes == 1);

  opd_profile_options options;
  opd_report *report = NULL;
  opd_profile_options_init(&options);
  options.repeat = 1;
  EXPECT(ok(opd_vm_profile(vm, "main", &arg, 1, NULL, &options, &report, NULL)));
  char kernel[64];
  snprintf(kernel, sizeof kernel, "%smultiply", prefix); /* as the program calls it */
  EXPECT(rows_of(report, kernel) == !is_compiled);
  EXPECT(rows_of(report, "opdyno.test.note") == 1);
  EXPECT(rows_of(report, "vm.builtin.match_shape") == 1);
  EXPECT(rows_of(report, "packed function") == 0); /* a call that nobody can name */
  opd_error *error = opd_report_get(report, OPD_REPORT_CONFIGURATION, 0, "Note", &note, NULL);
  EXPECT(is_compiled ? !error : opd_error_code(error) == OPD_NOT_FOUND);
  opd_error_release(error);
  if (is_compiled) {
    const char *text = NULL;
    size_t size = 0;
    EXPECT(ok(opd_string_get(&note, &text, &size)));
    EXPECT(text && strstr(text, "kernels that are linked into the program are not shown"));
  }
  opd_value_release(&note);
  opd_report_release(report);
  opd_value_release(&result);
  opd_tensor_release(x);
  opd_vm_release(vm);
}

int main(void) {
  define("opdyno.test.add", add);
  define("opdyno.test.note", note);
  test_kernels();
  test_program("a_prefix_of_some_length_", 0);
  test_program("compiled_", 1);
  opd_module *module = NULL;
  opd_function *function = NULL;
  EXPECT(ok(opd_module_system_lib("nobody_has_this_prefix_", &module)));
  EXPECT(opd_module_has_function(module, "nothing", 1) == 0);
  opd_error *error = opd_module_get_function(module, "nothing", 1, &function);
  EXPECT(opd_error_code(error) == OPD_NOT_FOUND);
  opd_error_release(error);
  opd_module_release(module);
  if (!failures) printf("the system library works\n");
  return failures != 0;
}
