// Any bytes as a tar archive: refused, or files inside it whose contents survive being written and read again.
#include <cstdlib>

#include "module/tar_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace opd;
  std::vector<TarEntry> entries;
  try {
    entries = read_tar({data, size}, "any.tar");
  } catch (const Exception &e) {
    if (!*e.what() || e.error()->code != OPD_BAD_FORMAT) std::abort();
    return 0;
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    std::string &name = entries[i].name;
    if (name.empty() || name[0] == '/' || name == ".." || name.starts_with("../") || name.ends_with("/.."))
      std::abort();
    if (name.find("/../") != std::string::npos || name.find('\0') != std::string::npos) std::abort();
    name = concat("file", i);  // others may be too long to be written, or start as a compressed archive does
  }
  const std::string written = write_tar(entries);
  const auto again = read_tar(as_bytes(written), "again.tar");
  if (again.size() != entries.size()) std::abort();
  for (size_t i = 0; i < entries.size(); ++i)
    if (again[i].name != entries[i].name || again[i].content != entries[i].content) std::abort();
  return 0;
}
