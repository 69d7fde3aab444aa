/* A program of ABI 0: compiled with the headers of a release of it, and run with today's library. It uses only
 * functions that ABI 1 still has, and sets struct_size itself. Its structs are smaller than today's; the bytes behind
 * each must stay as they were. Prints "ok". */
#include <opdyno/opdyno.h>
#include <stdio.h>
#include <string.h>

enum { kGuard = 256 };

/* A struct of the old header with bytes behind it. */
#define GUARDED(TYPE)            \
  struct {                       \
    TYPE is;                     \
    unsigned char guard[kGuard]; \
  }
#define PREPARE(STRUCT)                    \
  memset(&(STRUCT), 0, sizeof(STRUCT).is); \
  memset((STRUCT).guard, 0xA5, kGuard);    \
  (STRUCT).is.struct_size = (uint32_t)sizeof(STRUCT).is
#define EXPECT(CONDITION) \
  if (!(CONDITION)) return fail(__LINE__, #CONDITION)
#define EXPECT_OK(CALL) \
  if ((error = (CALL))) return fail(__LINE__, opd_error_message(error))
#define EXPECT_GUARD(STRUCT) \
  for (i = 0; i < kGuard; ++i) EXPECT((STRUCT).guard[i] == 0xA5)

static int fail(int line, const char *text) {
  fprintf(stderr, "line %d: %s\n", line, text);
  return 1;
}

static int calls;
static opd_error *count(void *user_data, const opd_value *args, int32_t num_args, opd_value *out_result) {
  (void)user_data, (void)args, (void)num_args;
  ++calls;
  *out_result = opd_int(calls);
  return NULL;
}

static int measure(void) {
  GUARDED(opd_evaluator_options) options;
  GUARDED(opd_benchmark_stats) stats;
  opd_function *function = NULL;
  opd_evaluator *evaluator = NULL;
  opd_benchmark *benchmark = NULL;
  opd_error *error;
  int i;
  PREPARE(options);
  PREPARE(stats);
  options.is.device.device_type = kDLCPU;
  options.is.number = 3, options.is.repeat = 2, options.is.repeats_to_cooldown = 1;
  options.is.limit_zero_time_iterations = 100;
#ifdef HAS_CONCURRENCY /* of a06b38c */
  options.is.warmup = options.is.concurrency = 1;
#endif
  EXPECT_OK(opd_function_create(count, NULL, NULL, &function));
  EXPECT_OK(opd_evaluator_create(function, &options.is, &evaluator));
  calls = 0;
  EXPECT_OK(opd_evaluator_call(evaluator, NULL, 0, &benchmark));
  EXPECT(calls >= 3 * 2);
  EXPECT_OK(opd_benchmark_get_stats(benchmark, &stats.is));
  EXPECT(stats.is.struct_size == sizeof stats.is);
  EXPECT(stats.is.outlier_count >= 0 && stats.is.autocorrelation >= 0);
  EXPECT_GUARD(options);
  EXPECT_GUARD(stats);
  opd_object_release(benchmark);
  opd_object_release(evaluator);
  opd_object_release(function);
  return 0;
}

static int run(void) {
  static const char text[] = ".func main(x) {\n  ret %x\n}\n";
  GUARDED(opd_vm_options) how;
  GUARDED(opd_call_options) options;
  GUARDED(opd_profile_options) profile;
  GUARDED(opd_memory_stats) memory;
  opd_executable *executable = NULL;
  opd_module *module = NULL;
  opd_vm *vm = NULL;
  opd_report *report = NULL;
  opd_error *error;
  opd_value arg = opd_int(7), result = opd_none();
  const DLDevice cpu = {kDLCPU, 0};
  const char *const names[] = {"x"};
  int i;
  PREPARE(how);
  PREPARE(options);
  PREPARE(profile);
  PREPARE(memory);
  how.is.max_depth = 10;
  options.is.names = names;
  profile.is.repeat = 1, profile.is.max_records = 100, profile.is.sample_interval = 1;
  EXPECT_OK(opd_executable_assemble(text, sizeof text - 1, &executable));
  EXPECT_OK(opd_executable_to_module(executable, &module));
  EXPECT_OK(opd_vm_create(module, &how.is, &vm));
  EXPECT_OK(opd_vm_call(vm, "main", &arg, 1, &options.is, &result));
  EXPECT(result.type == OPD_INT && result.u.int64 == 7);
  EXPECT_OK(opd_vm_profile(vm, "main", &arg, 1, &options.is, &profile.is, &report, NULL));
  EXPECT_OK(opd_memory_get_stats(cpu, &memory.is));
  EXPECT(memory.is.struct_size == sizeof memory.is);
  EXPECT_GUARD(how);
  EXPECT_GUARD(options);
  EXPECT_GUARD(profile);
  EXPECT_GUARD(memory);
  opd_value_release(&result);
  opd_object_release(report);
  opd_object_release(vm);
  opd_object_release(module);
  opd_object_release(executable);
  return 0;
}

static int keep(void) {
  GUARDED(opd_params_options) options;
  GUARDED(opd_params_stats) stats;
  opd_params *params = NULL, *read = NULL;
  opd_tensor *tensor = NULL;
  opd_buffer *bytes = NULL;
  opd_error *error;
  const int64_t dims[] = {2, 3};
  const DLDataType float32 = {kDLFloat, 32, 1};
  const DLDevice cpu = {kDLCPU, 0};
  int i;
  PREPARE(options);
  PREPARE(stats);
  options.is.copy = 1;
  EXPECT_OK(opd_tensor_create(dims, 2, float32, cpu, &tensor));
  memset(opd_tensor_view(tensor)->data, 0, opd_tensor_bytes(tensor));
  EXPECT_OK(opd_params_create(&params));
  EXPECT_OK(opd_params_set(params, "weights", tensor));
  EXPECT_OK(opd_params_save_bytes(params, &bytes));
  EXPECT_OK(
      opd_params_open_bytes((void *)opd_buffer_data(bytes), opd_buffer_size(bytes), &options.is, NULL, NULL, &read));
  EXPECT_OK(opd_params_get_stats(read, &stats.is));
  EXPECT(stats.is.struct_size == sizeof stats.is && stats.is.total_bytes == 24);
  EXPECT_GUARD(options);
  EXPECT_GUARD(stats);
  opd_object_release(read);
  opd_object_release(params);
  opd_object_release(bytes);
  opd_object_release(tensor);
  return 0;
}

int main(void) {
  if (measure() || run() || keep()) return 1;
  puts("ok");
  return 0;
}
