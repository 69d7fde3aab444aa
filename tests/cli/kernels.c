/* Kernels for tests/cli, with TVM's packed calling convention. Tensors are float32 and compact. */
#include <stdint.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  int32_t type;
  uint32_t length;
  union {
    int64_t int64;
    double float64;
    void *pointer;
  } u;
} Any;
typedef struct {
  void *data;
  int32_t device[2];
  int32_t ndim;
  uint8_t dtype[4];
  int64_t *shape, *strides;
  uint64_t offset;
} Tensor;

extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);

#define KERNEL(name) int32_t __tvm_ffi_##name(void *self, const Any *args, int32_t count, Any *result)
#define UNUSED (void)self, (void)args, (void)count, (void)result

static Tensor *tensor(Any any) { return (Tensor *)((char *)any.u.pointer + (any.type == 7 ? 0 : 24)); }

static int64_t size(const Tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; ++i) n *= t->shape[i];
  return n;
}

KERNEL(add_one) {
  UNUSED;
  const Tensor *x = tensor(args[0]), *y = tensor(args[1]);
  for (int64_t i = 0; i < size(x); ++i) ((float *)y->data)[i] = ((const float *)x->data)[i] + 1;
  return 0;
}

KERNEL(add) {
  UNUSED;
  const Tensor *x = tensor(args[0]), *w = tensor(args[1]), *y = tensor(args[2]);
  for (int64_t i = 0; i < size(x); ++i)
    ((float *)y->data)[i] = ((const float *)x->data)[i] + ((const float *)w->data)[i];
  return 0;
}

/* Both outputs: doubled and negated. */
KERNEL(two) {
  UNUSED;
  const Tensor *x = tensor(args[0]);
  for (int64_t i = 0; i < size(x); ++i) {
    ((float *)tensor(args[1])->data)[i] = 2 * ((const float *)x->data)[i];
    ((float *)tensor(args[2])->data)[i] = -((const float *)x->data)[i];
  }
  return 0;
}

KERNEL(sum_of) { /* plain numbers in, a plain number out */
  UNUSED;
  result->type = 1;
  result->u.int64 = args[0].u.int64 + (int64_t)args[1].u.float64;
  return 0;
}

KERNEL(fails) {
  UNUSED;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "fails: it always does");
  return -1;
}

KERNEL(hangs) {
  UNUSED;
  for (volatile int go = 1; go;) {}
  return 0;
}

KERNEL(naps) {
  UNUSED;
  nanosleep(&(struct timespec){0, 2000000}, 0);
  return 0;
}

KERNEL(sleeps) {
  UNUSED;
  nanosleep(&(struct timespec){3, 0}, 0);
  return 0;
}

KERNEL(shouts) {
  UNUSED;
  return write(2, "ran\n", 4) == 4 ? 0 : -1;
}
