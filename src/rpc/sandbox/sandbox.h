// Restricts a session's process: it can load, compile and run programs on the devices here, with the files of the
// session. The restrictions hold for the thread and its descendants, and cannot be undone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace opd::rpc {

struct SandboxOptions {
  bool is_wanted = false;
  bool network = false;                 // the session may connect
  std::vector<std::string> read_paths;  // further paths that it may read and execute
};

// The restrictions that this kernel enforces, and those that it cannot enforce. Each is a phrase.
struct SandboxFacts {
  std::vector<std::string> enforced, missing;
};
SandboxFacts sandbox_facts(const SandboxOptions &options);

// Throws OPD_NOT_FOUND if a path does not exist.
void require_sandbox(const SandboxOptions &options);

// Enters the sandbox. The session can write only to its `folder`. Caches of libraries and compilers move there by
// environment variables (HOME, TMPDIR and others). If the kernel does not support a restriction, it is left out; all
// other errors are thrown. Throws OPD_FAILED_PRECONDITION if the process has further threads, because they would stay
// outside.
void enter_sandbox(const SandboxOptions &options, const std::string &folder);

// ---- privileges.cc: the user, privileges and resource limits of this process

// Changes the process to another user, with only that user's primary group and without capabilities. Needs root. Throws
// OPD_NOT_FOUND if there is no such user.
void become_user(const std::string &name);
void require_user(const std::string &name);  // throws if become_user() would, but changes nothing

// These functions have a permanent effect, on programs that the process starts, too. A process without such privileges
// is not an error.
void drop_capabilities();
void forbid_new_privileges();

void limit_cpu(int32_t seconds);    // CPU time of the process; then SIGXCPU ends it
void limit_memory(uint64_t bytes);  // private memory in addition to what the process has now

// ---- syscall_filter.cc: a filter of system calls (seccomp). Calls that sessions do not need fail with EPERM, all
// others stay allowed.

struct SyscallFilter {
  bool network = false;    // whether new connections are allowed
  bool truncates = false;  // whether truncate() is left to Landlock
};

bool has_syscall_filters();  // whether this kernel has them on this architecture

// Restricts the calling thread and its descendants for good. Needs no_new_privs.
void enter_syscall_filter(const SyscallFilter &filter);

}  // namespace opd::rpc
