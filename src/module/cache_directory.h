// Where compiled sources are kept: a directory that only its owner can write to, since what lies in it will be
// executed.
#pragma once
#include <string>

namespace opd {

// `wanted` if not empty, else $OPDYNO_CACHE_DIR, $XDG_CACHE_HOME/opdyno, ~/.cache/opdyno, /tmp/opdyno-<user>. Made if
// absent, with mode 0700. A directory that was asked for and cannot be used is OPD_IO; of the others the next one is
// tried.
std::string cache_directory(const std::string &wanted);

}  // namespace opd
