// A shared library's bytes, which are checked and then loaded. For a file they are a snapshot in memory, which is
// independent of later changes of the file. Once its symbols are bound, dlopen() maps the snapshot itself.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/object.h"
#include "module/elf/elf_file.h"
#include "module/image/library_copy.h"

namespace opd {

// Identifies a version of a file without reading it.
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
  // Throws OPD_BAD_FORMAT or OPD_UNSUPPORTED, like ElfFile.
  explicit LibraryImage(const InputFile &file);
  LibraryImage(Bytes bytes, const std::string &name);  // `bytes` must stay valid until it is loaded

  const ElfFile &file() const { return *file_; }

  // Makes the image ready for dlopen(): in memory, else in the first usable one of `directories`, which is called only
  // then. Does nothing if the image is ready.
  using Directories = std::function<std::vector<std::string>()>;
  void prepare(const std::vector<LibraryCopy::Edit> &edits, const Directories &directories);
  bool is_prepared() const { return prepared_; }
  const std::string &path() const { return copy_.path(); }  // path for dlopen()
  LibraryCopy &copy() { return copy_; }

  // Whether this image is still valid for `path`, whose file is in this state. False also if that is uncertain.
  bool is_of(const std::string &path, const FileState &state) const;
  bool may_serve_again() const { return origin_ && prepared_; }
  const std::string &name() const { return file_->name(); }
  // Estimated memory: the bytes, and the objects in derived().
  size_t memory_bytes() const { return 2 * file_->bytes().size(); }

  // A slot for each embedded module. The module's loader may keep an object there for the next load of the same bytes.
  std::vector<Ref<Object>> &derived() { return derived_; }

 private:
  LibraryCopy copy_;
  std::optional<MappedFile> mapped_;  // maps the copy
  std::string content_;               // used if there is no copy in memory
  std::optional<FileState> origin_;   // state of the file; set only if it is reliable and the copy is in memory
  std::optional<ElfFile> file_;
  std::vector<Ref<Object>> derived_;
  bool prepared_ = false;
};

}  // namespace opd
