// Which file a path means, and its state: for compilers and their libraries, which may keep their version when they are
// updated in place.
#pragma once
#include <string>

namespace opd {

// Path, inode, size and time of the last change; "" if the path means no regular file.
std::string file_identity(const std::string &path);

}  // namespace opd
