/* The operators of the digit reader in plain C99, exported with TVM's packed calling convention.
 *
 *     cc -std=c99 -O2 -fPIC -shared -o digits_kernels.so kernels.c -lm
 *
 * A kernel takes its input tensors first and last the tensor that it fills, which must not overlap an input. It returns
 * 0, or -1 after it has described an error. Activations are [n, height, width, channel], convolution weights
 * [3, 3, in, out] and dense weights [in, out]: the channel is innermost everywhere, so that the inner loops run over
 * neighbouring floats.
 *
 * Neither TVM's nor opdyno's headers are included: the few structures below are all that a kernel has to know.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what tvm-ffi and DLPack define ---- */

typedef struct {
  int32_t type_index;
  uint32_t small_length;
  union {
    int64_t i64;
    double f64;
    void *ptr;
  } value;
} Any;

typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} DType;

typedef struct { /* DLTensor */
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  DType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL means compact */
  uint64_t byte_offset;
} Tensor;

enum { TYPE_DLTENSOR = 7, TYPE_TENSOR = 70, OBJECT_HEADER_BYTES = 24, DEVICE_CPU = 1 };

static const DType FLOAT32 = {2, 32, 1}, INT64 = {0, 64, 1};

/* Both stay undefined in this library: whoever loads it provides the functions. */
extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
/* Calls task(0, …) to task(count - 1, …), also at the same time on several threads, and returns when all have ended.
 * With 0 tasks wanted, there are as many as threads. */
typedef struct {
  void *sync;
  int32_t count;
} TaskGroup;
extern int TVMBackendParallelLaunch(int (*task)(int number, TaskGroup *group, void *data), void *data, int wanted);

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* ---- checking arguments ---- */

enum { MAX_PARAMS = 4, MAX_NDIM = 4 };

/* A tensor that a kernel expects. In `shape` each character is one dimension: a digit is a size, a capital letter is
 * any size, but the same one wherever the letter occurs among the kernel's arguments. */
typedef struct {
  const char *name, *shape;
} Param;

/* Arguments that passed the checks. */
typedef struct {
  void *data[MAX_PARAMS];
  int64_t size['Z' + 1]; /* by letter; -1 while unknown */
} Call;

static int32_t fail(const char *kind, const char *kernel, const char *param, const char *problem) {
  char message[256];
  snprintf(message, sizeof message, "%s: %s %s", kernel, param, problem);
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

/* Appends "[2, 8, C]" to `text`: the sizes, with `letters` a letter for each unknown (negative) one. */
static void append_shape(char *text, size_t room, const int64_t *shape, const char *letters, int32_t ndim) {
  for (int32_t i = 0; i < ndim; ++i) {
    const size_t used = strlen(text);
    if (letters && shape[i] < 0) snprintf(text + used, room - used, "%s%c", i ? ", " : "[", letters[i]);
    else snprintf(text + used, room - used, "%s%" PRId64, i ? ", " : "[", shape[i]);
  }
  strncat(text, ndim ? "]" : "[]", room - strlen(text) - 1);
}

static int32_t check_shape(const char *kernel, const Param *param, const Tensor *t, int64_t *size) {
  const int32_t ndim = (int32_t)strlen(param->shape);
  int64_t expected[MAX_NDIM];
  int fits = t->ndim == ndim;
  for (int32_t i = 0; i < ndim; ++i) {
    const int c = param->shape[i];
    expected[i] = c <= '9' ? c - '0' : size[c];
    if (fits && expected[i] < 0) expected[i] = size[c] = t->shape[i];
    fits = fits && t->shape[i] == expected[i];
  }
  if (fits) return 0;
  char problem[192] = "must have shape ";
  append_shape(problem, sizeof problem, expected, param->shape, ndim);
  strncat(problem, ", got ", sizeof problem - strlen(problem) - 1);
  append_shape(problem, sizeof problem, t->shape, NULL, t->ndim);
  return fail("ValueError", kernel, param->name, problem);
}

static int is_empty(const Tensor *t) {
  for (int32_t i = 0; i < t->ndim; ++i)
    if (t->shape[i] == 0) return 1;
  return 0;
}

static int is_compact(const Tensor *t) {
  int64_t stride = 1;
  if (is_empty(t)) return 1; /* any strides will do */
  for (int32_t i = t->ndim - 1; i >= 0 && t->strides; --i) {
    if (t->shape[i] != 1 && t->strides[i] != stride) return 0;
    stride *= t->shape[i];
  }
  return 1;
}

static int32_t read_args(const char *kernel, DType dtype, const Param *params, int32_t num_params, const Any *args,
                         int32_t num_args, Call *call) {
  if (num_args != num_params) {
    char problem[64];
    snprintf(problem, sizeof problem, "%" PRId32 " arguments, got %" PRId32, num_params, num_args);
    return fail("TypeError", kernel, "expected", problem);
  }
  for (int letter = 'A'; letter <= 'Z'; ++letter) call->size[letter] = -1;
  for (int32_t i = 0; i < num_params; ++i) {
    const char *name = params[i].name;
    const int is_object = args[i].type_index == TYPE_TENSOR;
    if (!args[i].value.ptr || (!is_object && args[i].type_index != TYPE_DLTENSOR))
      return fail("TypeError", kernel, name, "must be a tensor");
    const Tensor *t = (const Tensor *)((const char *)args[i].value.ptr + (is_object ? OBJECT_HEADER_BYTES : 0));
    if (t->dtype.code != dtype.code || t->dtype.bits != dtype.bits || t->dtype.lanes != dtype.lanes)
      return fail("TypeError", kernel, name, dtype.code == FLOAT32.code ? "must be float32" : "must be int64");
    if (t->device_type != DEVICE_CPU) return fail("ValueError", kernel, name, "must lie on the CPU");
    if (check_shape(kernel, &params[i], t, call->size) != 0) return -1;
    if (t->byte_offset != 0 || !is_compact(t))
      return fail("ValueError", kernel, name, "must be compact, with byte offset 0");
    if (!t->data && !is_empty(t)) return fail("ValueError", kernel, name, "has no data");
    call->data[i] = t->data;
  }
  return 0;
}

/* KERNEL(name, dtype, {parameter, shape}...) { body } exports a function that checks its arguments and then runs the
 * body, which finds them in `call`. */
#define KERNEL(name, dtype, ...)                                                                  \
  static int32_t name(const Call *call);                                                          \
  EXPORT int32_t __tvm_ffi_##name(void *self, const Any *args, int32_t num_args, Any *result);    \
  int32_t __tvm_ffi_##name(void *self, const Any *args, int32_t num_args, Any *result) {          \
    static const Param params[] = {__VA_ARGS__};                                                  \
    const int32_t num_params = (int32_t)(sizeof params / sizeof *params);                         \
    Call call;                                                                                    \
    (void)self, (void)result;                                                                     \
    return read_args(#name, dtype, params, num_params, args, num_args, &call) ? -1 : name(&call); \
  }                                                                                               \
  static int32_t name(const Call *call)

/* ---- inner loops ----
 *
 * Blocks of eight, then the rest: gcc -O2 makes vector instructions only of loops whose length it knows. */

enum { BLOCK = 8 };

/* y += a * x */
static void add_scaled(float *restrict y, const float *restrict x, float a, int64_t n) {
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK)
    for (int k = 0; k < BLOCK; ++k) y[i + k] += a * x[i + k];
  for (; i < n; ++i) y[i] += a * x[i];
}

/* y = max(x, 0) */
static void clamp_at_zero(float *restrict y, const float *restrict x, int64_t n) {
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK)
    for (int k = 0; k < BLOCK; ++k) y[i + k] = x[i + k] < 0 ? 0 : x[i + k];
  for (; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];
}

/* y = max(y, x) */
static void keep_larger(float *restrict y, const float *restrict x, int64_t n) {
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK)
    for (int k = 0; k < BLOCK; ++k) y[i + k] = y[i + k] < x[i + k] ? x[i + k] : y[i + k];
  for (; i < n; ++i) y[i] = y[i] < x[i] ? x[i] : y[i];
}

/* ---- operators ---- */

/* Each task of a convolution has an equal part of the images. */
static int convolve_part(int task, TaskGroup *group, void *data) {
  const Call *call = data;
  const int64_t h = call->size['H'], w = call->size['W'], c = call->size['C'], k = call->size['K'];
  const int64_t first = call->size['N'] * task / group->count, behind = call->size['N'] * (task + 1) / group->count;
  const float *input = (const float *)call->data[0] + first * h * w * c, *weight = call->data[1], *bias = call->data[2];
  float *out = (float *)call->data[3] + first * h * w * k;
  for (int64_t image = first; image < behind; ++image, input += h * w * c)
    for (int64_t row = 0; row < h; ++row)
      for (int64_t col = 0; col < w; ++col, out += k) {
        memcpy(out, bias, (size_t)k * sizeof *out);
        for (int64_t tap = 0; tap < 9; ++tap) {
          const int64_t y = row + tap / 3 - 1, x = col + tap % 3 - 1;
          if (y < 0 || y >= h || x < 0 || x >= w) continue;
          for (int64_t i = 0; i < c; ++i) add_scaled(out, weight + (tap * c + i) * k, input[(y * w + x) * c + i], k);
        }
      }
  return 0;
}

/* 3x3 convolution, stride 1, padding 1. Taps outside the image are skipped, which equals reading zeros there. It takes
 * most of the network's time, so it runs on all threads. */
KERNEL(conv2d, FLOAT32, {"input", "NHWC"}, {"weight", "33CK"}, {"bias", "K"}, {"output", "NHWK"}) {
  return TVMBackendParallelLaunch(convolve_part, (void *)call, 0);
}

KERNEL(relu, FLOAT32, {"input", "NHWC"}, {"output", "NHWC"}) {
  clamp_at_zero(call->data[1], call->data[0], call->size['N'] * call->size['H'] * call->size['W'] * call->size['C']);
  return 0;
}

/* Largest value of each 2x2 window; an odd last row or column is dropped. */
KERNEL(max_pool2d, FLOAT32, {"input", "NHWC"}, {"output", "NPQC"}) {
  const int64_t h = call->size['H'], w = call->size['W'], c = call->size['C'], p = call->size['P'], q = call->size['Q'];
  const float *input = call->data[0];
  float *out = call->data[1];
  if (p != h / 2 || q != w / 2)
    return fail("ValueError", "max_pool2d", "output", "must have half the height and width of input");
  for (int64_t image = 0; image < call->size['N']; ++image, input += h * w * c)
    for (int64_t row = 0; row < p; ++row)
      for (int64_t col = 0; col < q; ++col, out += c) {
        const float *window = input + (2 * row * w + 2 * col) * c;
        memcpy(out, window, (size_t)c * sizeof *out);
        keep_larger(out, window + c, c);
        keep_larger(out, window + w * c, c);
        keep_larger(out, window + (w + 1) * c, c);
      }
  return 0;
}

/* output = input x weight + bias */
KERNEL(dense, FLOAT32, {"input", "NC"}, {"weight", "CK"}, {"bias", "K"}, {"output", "NK"}) {
  const int64_t c = call->size['C'], k = call->size['K'];
  const float *input = call->data[0], *weight = call->data[1], *bias = call->data[2];
  float *out = call->data[3];
  for (int64_t row = 0; row < call->size['N']; ++row, input += c, out += k) {
    memcpy(out, bias, (size_t)k * sizeof *out);
    for (int64_t i = 0; i < c; ++i) add_scaled(out, weight + i * k, input[i], k);
  }
  return 0;
}

/* Probabilities of each row. Subtracting the row's largest value changes nothing but keeps expf from overflowing. */
KERNEL(softmax, FLOAT32, {"input", "NK"}, {"output", "NK"}) {
  const int64_t k = call->size['K'];
  const float *input = call->data[0];
  float *out = call->data[1];
  for (int64_t row = 0; row < call->size['N']; ++row, input += k, out += k) {
    float largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < k; ++i) largest = input[i] > largest ? input[i] : largest;
    for (int64_t i = 0; i < k; ++i) sum += out[i] = expf(input[i] - largest);
    for (int64_t i = 0; i < k; ++i) out[i] /= sum;
  }
  return 0;
}

/* Computes the storage sizes that main() of digits.opdasm needs. The VM itself cannot multiply; TVM's compiler emits
 * such a function too.
 *
 *     heap[0]  in: the batch size n
 *     heap[1]  out: bytes of a working storage; the largest activation is [n, 8, 8, 8]
 *     heap[2]  out: bytes of the result [n, 10]
 */
KERNEL(shape_func, INT64, {"heap", "3"}) {
  int64_t *heap = call->data[0];
  const int64_t image_bytes = 8 * 8 * 8 * sizeof(float);
  if (heap[0] < 0 || heap[0] > INT64_MAX / image_bytes)
    return fail("ValueError", "shape_func", "heap[0]", "is no batch size");
  heap[1] = heap[0] * image_bytes;
  heap[2] = heap[0] * 10 * (int64_t)sizeof(float);
  return 0;
}
