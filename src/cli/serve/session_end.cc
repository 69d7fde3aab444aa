#include "cli/serve/session_end.h"

#include <signal.h>
#include <sys/wait.h>

#include <charconv>
#include <cstring>
#include <opdyno/tensor.hpp>

#include "cli/support/system_files.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto grace = 2s;     // from SIGTERM to SIGKILL
constexpr auto of_late = 10s;  // long, because a process with much memory takes long to end

// The limit has two steps: SIGXCPU, and if the program ignores it, SIGKILL a second later.
bool has_used_up(int status, const rusage &used, int32_t limit) {
  if (!limit || !WIFSIGNALED(status)) return false;
  return WTERMSIG(status) == SIGXCPU ||
         (WTERMSIG(status) == SIGKILL && used.ru_utime.tv_sec + used.ru_stime.tv_sec >= limit);
}

std::string memory_text() {
  const opdyno::Value bytes = opdyno::device_attr({kDLCPU, 0}, OPD_ATTR_TOTAL_GLOBAL_MEMORY);
  if (bytes.type() != OPD_INT) return "the kernel had no memory left";
  return cat("the kernel had no memory left: the machine, or the control group of the server, has ",
             bytes.view().u.int64 >> 20, " MiB");
}

std::string signal_text(int number, const MemoryWatch &memory) {
  if (number == SIGKILL && memory.has_ended_a_process()) return cat("SIGKILL (", memory_text(), ")");
  return cat("signal ", number, " (", strsignal(number), ")");
}

}  // namespace

ForcedEnd::ForcedEnd(Clock::time_point at, std::string why, const char *outcome, bool has_client)
    : next_(at), why_(std::move(why)), outcome_(outcome), has_client_(has_client) {}

void ForcedEnd::go_on(pid_t process, SharedSession &shared) {
  const bool asks = has_client_ && !has_begun_;
  if (asks) note_reason(shared, cat("the server (", why_, ")"));
  kill(process, asks ? SIGTERM : SIGKILL);
  next_ = asks ? Clock::now() + grace : Clock::time_point::max();
  has_begun_ = true;
}

void MemoryWatch::look() {
  constexpr std::string_view line = "\noom_kill ";
  const std::string text = system_text("/proc/vmstat");
  const size_t at = text.find(line);
  uint64_t count = 0;  // 0: kernels before 4.13, which do not report it
  if (at != text.npos) std::from_chars(text.data() + at + line.size(), text.data() + text.size(), count);
  if (known_ && count != *known_) changed_ = std::chrono::steady_clock::now();
  known_ = count;
}

bool MemoryWatch::has_ended_a_process() const {
  return changed_ != std::chrono::steady_clock::time_point() && std::chrono::steady_clock::now() - changed_ < of_late;
}

SessionEnd end_of_session(int status, const rusage &used, const std::optional<ForcedEnd> &forced, int32_t cpu_limit_s,
                          const MemoryWatch &memory, SharedSession &shared) {
  const std::string ran = noted_operator(shared), place = ran.empty() ? "" : cat(", amid the operator ", ran);
  const bool has_reason = shared.progress.end_reason[0] != '\0';  // the process's signal handler has written it
  const auto told = [&](const std::string &reason) {
    if (!has_reason) note_reason(shared, reason);
  };
  if (forced && forced->has_begun() && WIFSIGNALED(status)) return {forced->why() + place, forced->outcome()};
  if (has_used_up(status, used, cpu_limit_s)) {
    const std::string limit = cat("its ", cpu_limit_s, " s of CPU time");
    told(cat(WTERMSIG(status) == SIGKILL ? "SIGKILL" : "SIGXCPU", " (the session has used up ", limit, ")"));
    return {cat("it used up ", limit, place), "limit"};
  }
  if (WIFSIGNALED(status)) {
    const std::string text = signal_text(WTERMSIG(status), memory);
    told(text);
    return {cat("its process was ended by ", text, place), "crashed"};
  }
  const int code = WEXITSTATUS(status);
  told(cat("exit(", code, "), which a program called"));
  if (code == 0) return {"", ""};
  return {cat("its process exited with code ", code, place), "exited"};
}

}  // namespace opd::cli
