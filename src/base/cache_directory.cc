#include "base/cache_directory.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/file.h"

namespace opd {
namespace {

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string home_directory() {
  if (const std::string home = environment("HOME"); home.starts_with('/')) return home;
  char buffer[4096];
  passwd entry{}, *found = nullptr;
  return ::getpwuid_r(::geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found && found->pw_dir ? found->pw_dir
                                                                                                         : "";
}

// Makes the directory if absent. Returns "" if this user owns it and can use it, and no other user can write to it.
// Otherwise returns the reason.
std::string make_private(const std::string &directory) {
  for (size_t at = 1; at != std::string::npos;) {
    at = directory.find('/', at);
    const std::string part = directory.substr(0, at);
    if (::mkdir(part.c_str(), 0700) && errno != EEXIST) return concat("cannot make ", part, ": ", error_text(errno));
    if (at != std::string::npos) ++at;
  }
  struct stat info {};
  if (::stat(directory.c_str(), &info) || !S_ISDIR(info.st_mode)) return concat(directory, " is not a directory");
  if (info.st_uid != ::geteuid()) return concat(directory, " belongs to another user");
  if (info.st_mode & (S_IWGRP | S_IWOTH)) return concat("others may write to ", directory, ": run chmod 700 on it");
  if (::access(directory.c_str(), R_OK | W_OK | X_OK))
    return concat("cannot write to ", directory, ": ", error_text(errno));
  return "";
}

}  // namespace

std::string cache_directory(const std::string &wanted) {
  const std::string chosen = wanted.empty() ? environment("OPDYNO_CACHE_DIR") : wanted;
  if (!chosen.empty()) {
    const std::string problem = make_private(chosen);
    if (!problem.empty()) fail(OPD_IO, "the cache directory cannot be used: ", problem);
    return chosen;
  }
  std::vector<std::string> usual;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); xdg.starts_with('/')) usual.push_back(xdg + "/opdyno");
  if (const std::string home = home_directory(); !home.empty()) usual.push_back(home + "/.cache/opdyno");
  usual.push_back(concat("/tmp/opdyno-", ::geteuid()));
  std::string problems;
  for (const auto &directory : usual) {
    const std::string problem = make_private(directory);
    if (problem.empty()) return directory;
    problems += concat(problems.empty() ? "" : "; ", problem);
  }
  fail(OPD_IO, "no cache directory can be used: ", problems, "; set OPDYNO_CACHE_DIR");
}

}  // namespace opd
