// Forced ends of session processes, and the reasons that are reported for the end of a process.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "cli/serve/session_share.h"

namespace opd::cli {

// The end of a process that the server decides on. SIGTERM comes first, so that the process can tell its client what
// ran; SIGKILL comes later.
class ForcedEnd {
 public:
  using Clock = std::chrono::steady_clock;
  // `why` and `outcome`: texts for the server's messages and metrics. `has_client`: the client is still connected.
  ForcedEnd(Clock::time_point at, std::string why, const char *outcome, bool has_client = true);

  Clock::time_point next_step() const { return next_; }  // Clock::time_point::max(): no further step
  void go_on(pid_t process, SharedSession &shared);      // called at next_step()
  bool has_begun() const { return has_begun_; }
  const std::string &why() const { return why_; }
  const char *outcome() const { return outcome_; }

 private:
  Clock::time_point next_;
  std::string why_;
  const char *outcome_;
  bool has_client_, has_begun_ = false;
};

// Notices whether the kernel ends processes of this machine for lack of memory.
class MemoryWatch {
 public:
  void look();                       // called now and then
  bool has_ended_a_process() const;  // recently

 private:
  std::optional<uint64_t> known_;  // number of ended processes since the machine's start
  std::chrono::steady_clock::time_point changed_{};
};

struct SessionEnd {
  std::string why;      // "": the session's process has reported it
  const char *outcome;  // for metrics; "": the process has noted it
};

// `status` and `used`: from wait4(). Also writes the reason for the client to `shared`.
SessionEnd end_of_session(int status, const rusage &used, const std::optional<ForcedEnd> &forced, int32_t cpu_limit_s,
                          const MemoryWatch &memory, SharedSession &shared);

}  // namespace opd::cli
