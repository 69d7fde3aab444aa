// The attention cache of one sequence, which TVM's compiler used before its paged one. The cache is a tensor of rows
// (time steps). New rows are appended, and the tensor grows by doubling; or they overwrite old rows in a window.
#include <cstring>
#include <mutex>

#include "base/fork_mutex.h"
#include "device/device.h"
#include "vm/builtins/builtins.h"
#include "vm/pool.h"

namespace opd {
namespace {

int64_t row_bytes(const DLTensor &t) {
  uint64_t bytes = 0;
  compact_bytes(dims_of(t).subspan(1), t.dtype, bytes);
  return static_cast<int64_t>(bytes);
}

// Returns a view of some rows of a tensor. The view does not keep the tensor alive.
Ref<Tensor> rows_of(const DLTensor &t, int64_t first, int64_t count) {
  std::vector<int64_t> dims(t.shape, t.shape + t.ndim);
  dims[0] = count;
  auto rows = Tensor::make(dims, t.dtype, t.device, t.data, nullptr);
  rows->dl.byte_offset = t.byte_offset;
  if (t.strides) std::copy_n(t.strides, t.ndim, rows->dl.strides);
  rows->dl.byte_offset +=
      static_cast<uint64_t>(first * rows->dl.strides[0] * static_cast<int64_t>(element_bits(t.dtype) / 8));
  return rows;
}

void check_rows(const DLTensor &value, const DLTensor &data) {
  const bool fits = value.ndim == data.ndim && same(value.dtype, data.dtype) &&
                    std::equal(value.shape + 1, value.shape + value.ndim, data.shape + 1);
  require(fits, "value must be of the cache's dtype and shape apart from the first size, ", describe(data), ", but is ",
          describe(value));
}

struct KvCache final : Object {
  static int32_t type() { return registered_type<"opdyno.vm.AttentionKVCache">(); }

  ForkMutex guard{LockRank::kKvCache};
  Ref<Tensor> data;             // [reserved rows, …]
  int64_t fill_count = 0;       // rows in use
  int64_t window_position = 0;  // the next row to write in the window

  int64_t reserved() const { return data->dl.shape[0]; }
  void reserve(int64_t rows) {
    if (rows <= reserved()) return;
    int64_t more = std::max<int64_t>(reserved(), 1);
    while (more < rows)
      if (__builtin_mul_overflow(more, 2, &more))
        fail(OPD_OUT_OF_MEMORY, "a cache of ", rows, " rows cannot be reserved");
    std::vector<int64_t> dims(data->dl.shape, data->dl.shape + data->dl.ndim);
    dims[0] = more;
    auto grown = make_lasting_tensor(dims, data->dl.dtype, data->dl.device, MemoryUse::kCache);
    const auto kept = static_cast<size_t>(reserved() * row_bytes(data->dl)),
               all = static_cast<size_t>(more * row_bytes(data->dl));
    if (kept) std::memcpy(grown->dl.data, data->dl.data, kept);
    // The fill count may include rows that were never written, so they are zeroed.
    if (all > kept) std::memset(static_cast<char *>(grown->dl.data) + kept, 0, all - kept);
    data = std::move(grown);
  }

  // Copies rows [first, first + count) of `value` to row `to`.
  void put(const DLTensor &value, int64_t first, int64_t to, int64_t count) {
    if (count == 0) return;
    copy_tensor(rows_of(value, first, count)->dl, rows_of(data->dl, to, count)->dl);
  }

  void append(const DLTensor &value) {
    check_rows(value, data->dl);
    int64_t filled;
    if (__builtin_add_overflow(fill_count, value.shape[0], &filled))
      fail(OPD_OUT_OF_MEMORY, "a cache cannot hold that many rows");
    reserve(filled);
    put(value, 0, fill_count, value.shape[0]);
    fill_count = filled;
  }

  void update(const DLTensor &value) {
    check_rows(value, data->dl);
    require(value.shape[0] == fill_count, "value must have ", fill_count, " rows, as many as are in use, but is ",
            describe(value));
    put(value, 0, 0, fill_count);
  }

  // Writes after the last written row. After `most` rows, writing starts again after the first `sinks` rows, which are
  // kept.
  void override_window(const DLTensor &value, int64_t most, int64_t sinks) {
    check_rows(value, data->dl);
    const int64_t rows = value.shape[0];
    require(most >= 0 && sinks >= 0 && sinks <= most, "sinks must be from 0 to max_cache_size, ", most, ", but are ",
            sinks);
    require(rows <= most - sinks, "value must have at most max_cache_size - sinks = ", most - sinks, " rows, but is ",
            describe(value));
    require(window_position <= most, "max_cache_size is ", most, ", but the window stands at row ", window_position,
            " already");
    const int64_t fitting = std::min(rows, most - window_position);
    const int64_t filled = fill_count > most - rows ? most : fill_count + rows;
    require(fitting == rows || filled == most, "the window is to be written over, but holds ", fill_count, " of ", most,
            " rows");
    reserve(std::max(filled, window_position + fitting));
    put(value, 0, window_position, fitting);
    put(value, fitting, sinks, rows - fitting);
    fill_count = filled;
    window_position = fitting == rows ? window_position + rows : sinks + rows - fitting;
  }

  Ref<Tensor> view(std::span<const int64_t> dims) const {
    const DLTensor &t = data->dl;
    const bool fits = dims.size() == static_cast<size_t>(t.ndim) && dims[0] == fill_count &&
                      std::equal(dims.begin() + 1, dims.end(), t.shape + 1);
    if (!fits)
      fail(OPD_INVALID_ARGUMENT, "shape must be that of the ", fill_count, " rows in use of ", describe(t), ", but is ",
           dims_text(dims));
    return Tensor::make(dims, t.dtype, t.device, t.data, data);
  }
};
// ---- builtins

// A tensor argument of rank 1 or more whose elements are whole bytes. It is copied if it lies in the cache itself.
class GivenRows {
 public:
  GivenRows(const View &v, const KvCache *cache) : given_(&as_dltensor(v, "value")) {
    require(given_->ndim >= 1 && element_bits(given_->dtype) % 8 == 0, "value must have rows of whole bytes, but is ",
            describe(*given_));
    bytes_of(*given_);
    if (!cache || given_->device.device_type != kDLCPU) return;
    const char *from = data_of(cache->data->dl), *to = from + bytes_of(cache->data->dl);
    if (data_of(*given_) < from || data_of(*given_) >= to) return;
    copy_ = copied_to(kHost, *given_);
    given_ = &copy_->dl;
  }
  const DLTensor &operator*() const { return *given_; }

 private:
  const DLTensor *given_;
  Ref<Tensor> copy_;
};

// Runs `body(cache, value)` and returns the cache.
template <class F>
Value change(Args args, const F &body) {
  auto &cache = as<KvCache>(args[0], "cache");
  std::scoped_lock lock(cache.guard);
  const GivenRows value(args[1], &cache);
  body(cache, *value);
  note_write(*cache.data, MemoryUse::kCache);
  return Ref<KvCache>::share(&cache);
}

Value create_cache(Args args) {
  const GivenRows initial(args[0], nullptr);
  const auto dims = as<Shape>(args[1], "reserved shape").dims();
  const int64_t fill_count = as_int(args[2], "fill count");
  const DLTensor &value = *initial;
  require(dims.size() == static_cast<size_t>(value.ndim), "reserved shape must be of the initial value's rank, ",
          value.ndim, ", but is ", to_text(args[1]));
  require(value.device.device_type == kDLCPU, "the initial value must lie on the CPU, but is ", describe(value));
  auto cache = make_object<KvCache>();
  cache->data = make_lasting_tensor(dims, value.dtype, value.device, MemoryUse::kCache);
  if (const uint64_t bytes = bytes_of(cache->data->dl)) std::memset(cache->data->dl.data, 0, bytes);
  cache->append(value);
  note_write(*cache->data, MemoryUse::kCache);
  if (fill_count > cache->reserved())
    fail(OPD_OUT_OF_RANGE, "fill count is ", fill_count, ", but the cache has ", cache->reserved(), " rows");
  if (fill_count >= 0) cache->fill_count = cache->window_position = fill_count;
  return cache;
}

Value append_rows(Args args) {
  return change(args, [](KvCache &cache, const DLTensor &value) { cache.append(value); });
}

Value update(Args args) {
  return change(args, [](KvCache &cache, const DLTensor &value) { cache.update(value); });
}

Value window_override(Args args) {
  const int64_t most = as_int(args[2], "max_cache_size");
  return change(args, [&](KvCache &cache, const DLTensor &value) { cache.override_window(value, most, 0); });
}

Value window_override_with_sinks(Args args) {
  const int64_t most = as_int(args[2], "max_cache_size"), sinks = as_int(args[3], "sinks");
  return change(args, [&](KvCache &cache, const DLTensor &value) { cache.override_window(value, most, sinks); });
}

Value view(Args args) {
  auto &cache = as<KvCache>(args[0], "cache");
  std::scoped_lock lock(cache.guard);
  std::vector<int64_t> dims(cache.data->dl.shape, cache.data->dl.shape + cache.data->dl.ndim);
  dims[0] = cache.fill_count;
  return cache.view(args.size() == 2 ? as<Shape>(args[1], "shape").dims() : dims);
}

std::vector<KvCache *> caches_of(const View &v) {
  std::vector<KvCache *> caches;
  for (const View &item : as<Array>(v, "caches").views()) caches.push_back(&as<KvCache>(item, "an item of caches"));
  return caches;
}

Value array_popn(Args args) {
  const int64_t n = as_int(args[1], "n");
  for (KvCache *cache : caches_of(args[0])) {
    std::scoped_lock lock(cache->guard);
    if (n < 0 || n > cache->fill_count)
      fail(OPD_OUT_OF_RANGE, "n must be from 0 to ", cache->fill_count, " (the rows in use), but is ", n);
    cache->fill_count -= n;
  }
  return {};
}

Value array_clear(Args args) {
  for (KvCache *cache : caches_of(args[0])) {
    std::scoped_lock lock(cache->guard);
    cache->fill_count = cache->window_position = 0;
  }
  return {};
}

constexpr Builtin kKvCacheBuiltins[] = {
    builtin<"vm.builtin.attention_kv_cache_create", create_cache, "(initial value, reserved shape, fill count)", 3>(),
    builtin<"vm.builtin.attention_kv_cache_append", append_rows, "(cache, value)", 2>(),
    builtin<"vm.builtin.attention_kv_cache_update", update, "(cache, value)", 2>(),
    builtin<"vm.builtin.attention_kv_cache_window_override", window_override, "(cache, value, max_cache_size)", 3>(),
    builtin<"vm.builtin.attention_kv_cache_window_override_with_sinks", window_override_with_sinks,
            "(cache, value, max_cache_size, sinks)", 4>(),
    builtin<"vm.builtin.attention_kv_cache_view", view, "(cache [, shape])", 1, 2>(),
    builtin<"vm.builtin.attention_kv_cache_array_popn", array_popn, "(caches, n)", 2>(),
    builtin<"vm.builtin.attention_kv_cache_array_clear", array_clear, "(caches)", 1>(),
};

}  // namespace

std::span<const Builtin> kv_cache_builtins() { return kKvCacheBuiltins; }

}  // namespace opd
