// What compilers and linkers make, on its way into the cache directory: a directory for the work, files that show
// damage.
#pragma once
#include <optional>
#include <string>

namespace opd {

// A new directory in `parent`, which goes away with what is in it; or `parent` itself, which is made if need be and
// stays. A new one is locked as long as it is in use: what a process that was killed left behind has no lock, and goes
// away when the next one is made.
class BuildDirectory {
 public:
  explicit BuildDirectory(const std::string &parent, bool is_itself = false);
  ~BuildDirectory();
  BuildDirectory(const BuildDirectory &) = delete;
  BuildDirectory &operator=(const BuildDirectory &) = delete;

  const std::string &path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // A tool's words without the directory's name, which says nothing to the user.
  std::string shown(std::string text) const;

 private:
  void make_in(const std::string &parent);

  std::string path_;
  bool stays_;
  int lock_ = -1;
};

// The content of a kept library without its seal; nothing if it is absent or not as it was written.
std::optional<std::string> read_sealed(const std::string &path);
struct KeptLibrary {
  std::string path, content;
};
// Seals a library and moves it to `directory`: as `key`.so, or where `key` is "" under the hash of its content, by
// which nobody looks for it. Others that keep the same one at once do no harm.
KeptLibrary keep_sealed(const std::string &library, const std::string &directory, const std::string &key);

}  // namespace opd
