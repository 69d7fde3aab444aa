#include "base/file_identity.h"

#include <sys/stat.h>

#include "base/text.h"

namespace opd {

std::string file_identity(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) || !S_ISREG(info.st_mode)) return "";
  return concat(path, " ", info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

}  // namespace opd
