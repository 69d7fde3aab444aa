// Changes the user of a session's process, drops its capabilities, and limits its CPU time and memory.
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "rpc/sandbox/sandbox.h"

namespace opd::rpc {
namespace {

struct User {
  uid_t user;
  gid_t group;
};

User find_user(const std::string &name) {
  std::vector<char> buffer(1 << 16);
  passwd entry{}, *found = nullptr;
  ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (!found) fail(OPD_NOT_FOUND, "there is no user \"", name, "\" here");
  return {found->pw_uid, found->pw_gid};
}

// No kernel has more capabilities, because its sets have 64 bits.
constexpr int kMostCapabilities = 64;

void limit(int resource, rlim_t soft, rlim_t hard, const char *what) {
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &now);
  const rlimit wanted{std::min(soft, now.rlim_max), std::min(hard, now.rlim_max)};
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &wanted))
    fail(OPD_IO, "cannot limit ", what, " of the session: ", error_text(errno));
}

// The bytes that RLIMIT_DATA counts.
uint64_t private_memory() {
  const std::string status = read_file("/proc/self/status");
  constexpr std::string_view kLine = "\nVmData:";
  const size_t at = status.find(kLine);
  uint64_t kibibytes = 0;
  if (at == status.npos)
    fail(OPD_UNSUPPORTED, "cannot limit the memory of the session: /proc/self/status has no VmData");
  const char *begin = status.data() + at + kLine.size(), *const end = status.data() + status.size();
  while (begin < end && (*begin == ' ' || *begin == '\t')) ++begin;
  std::from_chars(begin, end, kibibytes);
  return kibibytes << 10;
}

}  // namespace

void require_user(const std::string &name) {
  const User wanted = find_user(name);
  if (::geteuid() != 0 && ::geteuid() != wanted.user)
    fail(OPD_FAILED_PRECONDITION, "only a server of root can serve as another user, and not as ", name);
}

void become_user(const std::string &name) {
  require_user(name);
  const User wanted = find_user(name);
  if (::geteuid() == wanted.user) return;
  int signal = 0;  // parent-death signal, which a change of the user clears
  ::prctl(PR_GET_PDEATHSIG, &signal);
  if (::setgroups(1, &wanted.group) || ::setresgid(wanted.group, wanted.group, wanted.group) ||
      ::setresuid(wanted.user, wanted.user, wanted.user))
    fail(OPD_IO, "cannot serve as the user ", name, ": ", error_text(errno));
  ::prctl(PR_SET_PDEATHSIG, signal);
}

void drop_capabilities() {
  // The bounding set comes first, because changing it needs a capability. Otherwise a program could regain
  // capabilities.
  for (int one = 0; one < kMostCapabilities; ++one)
    if (::prctl(PR_CAPBSET_READ, one) == 1) ::prctl(PR_CAPBSET_DROP, one);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none))
    fail(OPD_IO, "cannot take the capabilities from the session: ", error_text(errno));
}

void forbid_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    fail(OPD_IO, "cannot keep the session from getting privileges: ", error_text(errno));
}

void limit_cpu(int32_t seconds) {
  const auto soft = static_cast<rlim_t>(seconds);
  limit(RLIMIT_CPU, soft, soft + 1, "the CPU time");  // a second later the kernel sends SIGKILL
}

void limit_memory(uint64_t bytes) {
  const uint64_t now = private_memory();
  const uint64_t most = bytes > RLIM_INFINITY - now ? RLIM_INFINITY : now + bytes;
  limit(RLIMIT_DATA, most, most, "the memory");
}

}  // namespace opd::rpc
