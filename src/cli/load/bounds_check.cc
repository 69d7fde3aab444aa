#include "cli/load/bounds_check.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <new>
#include <span>

#include "cli/load/program.h"
#include "cli/support/failure.h"
#include "cli/support/signal_text.h"
#include "cli/support/text.h"
#include "cli/tensors/element.h"

namespace opd::cli {

namespace {

// ---- a copy of bytes between pages without access

// Guards are wide, because a wrong index is often wrong by a whole row. They take only addresses, no memory.
constexpr size_t least_guard = size_t{1} << 20;

size_t page_size() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Guards are whole pages, but the copy may have any size. So on one side it is as near to the guard as the alignment
// allows, on the other up to a page away. The bytes between copy and guards are filled with one value, so that writes
// to them can be detected afterwards.
class GuardedBlock {
 public:
  enum class Side { end, begin };  // the side of the copy that is next to the guard

  // `alignment` is a power of two up to the size of a page. The addresses of copy and content are equal modulo
  // `alignment`. Throws std::bad_alloc.
  GuardedBlock(std::span<const std::byte> content, size_t alignment, Side side, std::byte fill)
      : size_(content.size()), fill_(fill) {
    const size_t guard = rounded_up(std::max(least_guard, size_), page_size());
    body_size_ = rounded_up(size_ + alignment - 1, page_size());
    mapped_ = guard + body_size_ + guard;
    void *const mapping = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    mapping_ = static_cast<std::byte *>(mapping);
    body_ = mapping_ + guard;
    if (mprotect(body_, body_size_, PROT_READ | PROT_WRITE) != 0) {
      munmap(mapping_, mapped_);
      throw std::bad_alloc();
    }
    // A body begins and ends at a page, so its start is 0 modulo the alignment.
    const size_t phase = reinterpret_cast<uintptr_t>(content.data()) % alignment;
    const size_t latest = body_size_ - size_;
    data_ = body_ + (side == Side::begin ? phase : latest - (latest - phase) % alignment);
    std::memset(body_, std::to_integer<int>(fill_), body_size_);
    if (size_) std::memcpy(data_, content.data(), size_);
  }
  ~GuardedBlock() { munmap(mapping_, mapped_); }
  GuardedBlock(const GuardedBlock &) = delete;

  std::byte *data() const { return data_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // The position of the overwritten bytes nearest to the copy: 0 is the first byte after it, -1 the last one before it.
  std::optional<ptrdiff_t> written_outside() const {
    const auto is_written = [this](std::byte one) { return one != fill_; };
    std::byte *const body_end = body_ + body_size_;
    const std::byte *const after = std::find_if(data_ + size_, body_end, is_written);
    if (after != body_end) return after - (data_ + size_);
    const std::byte *before = data_;
    while (before != body_ && !is_written(before[-1])) --before;
    if (before == body_) return std::nullopt;
    while (before != body_ && is_written(before[-1])) --before;
    return before - data_;
  }
  // The position of an address within the guards, counted as in written_outside().
  std::optional<ptrdiff_t> outside(uintptr_t address) const {
    const auto begin = reinterpret_cast<uintptr_t>(mapping_), data = reinterpret_cast<uintptr_t>(data_);
    if (address < begin || address >= begin + mapped_) return std::nullopt;
    return static_cast<ptrdiff_t>(address - (address < data ? data : data + size_));
  }

 private:
  std::byte *mapping_ = nullptr, *body_ = nullptr, *data_ = nullptr;
  size_t mapped_ = 0, body_size_ = 0, size_ = 0;
  std::byte fill_;
};

// ---- a handler of the signal that accesses to these pages raise

// Watches a call: after a segmentation fault, the process exits with a message that names the call. If the address is
// in the guards of a block, the message names the block, too. `names`: names of the blocks. All arguments must outlive
// the watch. Watches nest.
class FaultWatch {
 public:
  FaultWatch(const std::string &name, const std::deque<GuardedBlock> &all, std::span<const std::string> texts);
  ~FaultWatch() { watched.store(outer_); }
  FaultWatch(const FaultWatch &) = delete;
  FaultWatch &operator=(const FaultWatch &) = delete;

  // The signal handler reads this. It is global, because kernels can fault on any thread.
  static inline std::atomic<const FaultWatch *> watched{nullptr};
  const char *const call;
  const std::deque<GuardedBlock> &blocks;
  const std::span<const std::string> names;

 private:
  const FaultWatch *const outer_ = watched.load();
};

const char *side_of(ptrdiff_t outside) { return outside < 0 ? " B before " : " B after the end of "; }

// "wrote" or "read", if the processor reports which.
const char *access_verb(const void *context) {
#ifdef __x86_64__
  constexpr greg_t is_write = 2;  // a bit of the page fault's error code
  return static_cast<const ucontext_t *>(context)->uc_mcontext.gregs[REG_ERR] & is_write ? " wrote" : " read";
#else
  static_cast<void>(context);
  return " accessed";
#endif
}

[[noreturn]] void end_with(SignalText &message) {
  message.flush();
  _exit(static_cast<int>(Exit::mismatch));
}

// Runs in a signal handler: it allocates no memory and uses only system calls.
void on_fault(int number, siginfo_t *info, void *context) {
  const FaultWatch *watch = FaultWatch::watched.load();
  if (!watch) {  // not from a kernel: the fault occurs again, and kills the process as usual
    signal(number, SIG_DFL);
    return;
  }
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  SignalText text;
  text << "opdyno run: " << watch->call << access_verb(context);
  for (size_t i = 0; i < watch->blocks.size(); ++i) {
    const std::optional<ptrdiff_t> outside = watch->blocks[i].outside(address);
    if (!outside) continue;
    text << " memory that begins " << static_cast<size_t>(std::abs(*outside)) << side_of(*outside);
    end_with(text << watch->names[i].c_str() << "\n");
  }
  end_with(text << " memory at address " << info->si_addr << ", which is near none of its tensors\n");
}

void handle_faults() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

FaultWatch::FaultWatch(const std::string &name, const std::deque<GuardedBlock> &all, std::span<const std::string> texts)
    : call(name.c_str()), blocks(all), names(texts) {
  static const bool handled = (handle_faults(), true);
  static_cast<void>(handled);
  watched.store(this);
}

// ---- the check of a call

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
      : values(arguments) {
    views_.reserve(values.size());  // values point at them
    for (const Shared &shared : memory) {
      const Range range = shared.range;
      blocks.emplace_back(std::span<const std::byte>(range.begin, range.end), block_alignment, side, fill);
      for (const size_t i : shared.arguments) place(i, range.begin);
    }
  }
  ~Copies() {
    for (const Tensor &tensor : tensors_) tensor.end_borrow();
  }
  Copies(const Copies &) = delete;
  Copies &operator=(const Copies &) = delete;

  std::vector<opd_value> values;
  std::deque<GuardedBlock> blocks;  // they do not move

 private:
  void place(size_t i, const std::byte *begin) {
    DLTensor view = *tensor_in(values[i]);
    // `byte_offset` is kept, so the pointer may lie before the copy.
    const uintptr_t moved = reinterpret_cast<uintptr_t>(blocks.back().data()) - reinterpret_cast<uintptr_t>(begin);
    view.data = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(view.data) + moved);
    views_.push_back(view);
    if (values[i].type == OPD_TENSOR) {
      tensors_.push_back(Tensor::borrow(view));
      values[i] = opdyno::arg(tensors_.back());
    } else {
      values[i] = opd_dltensor(&views_.back());
    }
  }

  std::vector<DLTensor> views_;
  std::vector<Tensor> tensors_;
};

[[noreturn]] void fail_check(std::string finding) { throw Failure(Exit::mismatch, std::move(finding)); }

void check_fill(const Copies &copies, const std::vector<Shared> &memory, const std::string &kernel) {
  for (size_t i = 0; i < memory.size(); ++i) {
    const std::optional<ptrdiff_t> outside = copies.blocks[i].written_outside();
    if (!outside) continue;
    fail_check(cat(kernel, " wrote memory that begins ", std::abs(*outside), side_of(*outside), memory[i].name));
  }
}

void check_equal(const Copies &a, const Copies &b, const std::vector<Shared> &memory, const std::string &kernel) {
  for (size_t i = 0; i < memory.size(); ++i) {
    const std::span<const std::byte> one = a.blocks[i].bytes(), other = b.blocks[i].bytes();
    const size_t at = static_cast<size_t>(std::mismatch(one.begin(), one.end(), other.begin()).first - one.begin());
    if (at == one.size()) continue;
    fail_check(cat(kernel, " computed different results, from byte ", at, " on of ", memory[i].name,
                   ", in two calls with equal tensors: it reads memory outside them, or its results depend on more "
                   "than its arguments"));
  }
}

}  // namespace

void BoundsCheck::check(const Function &kernel, const std::string &name, const std::vector<opd_value> &arguments) {
  const std::vector<Shared> memory = shared_memory(arguments);
  const std::string subject = cat("the kernel ", name);
  const std::vector<std::string> names = mapped(memory, &Shared::name);
  const auto call_with = [&](const Copies &copies) {
    try {
      const FaultWatch watch(subject, copies.blocks, names);
      kernel.call(copies.values);
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
    } else if (is_of_cache(name)) {
      has_caches_ = true;
    } else if (!name.starts_with(builtin_prefix) && !program_.find(name)) {
      unchecked_.insert(name);
    }
  });
}

std::string BoundsCheck::summary() const {
  std::string text =
      cat("checked ", counted(calls_, "call"), " of ", counted(static_cast<int64_t>(checked_.size()), "kernel"));
  if (!unchecked_.empty())
    text +=
        cat("; not checked, because they are not kernels of MOD: ", join({unchecked_.begin(), unchecked_.end()}, ", "));
  if (has_caches_) text += "; kernels that KV caches and states call are not checked";
  return text;
}

}  // namespace opd::cli
