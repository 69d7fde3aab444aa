// A private file with an artifact's bytes. dlopen() maps it as a library that is separate from all others.
#pragma once
#include <string>
#include <vector>

#include "base/file.h"

namespace opd {

class LibraryCopy {
 public:
  struct Edit {  // `data` replaces the bytes at `offset`
    uint64_t offset;
    std::string data;
  };

  LibraryCopy() = default;
  static LibraryCopy in_memory(const std::string &label);  // exists() is false if it may not be executed
  static LibraryCopy on_disk(const std::string &label,
                             const std::vector<std::string> &directories);  // uses the first usable directory
  ~LibraryCopy();
  LibraryCopy(LibraryCopy &&other) noexcept;
  LibraryCopy &operator=(LibraryCopy &&other) noexcept;

  bool exists() const { return fd_ >= 0; }
  void write(Bytes content, const std::vector<Edit> &edits) const;
  size_t fill_from(const InputFile &file) const;  // copies the whole file; returns its size
  void seal() const;                              // makes a copy in memory immutable
  int fd() const { return fd_; }
  const std::string &path() const { return path_; }  // its name for dlopen()
  void loaded();                                     // call it when mapped; deletes the name on disk
  // Whether the loader still has the copy mapped at `base`.
  bool is_mapped(const char *base) const;
  // The loader identifies libraries by name. If one stays mapped after dlclose(), its descriptor must stay open,
  // because the name contains the descriptor's number.
  void keep_forever() { fd_ = -1; }

 private:
  LibraryCopy(int fd, std::string path, bool on_disk) : fd_(fd), path_(std::move(path)), on_disk_(on_disk) {}

  int fd_ = -1;
  std::string path_;
  bool on_disk_ = false;
};

}  // namespace opd
