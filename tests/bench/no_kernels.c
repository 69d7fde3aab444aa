/* Kernels of a decoder (examples/tiny_llama) that compute nothing: what a decoding pass then takes is the host's. The
 * functions that compute sizes and scales are left as they are. */
#include <stdint.h>

#define NOTHING(name)                                                               \
  int __tvm_ffi_##name(void *self, const void *args, int32_t count, void *result) { \
    (void)self, (void)args, (void)count, (void)result;                              \
    return 0;                                                                       \
  }

NOTHING(take)
NOTHING(add)
NOTHING(add1)
NOTHING(silu)
NOTHING(silu1)
NOTHING(rms_norm)
NOTHING(rms_norm1)
NOTHING(transpose)
NOTHING(transpose1)
NOTHING(transpose2)
NOTHING(transpose3)
NOTHING(matmul)
NOTHING(matmul1)
NOTHING(matmul2)
NOTHING(matmul3)
NOTHING(matmul4)
NOTHING(matmul5)
NOTHING(matmul6)
NOTHING(matmul7)
NOTHING(fused_rope)
NOTHING(tir_kv_cache_transpose_append)
NOTHING(batch_decode_paged_kv_cpu)
NOTHING(batch_prefill_paged_kv_cpu)
NOTHING(batch_prefill_ragged_kv)
NOTHING(merge_state_inplace_cpu)
