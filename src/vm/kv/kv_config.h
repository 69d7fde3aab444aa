// The configuration of a cache: the checked arguments of vm.builtin.paged_attention_kv_cache_create.
#pragma once
#include <algorithm>
#include <vector>

#include "value/tensor.h"

namespace opd {

inline int64_t pages_for(int64_t rows, int64_t page_size) { return (rows + page_size - 1) / page_size; }

enum class KvLayerKind : uint8_t { kHeads, kLatent, kLinear, kWindow };  // TVM: MHA, MLA, linear, MHA with a window
enum class KvRope : uint8_t { kNone, kNormal, kInline };

struct KvConfig {
  int64_t max_batch;  // sequences per pass
  int64_t max_total;  // rows of all sequences together
  int64_t max_rows;   // new rows per pass
  int64_t page_size;  // rows
  bool has_windows;
  int64_t layer_window = 1024;  // rows that layers of kWindow see
  int64_t first_layer, num_layers;
  int64_t query_heads, kv_heads, key_dim, value_dim;
  std::vector<KvLayerKind> kinds;  // one per layer
  KvRope rope;
  double rope_scale, rope_theta;
  Ref<Tensor> rope_factors;  // or null
  DLDataType dtype;
  DLDevice device;

  // Reads `args` from the first one on. Throws if they do not describe a valid cache. Errors number the arguments from
  // 0.
  static KvConfig from(Args args);
  std::vector<Value> arguments() const;  // arguments for from() that give an equal configuration
  int64_t num_pages() const { return pages_for(max_total, page_size) + 1 + (has_windows ? 2 * max_batch : 0); }
  bool has_kind(KvLayerKind kind) const { return std::ranges::find(kinds, kind) != kinds.end(); }
  int64_t rows_at_once() const { return max_batch > max_rows ? max_batch : max_rows; }
};

}  // namespace opd
