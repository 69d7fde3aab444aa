// A filter of system calls (seccomp): calls that sessions do not need fail with EPERM, all others stay allowed.
#pragma once

namespace opd::rpc {

struct SyscallFilter {
  bool network = false;    // whether new connections are allowed
  bool truncates = false;  // whether truncate() is left to Landlock
};

bool has_syscall_filters();  // in this kernel, for this kind of processor

// Of the thread, and of all that it starts; it needs no_new_privs. Cannot be undone.
void enter_syscall_filter(const SyscallFilter &filter);

}  // namespace opd::rpc
