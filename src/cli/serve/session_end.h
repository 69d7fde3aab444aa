// How the process of a session ends if it does not end by itself, and what is said of it.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "cli/serve/session_share.h"

namespace opd::cli {

// The end of a process that the server decides on. First by SIGTERM, at which the process tells its client what ran;
// then by SIGKILL.
class ForcedEnd {
 public:
  using Clock = std::chrono::steady_clock;
  // `why` and `outcome`: as the server and its metrics say it. `has_client`: someone is there to be told.
  ForcedEnd(Clock::time_point at, std::string why, const char *outcome, bool has_client = true);

  Clock::time_point next_step() const { return next_; }  // Clock::time_point::max(): there is none any more
  void go_on(pid_t process, SharedSession &shared);      // once it is time for that
  bool has_begun() const { return has_begun_; }
  const std::string &why() const { return why_; }
  const char *outcome() const { return outcome_; }

 private:
  Clock::time_point next_;
  std::string why_;
  const char *outcome_;
  bool has_client_, has_begun_ = false;
};

// Whether the kernel ends processes of this machine because it has no memory left.
class MemoryWatch {
 public:
  void look();                       // to be called now and then
  bool has_ended_a_process() const;  // of late

 private:
  std::optional<uint64_t> known_;  // processes that it has ended since the start of the machine
  std::chrono::steady_clock::time_point changed_{};
};

struct SessionEnd {
  std::string why;      // "": the session's process has said it
  const char *outcome;  // for metrics; "": the process has noted it
};

// `status` and `used`: of wait4(). Also notes in `shared` what the client is to be told.
SessionEnd end_of_session(int status, const rusage &used, const std::optional<ForcedEnd> &forced, int32_t cpu_limit_s,
                          const MemoryWatch &memory, SharedSession &shared);

}  // namespace opd::cli
