// Files of the cache directory: compiled code, and after it a seal that shows damage.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace opd {

// The content of a sealed file; nullopt if the file is absent or damaged, belongs to another user, or may be written by
// others.
std::optional<std::string> read_sealed(const std::string &path);

struct KeptFile {
  std::string path, content;
};
// Seals a file and moves it to `directory` as `key` with the suffix. If `key` is "", the name is the hash of its
// content, under which no load looks for it. Several processes may do this at once with the same content.
KeptFile keep_sealed(const std::string &file, const std::string &directory, const std::string &key,
                     std::string_view suffix = ".so");

}  // namespace opd
