// KV states whose kernels do nothing, or store rows as they are told, made within the library.
#pragma once
#include "device/device.h"
#include "value/function.h"
#include "value/map.h"
#include "value/tensor.h"
#include "vm/kv/paged_kv_cache.h"
#include "vm/kv/rnn_state.h"

namespace opdyno_test {

// Two layers with one head of two numbers. `append`: the kernel that stores rows; none: it does nothing.
inline opd::Ref<opd::PagedKvCache> make_plain_cache(int64_t max_total = 64, int64_t page_size = 4,
                                                    bool has_windows = false, opd::Value append = {}) {
  using namespace opd;
  const Value kernel = make_function([](Args) { return Value(); });
  if (append.type() == OPD_NONE) append = kernel;
  const Value tag = std::string("tirx");
  const View tagged_items[] = {tag.view(), kernel.view()};
  const Value tagged = Array::make(tagged_items), none = Array::make({}), merges = Array::make({tagged_items + 1, 1});
  const int64_t sizes[] = {4, max_total, 32, page_size, has_windows}, layers[] = {0, 2}, kinds[] = {0, 0};
  std::vector<Value> settings{Shape::make(sizes),
                              Shape::make(layers),
                              int64_t{1},
                              int64_t{1},
                              int64_t{2},
                              int64_t{2},
                              Shape::make(kinds),
                              int64_t{0},
                              int64_t{0},
                              1.0,
                              1e4,
                              Value(),
                              make_tensor({}, DLDataType{kDLFloat, 32, 1}, kHost)};
  std::vector<Value> kernels{append, Value()};
  for (int i = 0; i < 7; ++i) kernels.push_back(tagged);
  kernels.push_back(none), kernels.push_back(merges);
  for (int i = 0; i < 4; ++i) kernels.push_back(kernel);
  return make_object<PagedKvCache>(KvConfig::from(views_of(settings)), KvKernels(views_of(kernels)));
}

// Three layers with a state of two numbers, for three sequences.
inline opd::Ref<opd::RnnState> make_plain_states(int64_t max_history = 3) {
  using namespace opd;
  const int64_t two[] = {2};
  RnnState::Kind kind;
  kind.get = kind.set = make_function([](Args) { return Value(); });
  kind.initial = make_tensor(two, DLDataType{kDLFloat, 32, 1}, kHost);
  std::fill_n(reinterpret_cast<float *>(data_of(kind.initial->dl)), 2, 0.5F);
  return make_object<RnnState>(3, 3, max_history, std::vector{kind});
}

inline std::string saved(const opd::KvState &state) {
  opd::ByteWriter out;
  state.save(out);
  return out.take();
}
inline void restore(opd::KvState &state, std::string_view bytes) {
  opd::ByteReader from(opd::as_bytes(bytes), "the state");
  state.restore(from);
}

}  // namespace opdyno_test
