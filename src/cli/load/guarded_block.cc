#include "cli/load/guarded_block.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "cli/support/failure.h"
#include "cli/support/signal_text.h"

namespace opd::cli {

namespace {

// Guards are wide, because a wrong index is often wrong by a whole row. They take only addresses, no memory.
constexpr size_t least_guard = size_t{1} << 20;

size_t page_size() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// The signal handler reads this. It is global, because kernels can fault on any thread.
std::atomic<const FaultWatch *> watched{nullptr};

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
  const FaultWatch *watch = watched.load();
  if (!watch) {  // not from a kernel: the fault occurs again, and ends the process as usual
    signal(number, SIG_DFL);
    return;
  }
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  SignalText text;
  text << "opdyno run: " << watch->call << access_verb(context);
  for (size_t i = 0; i < watch->blocks.size(); ++i) {
    const std::optional<ptrdiff_t> outside = watch->blocks[i].outside(address);
    if (!outside) continue;
    if (*outside < 0) text << " memory that begins " << static_cast<size_t>(-*outside) << " B before ";
    else text << " memory that begins " << static_cast<size_t>(*outside) << " B after the end of ";
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

}  // namespace

GuardedBlock::GuardedBlock(std::span<const std::byte> content, size_t alignment, Side side, std::byte fill)
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
  // A body begins and ends at a page, so its begin is 0 modulo the alignment.
  const size_t phase = reinterpret_cast<uintptr_t>(content.data()) % alignment;
  const size_t latest = body_size_ - size_;
  data_ = body_ + (side == Side::begin ? phase : latest - (latest - phase) % alignment);
  std::memset(body_, std::to_integer<int>(fill_), body_size_);
  if (size_) std::memcpy(data_, content.data(), size_);
}

GuardedBlock::~GuardedBlock() {
  if (mapping_) munmap(mapping_, mapped_);
}

GuardedBlock::GuardedBlock(GuardedBlock &&from) noexcept
    : mapping_(std::exchange(from.mapping_, nullptr)),
      body_(from.body_),
      data_(from.data_),
      mapped_(from.mapped_),
      body_size_(from.body_size_),
      size_(from.size_),
      fill_(from.fill_) {}

std::optional<ptrdiff_t> GuardedBlock::written_outside() const {
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

std::optional<ptrdiff_t> GuardedBlock::outside(uintptr_t address) const {
  const auto begin = reinterpret_cast<uintptr_t>(mapping_), data = reinterpret_cast<uintptr_t>(data_);
  if (address < begin || address >= begin + mapped_) return std::nullopt;
  return static_cast<ptrdiff_t>(address - (address < data ? data : data + size_));
}

FaultWatch::FaultWatch(const std::string &name, std::span<const GuardedBlock> all, std::span<const std::string> texts)
    : call(name.c_str()), blocks(all), names(texts), outer_(watched.load()) {
  static const bool handled = (handle_faults(), true);
  static_cast<void>(handled);
  watched.store(this);
}

FaultWatch::~FaultWatch() { watched.store(outer_); }

}  // namespace opd::cli
