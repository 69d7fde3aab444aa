// What compilers and linkers make, on its way into the cache folder: a folder for the work, files that show damage.
#pragma once
#include <optional>
#include <string>

namespace opd {

// A new folder in `parent`, which goes away with what is in it; or `parent` itself, which is made if need be and stays.
class BuildFolder {
 public:
  explicit BuildFolder(const std::string &parent, bool is_itself = false);
  ~BuildFolder();
  BuildFolder(const BuildFolder &) = delete;
  BuildFolder &operator=(const BuildFolder &) = delete;

  const std::string &path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // A tool's words without the folder's name, which says nothing to the user.
  std::string shown(std::string text) const;

 private:
  std::string path_;
  bool stays_;
};

// The content of a kept library without its seal; nothing if it is absent or not as it was written.
std::optional<std::string> read_sealed(const std::string &path);
// Seals a library and moves it to `target`; gives its content. Others that keep the same one at once do no harm.
std::string keep_sealed(const std::string &library, const std::string &target);

}  // namespace opd
