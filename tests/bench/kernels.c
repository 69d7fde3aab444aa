/* What python_nop and python_echo_* call. Both sides load one library of this, so that they differ in the way there
 * only. */
#include <stdint.h>

typedef struct {
  int32_t type;
  uint32_t length;
  union {
    int64_t i;
    void *p;
  } u;
} Any;

extern int TVMFFIObjectIncRef(void *object);

int __tvm_ffi_nop(void *self, const Any *args, int32_t count, Any *result) {
  (void)self, (void)args, (void)count, (void)result;
  return 0;
}

int __tvm_ffi_echo(void *self, const Any *args, int32_t count, Any *result) {
  (void)self, (void)count;
  if (args->type >= 64) TVMFFIObjectIncRef(args->u.p); /* an object, not a plain value */
  *result = *args;
  return 0;
}
