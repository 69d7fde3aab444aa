// Tar archives as exporters of modules write them: POSIX ustar with the pax and GNU forms of long names, also
// compressed with gzip. Plain files only; members that lead out of the archive are refused.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace opd {

struct TarEntry {
  std::string name;
  std::string content;
};

// Whether a file starts like a tar archive, plain or compressed.
bool looks_like_tar(Bytes start);

// The files of an archive. `shown` is its name, for messages. Throws OPD_BAD_FORMAT with the offset if the archive is
// damaged or cut short, or has links, absolute paths or "..".
std::vector<TarEntry> read_tar(Bytes archive, const std::string &shown);

// Equal files give equal bytes, since times and owners are left out. Names have up to 100 bytes.
std::string write_tar(const std::vector<TarEntry> &entries);

}  // namespace opd
