// Tar archives as written by exporters of modules: POSIX ustar with the pax and GNU forms of long names, also
// compressed with gzip. Only plain files are supported; members that lead out of the archive are refused.
#pragma once
#include <string>
#include <vector>

#include "base/bytes.h"

namespace opd {

struct TarEntry {
  std::string name;
  std::string content;
};

// Whether a file starts like a tar archive, plain or compressed.
bool looks_like_tar(Bytes start);

// Returns the files of an archive. `shown`: its name in messages. Throws OPD_BAD_FORMAT with the offset if the archive
// is damaged or truncated, or has links, absolute paths or "..".
std::vector<TarEntry> read_tar(Bytes archive, const std::string &shown);

// Writes an archive. Equal files give equal bytes, because times and owners are left out. Names may have up to 100
// bytes.
std::string write_tar(const std::vector<TarEntry> &entries);

}  // namespace opd
