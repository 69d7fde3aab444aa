#include "rpc/crash_report.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/stack_walk.h"
#include "rpc/packets.h"
#include "vm/run.h"

namespace opd::rpc {
namespace {

constexpr size_t kStack = 64 << 10;
constexpr unsigned kMostSeconds = 5;  // for the answer, after which the process ends without it

bool is_free(const struct sigaction &action) { return !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL; }

const char *name_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV (it used memory that is not there)";
    case SIGBUS:
      return "SIGBUS (it used memory whose file has ended)";
    case SIGFPE:
      return "SIGFPE (it divided by 0)";
    case SIGILL:
      return "SIGILL (its code is none of this processor)";
    case SIGABRT:
      return "SIGABRT (it gave up)";
    case SIGSYS:
      return "SIGSYS (it made a system call that is not allowed)";
    default:
      return "SIGXCPU (the CPU time of the session is used up)";
  }
}

// Text in a place of its own: a handler must not allocate memory.
class Text {
 public:
  Text &operator<<(std::string_view more) {
    const size_t count = std::min(more.size(), sizeof bytes_ - size_);
    std::memcpy(bytes_ + size_, more.data(), count);
    size_ += count;
    return *this;
  }
  template <class T>
  Text &raw(T number) {
    return *this << std::string_view(reinterpret_cast<const char *>(&number), sizeof number);
  }
  std::string_view view() const { return {bytes_, size_}; }

 private:
  char bytes_[512];
  size_t size_ = 0;
};

// The innermost kernel on the stack. Names are there if the kernel's library has them, and callers are found as far as
// it has tables for exceptions.
const char *kernel_on_stack() noexcept {
  constexpr std::string_view kPrefix = "__tvm_ffi_";
  uint64_t addresses[64];
  const size_t count = walk_stack(addresses, std::size(addresses));
  for (size_t i = 0; i < count; ++i) {
    Dl_info info;
    if (!::dladdr(reinterpret_cast<void *>(addresses[i]), &info) || !info.dli_sname) continue;
    if (std::string_view(info.dli_sname).starts_with(kPrefix)) return info.dli_sname + kPrefix.size();
  }
  return nullptr;
}

}  // namespace

std::atomic<CrashReport *> CrashReport::reporting_{nullptr};

CrashReport::CrashReport(const Frames &frames, bool is_wanted, const Progress &progress)
    : frames_(frames), is_wanted_(is_wanted), progress_(progress), serving_(thread_state()) {
  if (!is_wanted) return;
  CrashReport *none = nullptr;
  if (!reporting_.compare_exchange_strong(none, this))
    fail(OPD_FAILED_PRECONDITION, "the process has another session whose crashes are reported");
  use_own_stack();
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_ONSTACK;
  // A handler that crashes itself ends the process, since the kernel cannot deliver that signal.
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction before {};
    if (::sigaction(kSignals[i], nullptr, &before) || !is_free(before)) continue;
    is_handled_[i] = ::sigaction(kSignals[i], &action, nullptr) == 0;
  }
}

CrashReport::~CrashReport() {
  if (!is_wanted_) return;
  for (size_t i = 0; i < kSignals.size(); ++i)
    if (is_handled_[i]) ::signal(kSignals[i], SIG_DFL);
  if (stack_) {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  reporting_ = nullptr;
}

void CrashReport::use_own_stack() {
  stack_t before{};
  if (::sigaltstack(nullptr, &before) || !(before.ss_flags & SS_DISABLE)) return;
  stack_.reset(new char[kStack]);
  stack_t own{};
  own.ss_sp = stack_.get(), own.ss_size = kStack;
  if (::sigaltstack(&own, nullptr)) stack_ = nullptr;
}

void CrashReport::handle(int signal) {
  static std::atomic<bool> is_begun{false};
  if (is_begun.exchange(true)) wait_for_the_end();  // another thread of the same kernel, most often
  CrashReport *const report = reporting_.load();
  if (report && report->is_amid_request_.exchange(false)) report->tell(signal);
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one), sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
}

void CrashReport::wait_for_the_end() noexcept {
  for (;;) ::pause();
}

// Of this thread's program, or else of the program that waits for this thread's part of a kernel.
const char *CrashReport::running_operator() const noexcept {
  const ThreadState *const states[] = {&thread_state(), &serving_};
  for (const ThreadState *const state : states)
    if (const Run *const run = Run::of(*state))
      if (const char *const name = run->running_kernel()) return name;
  if (const char *const name = kernel_on_stack()) return name;
  const Run *const run = Run::of(serving_);
  return run ? run->operator_name.load(std::memory_order_relaxed) : nullptr;
}

void CrashReport::tell(int signal) noexcept {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kMostSeconds);  // what crashed may hold a lock that is needed here
  const char *const name = running_operator();
  const std::string_view operator_name = std::string_view(name ? name : "").substr(0, Progress::kMostName);
  progress_.note_crash(operator_name);
  Text text;
  text << kCrashAnswer << name_of(signal);
  if (name) text << " in the operator " << operator_name;
  Text body;
  body.raw(Code::kException).raw(int32_t{1}).raw(int32_t{OPD_CSTRING});
  body.raw(uint64_t{text.view().size()}) << text.view();
  frames_.write_last(body.view());
  ::alarm(0);
}

}  // namespace opd::rpc
