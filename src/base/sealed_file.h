// Files of the cache directory: compiled code, and after it a seal that shows damage. $OPDYNO_KEPT_PROGRAMS_MB says how
// many MiB those of one suffix may take together: 256 if it is not set.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace opd {

size_t most_kept_bytes();

// The content of a sealed file, which is used now; nullopt if the file is absent or damaged, belongs to another user,
// or may be written by others.
std::optional<std::string> read_sealed(const std::string &path);

struct KeptFile {
  std::string path, content;
};
// Seals a file and moves it to `directory` as `key` with the suffix. If `key` is "", the name is the hash of its
// content, under which no load looks for it. Several processes may do this at once with the same content. If there is
// no room for it, removes files of the suffix that were used longest ago.
KeptFile keep_sealed(const std::string &file, const std::string &directory, const std::string &key,
                     std::string_view suffix = ".so");

}  // namespace opd
