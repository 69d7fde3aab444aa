// The directory of compiled sources. Only its owner can write to it, because its files will be executed.
#pragma once
#include <string>

namespace opd {

// Returns the first usable one of: `wanted`, $OPDYNO_CACHE_DIR, $XDG_CACHE_HOME/opdyno, ~/.cache/opdyno,
// /tmp/opdyno-<user>. If absent, it is made with mode 0700. If `wanted` or $OPDYNO_CACHE_DIR is set and cannot be used,
// throws OPD_IO.
std::string cache_directory(const std::string &wanted);

}  // namespace opd
