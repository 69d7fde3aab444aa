// Tar archives as exporters of modules write them: POSIX ustar with the pax and GNU forms of long names, also
// compressed with gzip. Plain files only; whatever would reach beyond the archive is refused.
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

// Whether a file starts like one.
bool looks_like_tar(Bytes start);

// The files of an archive. `shown` is its name, for messages. Throws OPD_BAD_FORMAT with the offset for what is
// damaged, cut short or leads elsewhere: links, absolute paths, "..".
std::vector<TarEntry> read_tar(Bytes archive, const std::string &shown);

// The same bytes for the same files: without times and owners. Names have up to 100 bytes.
std::string write_tar(const std::vector<TarEntry> &entries);

}  // namespace opd
