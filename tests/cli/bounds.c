/* Kernels for tests/cli that touch memory outside their tensors. Each has an input x and an output y of n float32. */
#include "kernels.c"

#define UNARY(name, ...)                                          \
  KERNEL(name) {                                                  \
    UNUSED;                                                       \
    float *x = tensor(args[0])->data, *y = tensor(args[1])->data; \
    const int64_t n = size(tensor(args[0]));                      \
    for (int64_t i = 0; i < n; ++i) y[i] = x[i];                  \
    __VA_ARGS__;                                                  \
    return 0;                                                     \
  }

UNARY(reads_behind, y[0] = x[n])
UNARY(reads_before, y[0] = x[-1])
UNARY(reads_a_row_behind, y[0] = x[n + 100000])
UNARY(writes_behind, y[n] = 1)
UNARY(writes_before, y[-1] = 1)
UNARY(writes_a_row_behind, y[n + 100000] = 1)
UNARY(writes_a_row_before, y[-1000] = 1)
UNARY(writes_far_away, *(volatile float *)16 = x[0])
UNARY(counts, static float calls; y[0] = ++calls)
UNARY(copies, (void)n)
UNARY(needs_its_output_as_input, if (x != y) y[n] = 1)
UNARY(fills_its_output, for (int64_t i = 0; i < size(tensor(args[1])); ++i) y[i] = 1)
UNARY(doubles_in_place, for (int64_t i = 0; i < n; ++i) x[i] *= 2)

/* Loops over tasks, on the threads of parallel kernels; the last task writes behind y. */
extern int TVMBackendParallelLaunch(int (*task)(int index, void *environment, void *data), void *data, int tasks);

static int write_behind(int index, void *environment, void *data) {
  (void)environment;
  if (index == 3) ((float *)((Tensor *)data)->data)[size(data) + 100000] = 1;
  return 0;
}

KERNEL(does_nothing) {
  UNUSED;
  return 0;
}
KERNEL(parallel_writes) {
  UNUSED;
  return TVMBackendParallelLaunch(write_behind, tensor(args[1]), 4);
}
