// The cache directory, which keeps compiled sources and compiled kernels. Only its owner can write to it, because its
// files will be executed. Also working directories for compilers, linkers and writers of the cache directory.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/content_hash.h"
#include "base/file.h"

namespace opd {

// Returns the first usable one of: `wanted`, $OPDYNO_CACHE_DIR, $XDG_CACHE_HOME/opdyno, ~/.cache/opdyno,
// /tmp/opdyno-<user>. If absent, it is made with mode 0700. If `wanted` or $OPDYNO_CACHE_DIR is set and cannot be used,
// throws OPD_IO.
std::string cache_directory(const std::string &wanted);

// ---- the directory's files
//
// A file is compiled code, followed by a seal that shows damage. $OPDYNO_KEPT_PROGRAMS_MB limits the MiB that all files
// of one suffix take together. The default is 256.

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

// ---- working directories

// A new directory in `parent`, which the destructor removes; or `parent` itself, which is created if absent and stays.
// A new directory is locked while it is in use. If a process was killed, its directory is no longer locked, and the
// next new one removes it.
class BuildDirectory {
 public:
  explicit BuildDirectory(const std::string &parent, bool is_itself = false);
  ~BuildDirectory();
  BuildDirectory(const BuildDirectory &) = delete;
  BuildDirectory &operator=(const BuildDirectory &) = delete;

  const std::string &path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Returns a tool's output without the directory's name, which would not help the user.
  std::string shown(std::string text) const {
    const std::string start = path_ + "/";
    for (size_t at = 0; (at = text.find(start, at)) != std::string::npos;) text.erase(at, start.size());
    return text;
  }

 private:
  void make_in(const std::string &parent);

  std::string path_;
  bool stays_;
  Descriptor lock_;
};

// ---- compiled kernels
//
// Kernels are kept in the cache directory, so that later loads need no compiler. If $OPDYNO_KEPT_PROGRAMS_MB is 0, none
// is kept or read.

class KeptProgram {
 public:
  // `wanted`: the cache directory, or "" for the default one. If it cannot be used, nothing is kept. `made_of`: hash of
  // everything that determines the code.
  KeptProgram(std::string_view wanted, const ContentHash &made_of);

  // nullopt if there is no file, or if it is damaged or belongs to another user.
  std::optional<std::string> read() const {
    if (directory_.empty()) return std::nullopt;
    try {
      return read_sealed(path());
    } catch (const std::exception &) { return std::nullopt; }
  }
  // Writes the file; a failure is not an error. Several processes may do this at once.
  void keep(std::string_view code) const;

 private:
  std::string path() const;

  size_t most_bytes_;
  std::string directory_;  // "" if nothing is kept
  const std::string key_;
};

}  // namespace opd
