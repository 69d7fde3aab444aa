/* Code that registers itself as TVM's objects do, linked with the second library. */
#include <opdyno/opdyno.h>
#include <stdio.h>

extern int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *address);

static int seven(void *self, const opd_value *args, int32_t num_args, opd_value *result) {
  (void)self, (void)args, (void)num_args;
  *result = opd_int(7);
  return 0;
}

int main(void) {
  union {
    int (*function)(void *, const opd_value *, int32_t, opd_value *);
    void *address;
  } code;
  opd_module *module = NULL;
  opd_function *function = NULL;
  opd_value result = opd_none();
  code.function = seven;
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_mine_seven", code.address);
  opd_error *error = opd_module_system_lib("mine_", &module);
  if (!error) error = opd_module_get_function(module, "seven", 0, &function);
  if (!error) error = opd_function_call(function, NULL, 0, &result);
  printf("%s %d\n", error ? opd_error_message(error) : "seven is", (int)result.u.int64);
  opd_error_release(error);
  opd_function_release(function);
  opd_module_release(module);
  return error != NULL;
}
