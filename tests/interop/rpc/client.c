/* A session of the C API with a server of TVM's, which knows nothing of opdyno: client DIRECTORY ADDRESS, with the key
 * "board". */
#include <opdyno/opdyno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int is_so, const char *what, const char *found) {
  if (is_so) return;
  fprintf(stderr, "%s, but there is: %s\n", what, found);
  exit(1);
}

static void check(opd_error *error) {
  if (error) expect(0, "no error is expected", opd_error_message(error));
}

static void fails(opd_error *error, opd_code code, const char *part) {
  expect(error && opd_error_code(error) == code && strstr(opd_error_message(error), part), part,
         error ? opd_error_message(error) : "no error");
  opd_error_release(error);
}

static const char *directory;
static opd_rpc_session *session;
static DLDevice there;

static void upload(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *const file = fopen(path, "rb");
  expect(file != NULL, "the artefact can be read", path);
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  char *const bytes = malloc(size);
  rewind(file);
  expect(fread(bytes, 1, size, file) == size, "all of the artefact can be read", path);
  fclose(file);
  check(opd_rpc_session_upload(session, name, bytes, size));
  free(bytes);
}

static const DLDataType float32 = {kDLFloat, 32, 1};
static const DLDevice cpu = {kDLCPU, 0};

static opd_tensor *sent(const float *numbers, int64_t count) {
  opd_tensor *made = NULL;
  check(opd_tensor_create(&count, 1, float32, there, &made));
  check(opd_tensor_copy_from_bytes(made, numbers, (size_t)count * sizeof *numbers));
  return made;
}

/* Each element is `first` and its place times `step`. */
static void expect_numbers(const opd_tensor *tensor, float first, float step) {
  float numbers[16];
  const int64_t count = opd_tensor_view(tensor)->shape[0];
  expect(count <= 16, "there are at most 16 numbers", "more");
  check(opd_tensor_copy_to_bytes(tensor, numbers, (size_t)count * sizeof *numbers));
  for (int64_t i = 0; i < count; ++i)
    expect(numbers[i] == first + (float)i * step, "the numbers are those of arithmetic", "another one");
}

static void use_kernels(void) {
  float numbers[16], nothing[16] = {0};
  for (int i = 0; i < 16; ++i) numbers[i] = (float)i;
  upload("kernels.so");
  opd_module *module = NULL;
  check(opd_rpc_session_load_module(session, "kernels.so", &module));
  expect(!strcmp(opd_module_kind(module), "rpc"), "a module of a session has the kind rpc", opd_module_kind(module));
  opd_function *add = NULL, *none = NULL;
  check(opd_module_get_function(module, "vector_add", 1, &add));
  opd_tensor *const x = sent(numbers, 16), *const z = sent(nothing, 16);
  const opd_value args[] = {opd_value_of_object(x), opd_value_of_object(x), opd_value_of_object(z)};
  opd_value result;
  check(opd_function_call(add, args, 3, &result));
  opd_value_release(&result);
  expect_numbers(z, 0, 2);
  fails(opd_function_call(add, args, 2, &result), OPD_CALL_FAILED, "Expected 3 arguments");
  fails(opd_module_get_function(module, "nobody", 1, &none), OPD_NOT_FOUND, "nobody");
  opd_function_release(add);
  opd_tensor_release(x), opd_tensor_release(z);
  opd_module_release(module);
}

static void use_program(void) {
  const float numbers[] = {1, 2, 3, 4};
  upload("chain_100.so");
  opd_module *module = NULL;
  opd_vm *vm = NULL;
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.devices = &there, options.num_devices = 1;
  check(opd_rpc_session_load_module(session, "chain_100.so", &module));
  check(opd_vm_create(module, &options, &vm));
  opd_tensor *const x = sent(numbers, 4);
  const opd_value arg = opd_value_of_object(x);
  opd_value result;
  check(opd_vm_call(vm, "main", &arg, 1, NULL, &result));
  expect(result.type == OPD_TENSOR, "the program returns a tensor", "a value of another type");
  expect_numbers((opd_tensor *)result.u.object, 101, 1);
  opd_value_release(&result);
  check(opd_vm_set_input(vm, "main", &arg, 1, NULL));
  check(opd_vm_invoke_stateful(vm, "main", NULL));
  check(opd_vm_get_outputs(vm, "main", NULL, 0, &result));
  expect_numbers((opd_tensor *)result.u.object, 101, 1);
  opd_value_release(&result);
  check(opd_vm_save_function(vm, "main", "timed", &arg, 1, NULL, 0));
  opd_function *timed = NULL;
  check(opd_vm_get_function(vm, "timed", &timed));
  opd_evaluator_options how;
  opd_evaluator_options_init(&how);
  how.device = there, how.number = 5, how.repeat = 3;
  opd_evaluator *evaluator = NULL;
  check(opd_evaluator_create(timed, &how, &evaluator));
  opd_benchmark *times = NULL;
  check(opd_evaluator_call(evaluator, NULL, 0, &times));
  opd_benchmark_release(times);
  opd_evaluator_release(evaluator);
  opd_function_release(timed);
  fails(opd_vm_call(vm, "nobody", NULL, 0, NULL, &result), OPD_NOT_FOUND, "has no function nobody");
  opd_tensor_release(x);
  opd_vm_release(vm);
  opd_module_release(module);
}

int main(int argc, char **argv) {
  expect(argc == 3, "there are two arguments", "another number");
  directory = argv[1];
  opd_rpc_connect_options options;
  opd_rpc_connect_options_init(&options);
  fails(opd_rpc_connect(argv[2], &options, &session), OPD_FAILED_PRECONDITION, "has another key");
  options.key = "board";
  check(opd_rpc_connect(argv[2], &options, &session));
  opd_buffer *text = NULL;
  check(opd_rpc_session_describe(session, &text));
  expect(strstr(opd_buffer_data(text), "\"server\":\"tvm\"") != NULL, "the server is TVM's", opd_buffer_data(text));
  opd_buffer_release(text);
  check(opd_rpc_session_device(session, cpu, &there));
  check(opd_rpc_session_upload(session, "file", "content", 7));
  check(opd_rpc_session_download(session, "file", &text));
  expect(opd_buffer_size(text) == 7 && !memcmp(opd_buffer_data(text), "content", 7), "what was sent comes back",
         "other bytes");
  opd_buffer_release(text);
  use_kernels();
  use_program();
  opd_function *none = NULL;
  fails(opd_rpc_session_get_function(session, "nobody", &none), OPD_NOT_FOUND, "no global function");
  opd_rpc_session_close(session);
  fails(opd_rpc_session_upload(session, "file", "content", 7), OPD_IO, "it was closed");
  opd_rpc_session_release(session);
  puts("C: ok");
  return 0;
}
