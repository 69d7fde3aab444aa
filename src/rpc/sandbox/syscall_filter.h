// A filter of system calls (seccomp): calls that sessions do not need fail with EPERM, all others stay allowed.
#pragma once

namespace opd::rpc {

struct SyscallFilter {
  bool network = false;    // whether new connections are allowed
  bool truncates = false;  // whether truncate() is left to Landlock
};

bool has_syscall_filters();  // of this kernel on this architecture

// Restricts the calling thread and its descendants for good. Needs no_new_privs.
void enter_syscall_filter(const SyscallFilter &filter);

}  // namespace opd::rpc
