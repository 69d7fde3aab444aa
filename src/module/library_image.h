// A shared library's bytes as they are checked and then loaded: of a file, a snapshot in memory that nobody else can
// change or cut short, which dlopen() then maps itself once its symbols are bound.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/object.h"
#include "module/elf_file.h"
#include "module/library_copy.h"

namespace opd {

// Which content a file had, as far as that shows without reading it.
struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec modified{}, changed{};

  explicit FileState(const struct stat &info);
  bool operator==(const FileState &other) const;
};

class LibraryImage {
 public:
  // Throws OPD_BAD_FORMAT or OPD_UNSUPPORTED as ElfFile does.
  explicit LibraryImage(const InputFile &file);
  LibraryImage(Bytes bytes, const std::string &name);  // `bytes` are needed until it is loaded

  const ElfFile &file() const { return *file_; }

  // Makes it ready for dlopen(): in memory, or else in the first of `directories` that will do, which are asked for
  // only then. Does nothing when it is.
  using Directories = std::function<std::vector<std::string>()>;
  void prepare(const std::vector<LibraryCopy::Edit> &edits, const Directories &directories);
  bool is_prepared() const { return prepared_; }
  const std::string &path() const { return copy_.path(); }  // for dlopen()
  LibraryCopy &copy() { return copy_; }

  // Whether another load of `path` would find these bytes there now; never for what cannot be told or loaded again.
  bool is_of(const std::string &path, const FileState &state) const;
  bool may_serve_again() const { return origin_ && prepared_; }
  const std::string &name() const { return file_->name(); }
  // Memory that it may take: the bytes, and what was derived() from them.
  size_t memory_bytes() const { return 2 * file_->bytes().size(); }

  // What the loader of embedded module number i made of its bytes and may use the next time. One slot each.
  std::vector<Ref<Object>> &derived() { return derived_; }

 private:
  LibraryCopy copy_;
  std::optional<MappedFile> mapped_;  // of the copy
  std::string content_;               // where memory cannot hold a file
  std::optional<FileState> origin_;   // of the file, if that can be relied on and the copy is in memory
  std::optional<ElfFile> file_;
  std::vector<Ref<Object>> derived_;
  bool prepared_ = false;
};

}  // namespace opd
