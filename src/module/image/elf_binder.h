// Maps a shared library and binds the TVM functions that it calls to opdyno's functions, regardless of other libraries
// in the process.
//
// The library gets a private copy in which its undefined TVM symbols have the addresses of opdyno's functions. If the
// loader ignores that, or there is no copy, its slots are overwritten once it is mapped. Its references to its own
// slots are bound to these slots, so that a library opened with RTLD_GLOBAL cannot replace them.
// Cost: about 40 µs. If the library cache has no image, 0.2 ms per MB more.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "module/image/call_hooks.h"
#include "module/image/library_image.h"
#include "module/module.h"

namespace opd {

// A mapped library. The destructor unmaps it.
class ElfLibrary {
 public:
  // `path` is "" for bytes from memory. The names in the image must have passed require_loadable().
  ElfLibrary(const std::shared_ptr<LibraryImage> &image, const std::string &path, const ModuleOptions &options);
  ~ElfLibrary();
  ElfLibrary(const ElfLibrary &) = delete;
  ElfLibrary &operator=(const ElfLibrary &) = delete;

  char *base() const { return base_; }  // memory address of the file's address 0
  bool is_copy() const { return image_ != nullptr; }
  void *symbol(const char *name) const;        // searches the libraries it is linked against, too; null if absent
  void *own_function(const char *name) const;  // searches only its own code
  // The slots through which its code calls its own functions whose names start with `prefix`.
  std::vector<CallHooks::Slot> slots_of_own_functions(const ElfFile &file, std::string_view prefix) const;

 private:
  void open(const std::shared_ptr<LibraryImage> &image, const std::string &path, const ModuleOptions &options);
  void open_copy(const std::shared_ptr<LibraryImage> &image, const std::string &path, const ModuleOptions &options);
  void open_in_place(const ElfFile &file, const std::string &path, int flags);
  void require_resolved(const ElfFile &file) const;
  void patch(const ElfFile &file);
  void initialise(const ElfFile &file) const;
  void write_slot(const ElfFile &file, uint64_t address, void *value);
  bool is_read_only(const ElfFile &file, uint64_t address) const;
  void close() noexcept;

  std::shared_ptr<LibraryImage> image_;  // null if the file itself is mapped
  void *handle_ = nullptr;
  char *base_ = nullptr;
  std::vector<AddressRange> code_;
};

}  // namespace opd
