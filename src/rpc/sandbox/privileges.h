// The user, privileges and resource limits of this process.
#pragma once
#include <cstdint>
#include <string>

namespace opd::rpc {

// Changes the process to another user, with only that user's primary group and without capabilities. Needs root. Throws
// OPD_NOT_FOUND if there is no such user.
void become_user(const std::string &name);
void require_user(const std::string &name);  // throws if become_user() would, but changes nothing

// These are permanent, also in programs that the process starts. Having no such privilege is not an error.
void drop_capabilities();
void forbid_new_privileges();

void limit_cpu(int32_t seconds);    // CPU time of the process; then SIGXCPU ends it
void limit_memory(uint64_t bytes);  // private memory in addition to what the process has now

}  // namespace opd::rpc
