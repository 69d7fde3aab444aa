// Any bytes as a tar archive: refused, or files that can be written and read again.
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
  for (auto &entry : entries) {
    if (entry.name.find("..") == 0 || entry.name[0] == '/') {
      if (entry.name[0] == '/' || entry.name == ".." || entry.name.starts_with("../")) std::abort();
    }
    entry.name.resize(std::min<size_t>(entry.name.size(), 100));
  }
  try {
    if (read_tar(as_bytes(write_tar(entries)), "again").size() != entries.size()) std::abort();
  } catch (const Exception &) {
    for (const auto &entry : entries)  // a name that was cut may end in ".."
      if (entry.name.size() == 100) return 0;
    std::abort();
  }
  return 0;
}
