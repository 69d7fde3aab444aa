// The contents of tensors at moments of a run. Copies are kept within a limit of memory, and equal contents are stored
// once. If a copy does not fit, only its hash is kept, which still shows whether two values are equal bit for bit. Also
// helpers for code that records calls through the VM's instrument.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "value/function.h"
#include "value/tensor.h"
#include "value/tvm_names.h"

namespace opd {

struct ContentsHash {
  uint64_t low = 0, high = 0;
  bool operator==(const ContentsHash &) const = default;
};

// A value: the elements of a tensor at one moment.
struct Contents {
  std::vector<int64_t> dims;
  DLDataType dtype{};
  ContentsHash hash;                        // hash of the compact elements
  std::shared_ptr<const std::string> kept;  // the elements; null: they did not fit
  Ref<Tensor> live;         // instead of a copy: a parameter or constant, which programs do not usually write
  bool is_readable = true;  // false: the contents are unknown, because the device was capturing a graph

  uint64_t elements() const { return count_of(dims); }
  bool has_same_bits(const Contents &other) const { return is_readable && other.is_readable && hash == other.hash; }
};

class ValueStore {
 public:
  explicit ValueStore(uint64_t limit_bytes) : limit_(limit_bytes) {}

  // Returns null if the copy would exceed the limit.
  std::shared_ptr<const std::string> keep(const ContentsHash &hash, std::string_view bytes);
  uint64_t limit_bytes() const { return limit_; }
  uint64_t kept_bytes() const { return used_; }
  uint64_t num_refused() const { return num_refused_; }

 private:
  struct Hash {
    size_t operator()(const ContentsHash &hash) const { return hash.low; }
  };
  const uint64_t limit_;
  uint64_t used_ = 0, num_refused_ = 0;
  std::unordered_map<ContentsHash, std::shared_ptr<const std::string>, Hash> copies_;
};

// The compact elements of a tensor in host memory. `copy` owns them if the tensor has strides or is on another device.
std::string_view host_bytes(const DLTensor &tensor, Ref<Tensor> &copy);
ContentsHash hash_of(std::string_view bytes, DLDataType dtype);
// The elements of a value; a null view if they are unknown.
std::string_view elements_of(const Contents &contents, Ref<Tensor> &copy);

// ---- helpers for code that records the values that calls read and write

inline constexpr std::string_view kAllocTensor = "vm.builtin.alloc_tensor";
inline constexpr int kMostTuples = 16;  // limit for tuples around a value of a call; programs nest less

// Pairs an instrument's data from before a call with its data from after the same call.
// The address of the arguments identifies a call: it is the same before and after the call, and differs among calls
// that are under way. If a foreign function calls a program and catches its error, the calls in it have no end.
template <class Call>
class OpenCalls {
 public:
  Call &begin(Args args) { return calls_.emplace_back(args.data(), Call()).second; }
  // Returns the call, and drops those that began in it and have no end. Returns nothing for a call that began unseen.
  std::optional<Call> end(Args args) {
    const auto found =
        std::find_if(calls_.rbegin(), calls_.rend(), [&](const auto &open) { return open.first == args.data(); });
    if (found == calls_.rend()) return std::nullopt;
    std::optional<Call> call = std::move(found->second);
    calls_.erase(std::prev(found.base()), calls_.end());
    return call;
  }
  template <class Is>
  bool any_of(const Is &is) const {
    return std::ranges::any_of(calls_, [&](const auto &open) { return is(open.second); });
  }
  void clear() { calls_.clear(); }

 private:
  std::vector<std::pair<const View *, Call>> calls_;
};

// The kernel that vm.builtin.call_tir_dyn calls; null for any other function. In `args`, the kernel is first, then its
// arguments follow. The last item, a shape, is not one of them.
const Function *kernel_of(std::string_view name, Args args);

// Returns false while the tensor's device captures a graph, because the copy would become a part of it.
bool is_readable(const DLTensor &tensor);

// Fills newly allocated memory with bytes 0xFF, which are NaN in floating point. Otherwise unwritten elements could
// have the right numbers from an earlier run by chance, and a kernel that forgets to write them would pass. It also
// makes writes visible as changed contents. Errors of the device are ignored here, because the call itself will report
// them.
void fill_unwritten(const DLTensor &tensor) noexcept;

}  // namespace opd
