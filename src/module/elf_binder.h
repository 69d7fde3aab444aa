// Maps a shared library so that TVM's functions, as it calls them, are ours, whatever else is in the process.
//
// The library gets a private copy in which its undefined TVM symbols are defined at the addresses of our functions;
// where the loader does not honour that, and without a copy, its slots are overwritten once it is mapped. Its own slots
// for a loader's functions are bound to itself, since another artifact that somebody loaded for everybody would take
// their place otherwise. Cost: some 40 µs, and for a file that no kept image holds 0.2 ms per MB.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "module/call_hooks.h"
#include "module/library_image.h"
#include "module/module.h"

namespace opd {

// A mapped library; unmapped with the object.
class ElfLibrary {
 public:
  // `path` is "" for bytes from memory. The names in the image must have passed require_loadable().
  ElfLibrary(const std::shared_ptr<LibraryImage> &image, const std::string &path, const ModuleOptions &options);
  ~ElfLibrary();
  ElfLibrary(const ElfLibrary &) = delete;
  ElfLibrary &operator=(const ElfLibrary &) = delete;

  char *base() const { return base_; }  // what virtual addresses of the file are relative to
  bool is_copy() const { return image_ != nullptr; }
  void *symbol(const char *name) const;        // its own, or of a library it is linked against; null if absent
  void *own_function(const char *name) const;  // its own code only
  // Through which its code calls its own functions whose names start so.
  std::vector<CallHooks::Slot> slots_of_own_functions(const ElfFile &file, std::string_view prefix) const;

 private:
  void open(const std::shared_ptr<LibraryImage> &image, const std::string &path, const ModuleOptions &options);
  void open_copy(const std::shared_ptr<LibraryImage> &image, const std::string &path, const ModuleOptions &options);
  void open_in_place(const ElfFile &file, const std::string &path, int flags);
  void require_resolved(const ElfFile &file) const;
  void patch(const ElfFile &file);
  void write_slot(const ElfFile &file, uint64_t address, void *value);
  bool is_read_only(const ElfFile &file, uint64_t address) const;
  void close() noexcept;

  std::shared_ptr<LibraryImage> image_;  // if that is what is mapped, rather than the file
  void *handle_ = nullptr;
  char *base_ = nullptr;
  std::vector<AddressRange> code_;
};

}  // namespace opd
