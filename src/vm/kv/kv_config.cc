#include "vm/kv/kv_config.h"

#include "device/device.h"
#include "vm/kv/kv_state.h"

namespace opd {
namespace {

int64_t size_of(int64_t value, const char *what, int64_t least = 1) {
  if (value < least || value >= kMostKvSize)
    fail(OPD_OUT_OF_RANGE, what, " of the cache must be from ", least, " to ", kMostKvSize - 1, ", but is ", value);
  return value;
}

void read_sizes(KvConfig &config, const View &v) {
  const Integers sizes(v, "argument 0, the sizes of the cache");
  require(sizes.size() == 5 || sizes.size() == 6,
          "argument 0 must hold 5 or 6 sizes (max_batch, max_total_seq_len, "
          "prefill_chunk_size, page_size, support_sliding_window [, layer_sliding_window_size]), but holds ",
          sizes.size());
  config.max_batch = size_of(sizes[0], "max_batch");
  config.max_total = size_of(sizes[1], "max_total_seq_len");
  config.max_rows = size_of(sizes[2], "prefill_chunk_size");
  config.page_size = size_of(sizes[3], "page_size");
  require(sizes[4] == 0 || sizes[4] == 1, "support_sliding_window must be 0 or 1, but is ", sizes[4]);
  config.has_windows = sizes[4] == 1;
  if (sizes.size() == 6) config.layer_window = size_of(sizes[5], "layer_sliding_window_size");
}

void read_layers(KvConfig &config, const View &partition, const View &kinds) {
  const Integers borders(partition, "argument 1, the layer partition,");
  require(borders.size() == 2,
          "argument 1, the layer partition, must hold the first layer and the end, since one process "
          "runs all layers, but holds ",
          borders.size(), " numbers");
  config.first_layer = size_of(borders[0], "the first layer", 0);
  config.num_layers = size_of(borders[1] - borders[0], "the number of layers");
  const Integers numbers(kinds, "argument 6, the kinds of attention,");
  require(numbers.size() >= static_cast<size_t>(config.num_layers),
          "argument 6 must hold a kind of attention for each of the ", config.num_layers, " layers, but holds ",
          numbers.size());
  // Kinds are given either for all layers of the model or only for the layers of the partition.
  const size_t first = numbers.size() >= static_cast<size_t>(borders[1]) ? static_cast<size_t>(borders[0]) : 0;
  for (size_t i = 0; i < static_cast<size_t>(config.num_layers); ++i) {
    const int64_t kind = numbers[first + i];
    require(kind == 0 || kind == 1 || kind == 3, "the kind of attention of layer ",
            borders[0] + static_cast<int64_t>(i), " must be 0 (MHA), 1 (MLA) or 3 (MHA with a window), but is ", kind);
    config.kinds.push_back(static_cast<KvLayerKind>(kind));
  }
}

void read_rope(KvConfig &config, Args args) {
  const int64_t mode = as_int(args[8], "argument 8, rope_mode,");
  require(mode >= 0 && mode <= 2, "rope_mode must be 0 (none), 1 (normal) or 2 (inline), but is ", mode);
  config.rope = static_cast<KvRope>(mode);
  config.rope_scale = as_finite(args[9], "rope_scale");
  config.rope_theta = as_finite(args[10], "rope_theta");
  const auto *factors = try_as<Tensor>(args[11]);
  if (!factors) return;
  require(config.rope == KvRope::kNormal, "rope_ext_factors are given, which need rope_mode 1 (normal), but it is ",
          mode);
  config.rope_factors = Ref<Tensor>::share(const_cast<Tensor *>(factors));
}

}  // namespace

KvConfig KvConfig::from(Args args) {
  KvConfig config{};
  read_sizes(config, args[0]);
  read_layers(config, args[1], args[6]);
  config.query_heads = size_of(as_int(args[2], "num_qo_heads"), "num_qo_heads");
  config.kv_heads = size_of(as_int(args[3], "num_kv_heads"), "num_kv_heads");
  require(config.query_heads % config.kv_heads == 0, "num_qo_heads must be a multiple of num_kv_heads, ",
          config.kv_heads, ", but is ", config.query_heads);
  config.key_dim = size_of(as_int(args[4], "qk_head_dim"), "qk_head_dim");
  config.value_dim = size_of(as_int(args[5], "v_head_dim"), "v_head_dim");
  if (as_int(args[7], "argument 7, enable_kv_transfer,") != 0)
    fail(OPD_UNSUPPORTED, "the transfer of caches between machines, which argument 7 enables, is not offered");
  read_rope(config, args);
  const DLTensor &model = as_dltensor(args[12], "argument 12, whose dtype and device the cache takes,");
  config.dtype = model.dtype;
  config.device = model.device;
  // If layers have windows, these replace the windows of sequences. Windows move rows, so a row's position is unknown
  // when it is stored.
  if (config.has_kind(KvLayerKind::kWindow)) config.has_windows = false;
  if (config.has_windows && config.rope != KvRope::kNone) config.rope = KvRope::kInline;
  size_of(config.num_pages() * config.page_size, "the number of rows");
  return config;
}

std::vector<Value> KvConfig::arguments() const {
  std::vector<int64_t> numbers;
  for (const KvLayerKind kind : kinds) numbers.push_back(static_cast<int64_t>(kind));
  const int64_t sizes[] = {max_batch, max_total, max_rows, page_size, has_windows, layer_window};
  const int64_t layers[] = {first_layer, first_layer + num_layers}, one[] = {1};
  // Factors require the normal mode. Windows change it afterwards.
  const KvRope mode = rope_factors ? KvRope::kNormal : rope;
  Ref<Tensor> model = make_tensor(one, dtype, device);  // only its dtype and device matter
  const std::string zeros(bytes_of(model->dl), '\0');
  copy_from_bytes(model->dl, zeros.data(), zeros.size());
  return {Shape::make(sizes),
          Shape::make(layers),
          query_heads,
          kv_heads,
          key_dim,
          value_dim,
          Shape::make(numbers),
          int64_t{0},
          static_cast<int64_t>(mode),
          rope_scale,
          rope_theta,
          rope_factors ? Value(rope_factors) : Value(),
          std::move(model)};
}

}  // namespace opd
