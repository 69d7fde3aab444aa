// The directory of compiled sources. Only its owner can write to it, because its files will be executed.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace opd {

// Returns the first usable one of: `wanted`, $OPDYNO_CACHE_DIR, $XDG_CACHE_HOME/opdyno, ~/.cache/opdyno,
// /tmp/opdyno-<user>. If absent, it is made with mode 0700. If `wanted` or $OPDYNO_CACHE_DIR is set and cannot be used,
// throws OPD_IO.
std::string cache_directory(const std::string &wanted);

// ---- its files: compiled code, followed by a seal that shows damage. $OPDYNO_KEPT_PROGRAMS_MB limits the MiB that all
// files of one suffix take together; the default is 256.

size_t most_kept_bytes();

// Returns the content of a sealed file and marks it as used. nullopt if the file is absent or damaged, belongs to
// another user, or is writable by others.
std::optional<std::string> read_sealed(const std::string &path);

struct KeptFile {
  std::string path, content;
};
// Seals a file and moves it to `directory` as `key` with the suffix. If `key` is "", the name is the hash of its
// content, which no load looks for. Several processes may do this at once with the same content. If there is no room,
// removes the least recently used files of the suffix.
KeptFile keep_sealed(const std::string &file, const std::string &directory, const std::string &key,
                     std::string_view suffix = ".so");

}  // namespace opd
