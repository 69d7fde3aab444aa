// The state that the server of `opdyno serve` keeps of each session: its process, the gate that admits its client, the
// memory that they share, its directory, and its end.
#pragma once
#include <opdyno/telemetry.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <opdyno/rpc.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/support/failure.h"
#include "cli/support/file.h"

namespace opd::cli {

// ---- processes

std::vector<pid_t> children_of_this_process();  // children of its main thread
void end_all_children();                        // ends their children, too; waits for all ends

// Drops the code of the program and its library from this process's memory. Code that runs again is read from the page
// cache. A server never runs most of its starting code again.
void forget_code() noexcept;

// Called in a session: the process gets no input, cannot read what is typed at the server's terminal, and leaves no
// core files.
void detach_session();

// ---- the gate that admits clients

// A channel between the server and a session's process whose client is not authenticated yet. Anyone may connect. So a
// client takes no session's place until it has sent the key and was admitted here.
class SessionGate {
 public:
  SessionGate();  // create it before the process begins

  // The session's process asks the server, and waits for its answer. Returns false if the client is not let in.
  bool ask();
  // The server calls the following functions.
  void keep_servers_end() { sessions_.reset(); }
  int descriptor() const { return servers_.get(); }  // has input once the session has asked, or has ended
  bool has_asked();                                  // consumes that input
  void answer(bool is_let_in);

 private:
  Descriptor servers_, sessions_;
};

// ---- shared memory

// SpanChannel sends a session's spans from its process to the server through shared memory. Clients' programs run in
// that process and can write anything there, so the server copies what it reads and cuts texts. It trusts nothing but
// the sizes of arrays.

// A span with fixed space for texts. Longer texts are cut.
struct SharedSpan {
  std::array<char, 56> traceparent;
  std::array<char, 17> parent;
  std::array<char, 128> name;
  std::array<char, 16> kind;
  std::array<char, 256> error;
  int64_t begin_ns, end_ns;
  int32_t span_kind;
  int32_t has_failed;  // not a bool, because clients' programs can write any value
};

class SpanChannel {
 public:
  static constexpr size_t room = 512;

  // The session's process calls this. It never waits. Spans without room are counted.
  void note(const opd_telemetry_value &span) noexcept;

  // The server calls this. Passes the spans that ended since `taken` to `receive`, and advances `taken`. If there are
  // too many, passes only the newest.
  using Receiver = std::function<void(const SharedSpan &)>;
  void take(uint64_t &taken, const Receiver &receive);
  void take_open(const Receiver &receive) const;  // call it once the process has ended
  uint64_t num_dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  SharedSpan *place_of(const SharedSpan &span) noexcept;

  std::atomic<uint64_t> written_{0}, taken_{0}, dropped_{0};
  std::array<SharedSpan, 2> open_{};    // the session and a call; if it has no start time, the entry is free
  std::array<SharedSpan, room> ended_;  // its pages are allocated when they are written
};

// Memory that a session's process shares with the server: its progress and its spans. Clients' programs run in that
// process and can write anything there.
struct SharedSession {
  opd_rpc_progress progress;
  SpanChannel spans;
};

template <class T>
struct Unmap {
  void operator()(T *shared) const noexcept { munmap(shared, sizeof *shared); }
};
template <class T>
using SharedMemory = std::unique_ptr<T, Unmap<T>>;
// Memory that this process shares with the processes that it begins later.
template <class T>
SharedMemory<T> share_memory() {
  void *const memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_errno("share", "memory", errno);
  return SharedMemory<T>(new (memory) T);
}

// Notes the reason for the message to the client. Called if the server kills the process, or if the process has ended.
void note_reason(SharedSession &shared, const std::string &reason);
// Tells the client why the process has ended, unless the process has told it. Does not wait.
void tell_end(int connection, const SharedSession &shared);

// ---- directories of sessions

// The directories of a server's sessions. The server removes them, because a session in a sandbox cannot remove its
// own.
class SessionFolders {
 public:
  // `user`: owner of the directories; "": the server's user. Removes the directories of servers that were killed.
  explicit SessionFolders(const std::string &user);
  ~SessionFolders();

  std::string make(int64_t session);
  void remove(int64_t session);
  // The size on disk of all files of the session. Counts up to about `most`. UINT64_MAX: the session hides files.
  uint64_t bytes_of(int64_t session, uint64_t most) const;
  void forget() { lock_.reset(); }  // called in a child, because only the server holds the lock

 private:
  std::string path_of(int64_t session) const;

  const std::string user_;
  std::string path_;
  Descriptor lock_;  // lock on the directory, as long as the server lives
};

// ---- ends of sessions

// A process's end that the server forces. SIGTERM comes first, so that the process can tell its client which operator
// ran. SIGKILL comes later.
struct ForcedEnd {
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_step;  // Clock::time_point::max(): no further step
  std::string why;              // for the server's messages
  const char *outcome;          // for metrics
  bool has_client = true;       // the client is still connected
  bool has_begun = false;

  void go_on(pid_t process, SharedSession &shared);  // called at next_step
};

// Notices whether the kernel ends processes of this machine for lack of memory.
class MemoryWatch {
 public:
  void look();                       // call it periodically
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
