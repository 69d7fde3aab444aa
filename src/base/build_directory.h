// Working directories for compilers, linkers and writers of the cache directory.
#pragma once
#include <string>
#include <string_view>

namespace opd {

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
  std::string shown(std::string text) const;

 private:
  void make_in(const std::string &parent);

  std::string path_;
  bool stays_;
  int lock_ = -1;
};

}  // namespace opd
