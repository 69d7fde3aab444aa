#include "rpc/sandbox/sandbox.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "base/static_guard.h"

namespace opd::rpc {
namespace {

namespace fs = std::filesystem;

// ---- Landlock, a feature of the kernel: it restricts the files, ports, sockets and processes that a thread and its
// descendants can reach.

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
// First ABI versions with a restriction. Version 1 restricts files.
constexpr int kLandlockNetwork = 4, kLandlockScopes = 6;
constexpr uint64_t kTcp = 3, kScopes = 3;  // bind and connect; abstract sockets and signals

uint64_t known_to(int version) {
  if (version >= 5) return kAll;
  if (version >= 3) return kAll & ~kControl;
  return version == 2 ? kAll & ~(kControl | kTruncate) : kAll & ~(kControl | kTruncate | kRefer);
}

// The version of Landlock's ABI in this kernel. 0: Landlock is not available, and `out_reason` says why.
int landlock_version(std::string &out_reason) {
  const long version = ::syscall(kCreateRules, nullptr, 0, kAskVersion);
  if (version > 0) return static_cast<int>(version);
  out_reason = version == 0 || errno == ENOSYS ? "this kernel has no Landlock"
               : errno == EOPNOTSUPP           ? "this kernel was started without Landlock"
                                               : concat("Landlock cannot be used: ", error_text(errno));
  return 0;
}

class Landlock {
 public:
  enum Access { kList, kRead, kExecute, kDevice, kOwn };  // all but kList allow reading, too

  // `network`: TCP stays allowed
  Landlock(int version, bool network) : version_(version) {
    const Rules rules{known_to(version), version >= kLandlockNetwork && !network ? kTcp : 0,
                      version >= kLandlockScopes ? kScopes : 0};
    rules_ = Descriptor(static_cast<int>(::syscall(kCreateRules, &rules, sizeof rules, 0)));
    if (rules_.get() < 0) fail(OPD_IO, "cannot restrict the session to its files by Landlock: ", error_text(errno));
  }

  // Allows the access to a file, or to a directory with everything in it. False: the path does not exist, or this user
  // cannot reach it.
  bool allow(const std::string &path, Access access) {
    const Descriptor file(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat info {};
    if (file.get() < 0) return false;
    uint64_t rights = rights_of(access) & known_to(version_);
    if (::fstat(file.get(), &info) == 0 && !S_ISDIR(info.st_mode)) rights &= kOfFiles;
    const PathRule rule{rights, file.get()};
    if (rights && ::syscall(kAddRule, rules_.get(), kPathBeneath, &rule, 0))
      fail(OPD_IO, "cannot allow the session to use ", path, " by Landlock: ", error_text(errno));
    return true;
  }

  // restricts the calling thread for good; needs no_new_privs
  void enter() {
    if (::syscall(kRestrictSelf, rules_.get(), 0))
      fail(OPD_IO, "cannot restrict the session to its files by Landlock: ", error_text(errno));
  }

 private:
  static uint64_t rights_of(Access access) {
    constexpr uint64_t kReading = kReadFile | kReadDirectory;
    switch (access) {
      case kList:
        return kReadDirectory;
      case kRead:
        return kReading;
      case kExecute:
        return kReading | kRunFile;
      case kDevice:
        return kReading | kWriteFile | kControl;
      case kOwn:
        return kReading | kWriteFile | kTruncate | kRefer | kRemoveDirectory | kRemoveFile | kMakeDirectory |
               kMakeRegular | kMakeSocket | kMakeFifo | kMakeSymlink;
    }
    return 0;
  }

  const int version_;
  Descriptor rules_;
};

// ---- what a session may reach

// Paths of programs, libraries, headers and drivers. /etc also has secrets, so only the files that loaders and drivers
// read are listed.
constexpr const char *kPrograms[] = {"/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin"};
constexpr const char *kFurtherPrograms[] = {"/opt", "/nix/store", "/gnu/store", "/run/opengl-driver",
                                            "/run/current-system"};
constexpr const char *kReadable[] = {
    "/proc",
    "/sys",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/alternatives",
    "/etc/OpenCL",
    "/etc/vulkan",
    "/etc/glvnd",
    "/etc/drirc",
    "/etc/nvidia",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/papi",
    "/etc/clang",
};
constexpr const char *kDevices[] = {
    "/dev/null", "/dev/zero",    "/dev/full",  "/dev/random", "/dev/urandom",  "/dev/dri",     "/dev/accel",
    "/dev/kfd",  "/dev/nvidia*", "/dev/mali*", "/dev/kgsl*",  "/dev/dma_heap", "/dev/udmabuf", "/dev/dxg",
};

std::string resolved(const std::string &path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  return error ? "" : found.string();
}

// This user's home directories: from the user database and from $HOME.
std::vector<std::string> home_directories() {
  std::vector<std::string> homes;
  char buffer[4096];
  passwd entry{}, *found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found && found->pw_dir)
    homes.push_back(resolved(found->pw_dir));
  homes.push_back(resolved(environment("HOME")));
  std::erase_if(homes, [](const std::string &home) { return home.empty() || home == "/"; });
  return homes;
}

bool lies_in(const std::string &path, const std::string &directory) {
  return directory == "/" || path == directory || path.starts_with(directory + "/");
}

std::string folder_of(const std::string &file) { return fs::path(file).parent_path().string(); }

// The folders of this library and of the program, and those in LD_LIBRARY_PATH.
std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  static const int here = 0;
  if (Dl_info info{}; ::dladdr(&here, &info) && info.dli_fname) folders.push_back(folder_of(resolved(info.dli_fname)));
  folders.push_back(folder_of(resolved("/proc/self/exe")));
  const std::string told = environment("LD_LIBRARY_PATH");
  for (size_t at = 0; at <= told.size();) {
    const size_t end = std::min(told.find_first_of(":;", at), told.size());
    if (const std::string one = told.substr(at, end - at); one.starts_with('/')) folders.push_back(resolved(one));
    at = end + 1;
  }
  std::erase(folders, "");
  return folders;
}

void allow_programs(Landlock &rules) {
  for (const char *path : kPrograms) rules.allow(path, Landlock::kExecute);
  const std::vector<std::string> homes = home_directories();
  std::vector<std::string> further(std::begin(kFurtherPrograms), std::end(kFurtherPrograms));
  for (std::string &folder : library_folders()) further.push_back(std::move(folder));
  // If a library lies directly in the home directory, this must not allow the whole directory.
  for (const std::string &folder : further)
    if (std::ranges::none_of(homes, [&](const std::string &home) { return lies_in(home, folder); }))
      rules.allow(folder, Landlock::kExecute);
}

void allow_devices(Landlock &rules) {
  rules.allow("/dev", Landlock::kList);
  glob_t found{};
  for (const char *const pattern : kDevices) ::glob(pattern, pattern == kDevices[0] ? 0 : GLOB_APPEND, nullptr, &found);
  for (size_t i = 0; i < found.gl_pathc; ++i) rules.allow(found.gl_pathv[i], Landlock::kDevice);
  ::globfree(&found);
}

void allow_files(Landlock &rules, const SandboxOptions &options, const std::string &folder) {
  allow_programs(rules);
  allow_devices(rules);
  for (const char *path : kReadable) rules.allow(path, Landlock::kRead);
  for (const std::string &path : options.read_paths)
    if (!rules.allow(path, Landlock::kExecute)) fail_errno("cannot let the session read", path, errno ? errno : ENOENT);
  if (!rules.allow(folder, Landlock::kOwn)) fail_errno("cannot let the session use", folder, errno);
}

// This user's caches contain code that the user's programs run, so a session has its own caches.
void move_environment(const std::string &folder) {
  const std::string cache = folder + "/.cache", temporary = folder + "/.tmp";
  for (const std::string &directory : {cache, temporary})
    if (::mkdir(directory.c_str(), 0700) && errno != EEXIST) fail_errno("cannot make", directory, errno);
  const auto set = [](const char *name, const std::string &value) { ::setenv(name, value.c_str(), 1); };
  set("HOME", folder), set("TMPDIR", temporary), set("XDG_CACHE_HOME", cache),
      set("OPDYNO_CACHE_DIR", cache + "/opdyno");
  for (const char *name : {"TMP", "TEMP", "CCACHE_DIR", "POCL_CACHE_DIR", "CUDA_CACHE_PATH", "XDG_CONFIG_HOME",
                           "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"})
    ::unsetenv(name);
}

void require_one_thread() {
#if !defined(OPD_RACE_DETECTOR)  // the detector has a thread of its own
  std::error_code error;
  const auto all = fs::directory_iterator("/proc/self/task", error);
  const auto count = error ? 1 : std::distance(fs::begin(all), fs::end(all));
  if (count > 1)
    fail(OPD_FAILED_PRECONDITION,
         "a sandbox is for a process with one thread, such as a child of fork(); this one has ",
         static_cast<int64_t>(count));
#endif
}

}  // namespace

SandboxFacts sandbox_facts(const SandboxOptions &options) {
  SandboxFacts facts;
  std::string reason;
  const int version = landlock_version(reason);
  const bool filters = has_syscall_filters();
  if (version) facts.enforced.push_back(concat("files (Landlock ABI ", version, ")"));
  else facts.missing.push_back(concat("files (", reason, ")"));
  if (filters) facts.enforced.push_back("system calls (seccomp)");
  else facts.missing.push_back("system calls (this kernel has no seccomp)");
  if (!options.network) {
    if (filters || version >= kLandlockNetwork) facts.enforced.push_back("no network");
    else facts.missing.push_back("the network");
  }
  if (version >= kLandlockScopes) facts.enforced.push_back("no signals to others");
  else facts.missing.push_back("signals to others (Landlock ABI 6)");
  return facts;
}

void require_sandbox(const SandboxOptions &options) {
  for (const std::string &path : options.read_paths)
    if (::access(path.c_str(), F_OK)) fail_errno("cannot let sessions read", path, errno);
}

void enter_sandbox(const SandboxOptions &options, const std::string &folder) {
  require_one_thread();
  const std::string directory = fs::absolute(folder).string();  // programs may change the working directory
  std::string reason;
  const int version = landlock_version(reason);
  std::optional<Landlock> rules;
  if (version) allow_files(rules.emplace(version, options.network), options, directory);  // uses the old environment
  move_environment(directory);
  drop_capabilities();
  forbid_new_privileges();
  if (::prctl(PR_SET_DUMPABLE, 0)) fail(OPD_IO, "cannot keep the session's memory from others: ", error_text(errno));
  if (rules) rules->enter();
  constexpr int kTruncates = 3;  // the first version of Landlock that watches truncate()
  if (has_syscall_filters()) enter_syscall_filter({options.network, version >= kTruncates});
}

}  // namespace opd::rpc
