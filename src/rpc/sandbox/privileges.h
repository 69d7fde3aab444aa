// The privileges that this process has by its user, and the limits of its resources.
#pragma once
#include <cstdint>
#include <string>

namespace opd::rpc {

// Makes the process that of another user, with this user's groups only; its capabilities go. Needs root. Throws
// OPD_NOT_FOUND if there is no such user.
void become_user(const std::string &name);
void require_user(const std::string &name);  // throws what become_user() would, and changes nothing

// For good, also in programs that the process starts. If it has no such privilege, that is no error.
void drop_capabilities();
void forbid_new_privileges();

void limit_cpu(int32_t seconds);    // of the process; SIGXCPU ends it
void limit_memory(uint64_t bytes);  // private memory of the process beyond what it has now

}  // namespace opd::rpc
