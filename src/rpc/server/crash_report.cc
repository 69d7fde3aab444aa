#include "rpc/server/crash_report.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/stack_walk.h"
#include "rpc/wire/progress.h"
#include "vm/run.h"

namespace opd::rpc {
namespace {

constexpr size_t kStack = 64 << 10;
constexpr unsigned kMostSeconds = 5;  // limit of the answer; then the process ends without one

// The limit is read early, because the kernel raises it before the signal arrives.
uint64_t cpu_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  return limit.rlim_cur;
}

bool is_free(const struct sigaction &action) { return !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL; }

using Text = FixedText<256>;
Text &operator<<(Text &text, uint64_t number) {
  char digits[24];
  return text << std::string_view(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// The bytes that RLIMIT_DATA counts, plus the stack: the sixth number in /proc/self/statm. 0: unknown.
// /proc/self/status has the number without the stack. But a signal handler must not allocate memory, and that file is
// too long to be read without.
uint64_t private_memory_and_stack() {
  constexpr int kPlace = 5;
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[256];
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  const char *at = text, *const end = text + std::max<ssize_t>(size, 0);
  for (int i = 0; i < kPlace && at < end; ++i) at = std::min(std::find(at, end, ' ') + 1, end);
  uint64_t pages = 0;
  std::from_chars(at, end, pages);
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// A limit below half of the machine's memory is taken for the user's choice.
bool is_tight(uint64_t limit) {
  struct sysinfo machine {};
  return ::sysinfo(&machine) == 0 && limit < uint64_t{machine.totalram} * machine.mem_unit / 2;
}

// Adds a note if memory was short, because few kernels check whether an allocation succeeded.
void add_memory(Text &reason, bool is_near_null) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur == RLIM_INFINITY) return;
  const uint64_t used = private_memory_and_stack();
  if (!(is_near_null && is_tight(limit.rlim_cur)) && used < limit.rlim_cur / 8 * 7) return;
  reason << "; the session has " << (used >> 20) << " of the " << (limit.rlim_cur >> 20) << " MiB that it may have";
}

// `cpu_limit`: in seconds.
Text reason_of(const siginfo_t &what, uint64_t cpu_limit) {
  constexpr uintptr_t kNearNull = 1 << 12;
  const bool has_address = what.si_code > 0;  // else a process sent the signal
  Text reason;
  switch (what.si_signo) {
    case SIGSEGV:
      reason << "SIGSEGV (it used memory that is not there";
      add_memory(reason, has_address && reinterpret_cast<uintptr_t>(what.si_addr) < kNearNull);
      return reason << ")";
    case SIGBUS:
      return reason << "SIGBUS (it used memory whose file has ended)";
    case SIGFPE:
      return reason << "SIGFPE (it divided by 0)";
    case SIGILL:
      return reason << "SIGILL (its code is none of this processor)";
    case SIGABRT:
      reason << "SIGABRT (it gave up";
      add_memory(reason, false);
      return reason << ")";
    case SIGSYS:
      return reason << "SIGSYS (it made a system call that is not allowed)";
    case SIGTERM:
      return reason << "SIGTERM (another process demanded it)";
    default:
      return reason << "SIGXCPU (the session has used up its " << cpu_limit << " s of CPU time)";
  }
}

// The innermost kernel on the stack. Its name is found if the kernel's library has symbols. Callers are found as far as
// the library has unwind tables.
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
    : frames_(frames),
      is_wanted_(is_wanted),
      progress_(progress),
      serving_(thread_state()),
      serving_thread_(::pthread_self()),
      cpu_limit_(cpu_limit()) {
  if (!is_wanted) return;
  CrashReport *none = nullptr;
  if (!reporting_.compare_exchange_strong(none, this))
    fail(OPD_FAILED_PRECONDITION, "the process has another session whose crashes are reported");
  use_own_stack();
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART;  // SA_RESTART: the program continues after SIGURG
  // If a handler itself crashes, the process ends, because the kernel cannot deliver a blocked signal.
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

void CrashReport::handle(int signal, siginfo_t *info, void *) {
  CrashReport *const report = reporting_.load();
  if (signal == SIGURG) {
    const int error = errno;
    if (report) report->note_operator();
    errno = error;
    return;
  }
  static std::atomic<bool> is_begun{false};
  if (is_begun.exchange(true)) wait_for_the_end();  // usually another thread of the same kernel
  if (report && report->is_amid_request_.exchange(false)) report->tell(*info);
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one), sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
}

void CrashReport::wait_for_the_end() noexcept {
  for (;;) ::pause();
}

// Returns the operator of this thread's program. If this thread runs no program, returns the operator of the program
// that waits for this thread's part of a kernel.
const char *CrashReport::running_operator() const noexcept {
  const ThreadState *const states[] = {&thread_state(), &serving_};
  for (const ThreadState *const state : states)
    if (const Run *const run = Run::of(*state))
      if (const char *const name = run->running_kernel()) return name;
  if (const char *const name = kernel_on_stack()) return name;
  const Run *const run = Run::of(serving_);
  return run ? run->operator_name.load(std::memory_order_relaxed) : nullptr;
}

// Only the serving thread may read its program while it runs. This takes no locks, because the program may hold them.
void CrashReport::note_operator() const noexcept {
  if (!::pthread_equal(::pthread_self(), serving_thread_)) return void(::pthread_kill(serving_thread_, SIGURG));
  const Run *const run = Run::of(serving_);
  if (!run || !is_amid_request_.load(std::memory_order_relaxed)) return;
  const char *name = run->running_kernel();
  if (!name) name = run->operator_name.load(std::memory_order_relaxed);
  if (name) progress_.note_operator(name);
}

// The reason is noted first, so that another process can send it if this one does not finish its answer.
void CrashReport::tell(const siginfo_t &what) noexcept {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kMostSeconds);  // the crashed code may hold a lock that is needed here
  const std::string_view told = what.si_signo == SIGTERM ? progress_.end_reason() : "";
  const Text own = told.empty() ? reason_of(what, cpu_limit_) : Text() << told;
  progress_.note_end(own.view());
  const char *const name = running_operator();
  const std::string_view operator_name = std::string_view(name ? name : "").substr(0, Progress::kMostName);
  progress_.note_operator(operator_name);
  progress_.note_wire(Progress::Wire::kClosed);
  frames_.write_last(end_answer(own.view(), operator_name).view());
  ::alarm(0);
}

}  // namespace opd::rpc
