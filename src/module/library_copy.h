// A file of our own with an artifact's bytes, which dlopen() maps as a library that nobody else has.
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
  static LibraryCopy in_memory(const std::string &label);  // does not exist where memory may not be executed
  static LibraryCopy on_disk(const std::string &label,
                             const std::vector<std::string> &directories);  // the first one that will do
  ~LibraryCopy();
  LibraryCopy(LibraryCopy &&other) noexcept;
  LibraryCopy &operator=(LibraryCopy &&other) noexcept;

  bool exists() const { return fd_ >= 0; }
  void write(Bytes content, const std::vector<Edit> &edits) const;
  size_t fill_from(const InputFile &file) const;  // to its end, whatever size it claims; gives the number of bytes
  void seal() const;                              // a copy in memory stays as it is from here on, whoever opens it
  int fd() const { return fd_; }
  const std::string &path() const { return path_; }  // its name for dlopen()
  void loaded();                                     // to be called when it is mapped: a file on disk loses its name
  // Whether the loader still has it at that address, where it was.
  bool is_mapped(const char *base) const;
  // The loader tells libraries apart by name. One that stays mapped after dlclose() keeps its descriptor, whose number
  // is the name.
  void keep_forever() { fd_ = -1; }

 private:
  LibraryCopy(int fd, std::string path, bool on_disk) : fd_(fd), path_(std::move(path)), on_disk_(on_disk) {}

  int fd_ = -1;
  std::string path_;
  bool on_disk_ = false;
};

}  // namespace opd
