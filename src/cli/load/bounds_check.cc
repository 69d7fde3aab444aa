#include "cli/load/bounds_check.h"

#include <algorithm>

#include "cli/load/guarded_block.h"
#include "cli/load/program.h"
#include "cli/support/failure.h"
#include "cli/support/text.h"
#include "cli/tensors/dim.h"

namespace opd::cli {

namespace {

// Alignment that TVM's kernels require. Copies of foreign memory keep the foreign alignment.
constexpr size_t block_alignment = 64;

struct Range {
  std::byte *begin, *end;
};

// The bytes of a tensor's elements; strides may be negative.
Range range_of(const DLTensor &view) {
  auto *const first = static_cast<std::byte *>(view.data) + view.byte_offset;
  int64_t before = 0, behind = 1;  // in elements, from the first
  bool compact = view.strides == nullptr;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.shape[i] == 0) return {first, first};
    if (compact) behind *= view.shape[i];
    else (view.strides[i] < 0 ? before : behind) += (view.shape[i] - 1) * view.strides[i];
  }
  const int64_t bits = int64_t{view.dtype.bits} * view.dtype.lanes;
  return {first + before * bits / 8, first + (behind * bits + 7) / 8};
}

const DLTensor *tensor_in(const opd_value &value) {
  if (value.type == OPD_DLTENSOR) return value.u.dltensor;
  return value.type == OPD_TENSOR ? &Tensor::of(value).view() : nullptr;
}

bool is_host_memory(const DLTensor &view) { return view.device.device_type == kDLCPU && view.data; }

// The memory of one tensor, or of several tensors that overlap.
struct Shared {
  Range range;
  std::vector<size_t> arguments;
  std::string name;  // "argument 2, float32[3, 4]"
};

std::vector<Shared> shared_memory(const std::vector<opd_value> &arguments) {
  std::vector<Shared> parts;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const DLTensor *view = tensor_in(arguments[i]);
    if (view && is_host_memory(*view))
      parts.push_back({range_of(*view),
                       {i},
                       cat("argument ", i, ", ", opdyno::to_string(view->dtype), dims_text(view->shape, view->ndim))});
  }
  std::sort(parts.begin(), parts.end(), [](const Shared &a, const Shared &b) { return a.range.begin < b.range.begin; });
  std::vector<Shared> joined;
  for (Shared &part : parts) {
    if (joined.empty() || part.range.begin >= joined.back().range.end) {
      joined.push_back(std::move(part));
      continue;
    }
    Shared &last = joined.back();
    last.range.end = std::max(last.range.end, part.range.end);
    last.arguments.push_back(part.arguments[0]);
    last.name += cat(", which shares memory with ", part.name);
  }
  return joined;
}

// A call's arguments, with copies instead of its tensors.
class Copies {
 public:
  Copies(const std::vector<opd_value> &arguments, const std::vector<Shared> &memory, GuardedBlock::Side side,
         std::byte fill)
      : values_(arguments) {
    views_.reserve(values_.size());  // values point at them
    for (const Shared &shared : memory) {
      const Range range = shared.range;
      blocks_.emplace_back(std::span<const std::byte>(range.begin, range.end), block_alignment, side, fill);
      for (const size_t i : shared.arguments) place(i, range.begin);
    }
  }
  ~Copies() {
    for (const Tensor &tensor : tensors_) tensor.end_borrow();
  }
  Copies(const Copies &) = delete;
  Copies &operator=(const Copies &) = delete;

  const std::vector<opd_value> &values() const { return values_; }
  const std::vector<GuardedBlock> &blocks() const { return blocks_; }

 private:
  void place(size_t i, const std::byte *begin) {
    DLTensor view = *tensor_in(values_[i]);
    // `byte_offset` is kept, so the pointer may lie before the copy.
    const uintptr_t moved = reinterpret_cast<uintptr_t>(blocks_.back().data()) - reinterpret_cast<uintptr_t>(begin);
    view.data = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(view.data) + moved);
    views_.push_back(view);
    if (values_[i].type == OPD_TENSOR) {
      tensors_.push_back(Tensor::borrow(view));
      values_[i] = opdyno::arg(tensors_.back());
    } else {
      values_[i] = opd_dltensor(&views_.back());
    }
  }

  std::vector<opd_value> values_;
  std::vector<DLTensor> views_;
  std::vector<Tensor> tensors_;
  std::vector<GuardedBlock> blocks_;
};

[[noreturn]] void fail_check(std::string finding) { throw Failure(Exit::mismatch, std::move(finding)); }

void check_fill(const Copies &copies, const std::vector<Shared> &memory, const std::string &kernel) {
  for (size_t i = 0; i < memory.size(); ++i) {
    const std::optional<ptrdiff_t> outside = copies.blocks()[i].written_outside();
    if (!outside) continue;
    if (*outside < 0) fail_check(cat(kernel, " wrote memory that begins ", -*outside, " B before ", memory[i].name));
    fail_check(cat(kernel, " wrote memory that begins ", *outside, " B after the end of ", memory[i].name));
  }
}

void check_equal(const Copies &a, const Copies &b, const std::vector<Shared> &memory, const std::string &kernel) {
  for (size_t i = 0; i < memory.size(); ++i) {
    const std::span<const std::byte> one = a.blocks()[i].bytes(), other = b.blocks()[i].bytes();
    const size_t at = static_cast<size_t>(std::mismatch(one.begin(), one.end(), other.begin()).first - one.begin());
    if (at == one.size()) continue;
    fail_check(cat(kernel, " gave different results, from byte ", at, " on of ", memory[i].name,
                   ", in two calls with equal tensors: it reads memory outside them, or its results depend on more "
                   "than its arguments"));
  }
}

}  // namespace

void BoundsCheck::check(const Function &kernel, const std::string &name, const std::vector<opd_value> &arguments) {
  const std::vector<Shared> memory = shared_memory(arguments);
  const std::string subject = cat("the kernel ", name);
  std::vector<std::string> names;
  for (const Shared &shared : memory) names.push_back(shared.name);
  const auto call_with = [&](const Copies &copies) {
    try {
      const FaultWatch watch(subject, copies.blocks(), names);
      kernel.call(copies.values());
    } catch (const opdyno::Error &) {}  // the call itself then reports the same error, with its place in the program
    check_fill(copies, memory, subject);
  };
  const Copies at_end(arguments, memory, GuardedBlock::Side::end, std::byte{0xA5});
  call_with(at_end);
  const Copies at_begin(arguments, memory, GuardedBlock::Side::begin, std::byte{0x5A});
  call_with(at_begin);
  check_equal(at_end, at_begin, memory, subject);
  ++calls_;
  checked_.insert(name);
}

const Function *BoundsCheck::kernel_of(const std::string &name) {
  const auto [found, is_new] = kernels_.try_emplace(name);
  if (is_new && !program_.find(name) && !others_.contains(name) && program_.root.has_function(name.c_str()))
    found->second = program_.root.function(name.c_str());
  return found->second ? &*found->second : nullptr;
}

Function BoundsCheck::instrument() {
  return Function::of([this](const opd_value *shown, int32_t count) {
    constexpr int32_t head = 4;  // function, name, whether it is before the call, result
    if (!shown[2].u.int64) return;
    const std::string name = opdyno::string_of(shown[1]);
    if (const Function *kernel = kernel_of(name)) {
      try {
        check(*kernel, name, {shown + head, shown + count});
      } catch (const Failure &failure) {
        if (!finding_) finding_ = failure.what();
        throw;
      }
    } else if (name.starts_with("vm.builtin.attention_kv_cache_") || name.starts_with("vm.builtin.rnn_state_")) {
      has_caches_ = true;
    } else if (!name.starts_with("vm.builtin.") && !program_.find(name)) {
      unchecked_.insert(name);
    }
  });
}

std::string BoundsCheck::summary() const {
  std::string text =
      cat("checked ", counted(calls_, "call"), " of ", counted(static_cast<int64_t>(checked_.size()), "kernel"));
  if (!unchecked_.empty())
    text +=
        cat("; not checked, because they are no kernels of MOD: ", join({unchecked_.begin(), unchecked_.end()}, ", "));
  if (has_caches_) text += "; kernels that KV caches and states call are not checked";
  return text;
}

}  // namespace opd::cli
