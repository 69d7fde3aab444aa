// The kernels that a program gives to its paged cache, and the memory views that they get as arguments.
#pragma once
#include <array>
#include <initializer_list>

#include "value/function.h"
#include "value/tensor.h"

namespace opd {

inline constexpr DLDataType kKvTableType{kDLInt, 32, 1}, kKvLseType{kDLFloat, 32, 1};

struct KvKernels {
  // In the order of the arguments of vm.builtin.paged_attention_kv_cache_create, from the 14th on. Null: absent.
  Ref<Function> append, append_mla, ragged, prefill, decode, prefill_window, decode_window, prefill_tree, ragged_tree,
      mla, merge, merge_mla, split_rotary, copy_page, debug_get, compact;

  explicit KvKernels(Args args);  // those 15 arguments; throws if one is not a kernel
  std::vector<Value> arguments() const;
  // Calls of the two tree kernels. TVM's frontend for the CPU swaps them. So if a kernel refuses the number of its
  // arguments, the two are swapped.
  void run_prefill_tree(Args args) { run_tree(prefill_tree, ragged_tree, "token trees in pages", args); }
  void run_ragged_tree(Args args) { run_tree(ragged_tree, prefill_tree, "token trees", args); }

 private:
  void run_tree(Ref<Function> &function, Ref<Function> &other, const char *what, Args args);
  bool is_order_known_ = false;
};

// Throws OPD_UNSUPPORTED if the program gave no such kernel; `what` names it.
void run_kernel(const Ref<Function> &kernel, const char *what, Args args);

// A compact tensor of up to five dimensions as a kernel's argument. It must not move while the kernel runs.
class KvView {
 public:
  // Inline, so that the compiler sees the number of sizes: a decoding pass makes about 15 views in each layer.
  KvView(void *data, uint64_t byte_offset, DLDataType dtype, DLDevice device, std::initializer_list<int64_t> dims)
      : dl_{data, device, static_cast<int32_t>(dims.size()), dtype, dims_.data(), strides_.data(), byte_offset} {
    int64_t stride = 1;
    for (size_t i = dims.size(); i-- > 0; stride *= dims_[i]) {
      dims_[i] = dims.begin()[i];
      strides_[i] = stride;
    }
  }
  // Another shape in the memory of a tensor, from its start on.
  KvView(const DLTensor &memory, std::initializer_list<int64_t> dims)
      : KvView(memory.data, memory.byte_offset, memory.dtype, memory.device, dims) {}
  KvView(const KvView &other) { *this = other; }
  KvView &operator=(const KvView &other) {
    dl_ = other.dl_;
    dims_ = other.dims_;
    strides_ = other.strides_;
    dl_.shape = dims_.data();
    dl_.strides = strides_.data();
    return *this;
  }
  operator View() { return opd_dltensor(&dl_); }
  const DLTensor &operator*() const { return dl_; }
  int64_t dim(size_t i) const { return dims_[i]; }
  void cut(size_t axis, int64_t size) { dims_[axis] = size; }  // no longer compact

 private:
  static constexpr size_t kRanks = 5;
  std::array<int64_t, kRanks> dims_{}, strides_{};
  DLTensor dl_;
};

}  // namespace opd
