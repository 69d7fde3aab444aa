// A shared library's bytes, which are checked and then loaded. For a file they are a snapshot in memory, which is
// independent of later changes of the file. Once its symbols are bound, dlopen() maps the snapshot itself.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/object.h"
#include "module/elf/elf_file.h"

namespace opd {

// A private file with an artifact's bytes. dlopen() maps it as a library that is separate from all others.
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
  LibraryCopy(LibraryCopy &&other) noexcept { *this = std::move(other); }
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
  bool is_of(const std::string &path, const FileState &state) const {
    return may_serve_again() && name() == path && *origin_ == state;
  }
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

// ---- the library cache
//
// It keeps the images of unloaded libraries. They save the next load of the same file from reading, checking and
// writing it again. While a library is loaded, its image is not in the cache, so two modules never share an image.
//
// The cache holds at most eight images and OPDYNO_KEPT_LIBRARIES_MB (32). It drops the least recently used images
// first. opd_memory_trim() of the host drops all images.

// Removes the image of a file in this state from the cache and returns it; null if there is none.
std::shared_ptr<LibraryImage> take_kept_image(const std::string &path, const FileState &state);
void keep_image(std::shared_ptr<LibraryImage> image) noexcept;  // the image must not be mapped
void drop_kept_images() noexcept;

}  // namespace opd
