#include "rpc/sandbox/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"

namespace opd::rpc {
namespace {

// Constants are defined here, because the kernel headers of the build machine may be older than the kernel. The numbers
// are the same on all architectures.
constexpr long kCreateRules = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint32_t kAskVersion = 1;
constexpr int kPathBeneath = 1;

struct Rules {
  uint64_t files, network, scopes;
};
struct [[gnu::packed]] PathRule {
  uint64_t access;
  int32_t parent;
};

enum : uint64_t {
  kRunFile = 1 << 0,
  kWriteFile = 1 << 1,
  kReadFile = 1 << 2,
  kReadDirectory = 1 << 3,
  kRemoveDirectory = 1 << 4,
  kRemoveFile = 1 << 5,
  kMakeDirectory = 1 << 7,
  kMakeRegular = 1 << 8,
  kMakeSocket = 1 << 9,
  kMakeFifo = 1 << 10,
  kMakeSymlink = 1 << 12,
  kRefer = 1 << 13,     // since version 2: rename to another directory
  kTruncate = 1 << 14,  // since version 3
  kControl = 1 << 15,   // since version 5: ioctl() of devices
};
constexpr uint64_t kOfFiles = kRunFile | kWriteFile | kReadFile | kTruncate | kControl;  // rights that apply to files
constexpr uint64_t kAll = (1 << 16) - 1;
constexpr uint64_t kTcp = 3, kScopes = 3;  // bind and connect; abstract sockets and signals

uint64_t known_to(int version) {
  if (version >= 5) return kAll;
  if (version >= 3) return kAll & ~kControl;
  return version == 2 ? kAll & ~(kControl | kTruncate) : kAll & ~(kControl | kTruncate | kRefer);
}

uint64_t rights_of(Landlock::Access access) {
  constexpr uint64_t kReading = kReadFile | kReadDirectory;
  switch (access) {
    case Landlock::kList:
      return kReadDirectory;
    case Landlock::kRead:
      return kReading;
    case Landlock::kExecute:
      return kReading | kRunFile;
    case Landlock::kDevice:
      return kReading | kWriteFile | kControl;
    case Landlock::kOwn:
      return kReading | kWriteFile | kTruncate | kRefer | kRemoveDirectory | kRemoveFile | kMakeDirectory |
             kMakeRegular | kMakeSocket | kMakeFifo | kMakeSymlink;
  }
  return 0;
}

}  // namespace

int landlock_version(std::string &out_reason) {
  const long version = ::syscall(kCreateRules, nullptr, 0, kAskVersion);
  if (version > 0) return static_cast<int>(version);
  out_reason = version == 0 || errno == ENOSYS ? "this kernel has no Landlock"
               : errno == EOPNOTSUPP           ? "this kernel was started without Landlock"
                                               : concat("Landlock cannot be used: ", error_text(errno));
  return 0;
}

Landlock::Landlock(int version, bool network) : version_(version) {
  const Rules rules{known_to(version), version >= kLandlockNetwork && !network ? kTcp : 0,
                    version >= kLandlockScopes ? kScopes : 0};
  rules_ = static_cast<int>(::syscall(kCreateRules, &rules, sizeof rules, 0));
  if (rules_ < 0) fail(OPD_IO, "cannot restrict the session to its files by Landlock: ", error_text(errno));
}

Landlock::~Landlock() { ::close(rules_); }

bool Landlock::allow(const std::string &path, Access access) {
  const int file = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  struct stat info {};
  if (file < 0) return false;
  uint64_t rights = rights_of(access) & known_to(version_);
  if (::fstat(file, &info) == 0 && !S_ISDIR(info.st_mode)) rights &= kOfFiles;
  const PathRule rule{rights, file};
  const bool is_added = !rights || ::syscall(kAddRule, rules_, kPathBeneath, &rule, 0) == 0;
  const int error = errno;
  ::close(file);
  if (!is_added) fail(OPD_IO, "cannot allow the session to use ", path, " by Landlock: ", error_text(error));
  return true;
}

void Landlock::enter() {
  if (::syscall(kRestrictSelf, rules_, 0))
    fail(OPD_IO, "cannot restrict the session to its files by Landlock: ", error_text(errno));
}

}  // namespace opd::rpc
