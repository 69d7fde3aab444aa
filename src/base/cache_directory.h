// The directory of compiled sources. Only its owner can write to it, since its files will be executed.
#pragma once
#include <string>

namespace opd {

// `wanted` if not empty, else $OPDYNO_CACHE_DIR, $XDG_CACHE_HOME/opdyno, ~/.cache/opdyno, /tmp/opdyno-<user>. Made if
// absent, with mode 0700. If one of the first two is set and cannot be used, throws OPD_IO; of the others, tries the
// next.
std::string cache_directory(const std::string &wanted);

}  // namespace opd
