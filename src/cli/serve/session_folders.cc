#include "cli/serve/session_folders.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view start = "opdyno-serve-";

Descriptor locked(const std::string &directory) {
  Descriptor opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  const bool is_ours = opened && fstat(opened.get(), &info) == 0 && info.st_uid == geteuid();
  return is_ours && flock(opened.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(opened) : Descriptor();
}

void remove_abandoned(const fs::path &parent) {
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(parent, ignored))
    if (entry.path().filename().string().starts_with(start))
      if (const Descriptor held = locked(entry.path().string())) fs::remove_all(entry.path(), ignored);
}

}  // namespace

SessionFolders::SessionFolders(const std::string &user) : user_(user) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) fail_errno("use", "the directory for temporary files", error.value());
  remove_abandoned(parent);
  do {
    path_ = (parent / cat(start, "XXXXXX")).string();
    if (!mkdtemp(path_.data())) fail_errno("make a directory in", parent.string(), errno);
    lock_ = locked(path_);
  } while (!lock_ && access(path_.c_str(), F_OK));  // before it was locked, another server may have removed it
  constexpr mode_t to_pass_through = 0711;
  if (!user_.empty() && chmod(path_.c_str(), to_pass_through)) fail_errno("open", path_, errno);
}

SessionFolders::~SessionFolders() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string SessionFolders::path_of(int64_t session) const { return cat(path_, "/", session); }

std::string SessionFolders::make(int64_t session) {
  std::string path = path_of(session);
  if (mkdir(path.c_str(), S_IRWXU)) fail_errno("make", path, errno);
  if (const passwd *const owner = user_.empty() ? nullptr : getpwnam(user_.c_str()))
    if (chown(path.c_str(), owner->pw_uid, owner->pw_gid)) fail_errno("give away", path, errno);
  return path;
}

// The session's programs change files meanwhile, and may try to mislead the server.
uint64_t SessionFolders::bytes_of(int64_t session, uint64_t most) const {
  constexpr uint64_t least = 4096, block = 512;  // an empty file takes space, too
  uint64_t bytes = 0;
  std::vector<fs::path> directories = {path_of(session)};
  while (!directories.empty() && bytes <= most) {
    std::error_code error;
    fs::directory_iterator file(directories.back(), error);
    directories.pop_back();
    for (; !error && file != fs::directory_iterator(); file.increment(error)) {
      struct stat info {};
      if (lstat(file->path().c_str(), &info)) continue;  // the file is gone
      bytes += std::max(least, static_cast<uint64_t>(info.st_blocks) * block);
      if (S_ISDIR(info.st_mode)) directories.push_back(file->path());
    }
    if (error && error != std::errc::no_such_file_or_directory) return UINT64_MAX;
  }
  return bytes;
}

void SessionFolders::remove(int64_t session) {
  std::error_code ignored;
  fs::remove_all(path_of(session), ignored);
}

}  // namespace opd::cli
