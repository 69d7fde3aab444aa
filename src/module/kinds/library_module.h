// A shared library as a module: its functions named __tvm_ffi_<name>, and the slots that the loader must fill. Also a
// library that is only inspected.
#pragma once
#include <functional>
#include <memory>

#include "module/image/call_hooks.h"
#include "module/image/elf_binder.h"
#include "module/kernel_args.h"
#include "module/kinds/code_module.h"
#include "module/library_facts.h"

namespace opd {

class LibraryModule : public CodeModule {
 public:
  // Use make(). `mapped`: the library's path if it may be mapped without a copy. `file`: the file that it was made
  // from. Both are "" for bytes from memory.
  LibraryModule(const std::shared_ptr<LibraryImage> &image, const std::string &mapped, std::string file,
                const ModuleOptions &options);
  ~LibraryModule();
  static Ref<LibraryModule> make(const std::shared_ptr<LibraryImage> &image, const std::string &mapped,
                                 const std::string &file, const ModuleOptions &options);

  const char *kind() const override { return "library"; }
  const char *format() const override { return "so"; }
  // An export keeps the library's file, if there is one, because the bytes cannot be embedded.
  int32_t properties() const override { return OPD_MODULE_SERIALIZABLE | OPD_MODULE_RUNNABLE; }
  Ref<Function> find(std::string_view name) override;
  std::vector<std::string> list() override;
  std::string file() const override { return file_; }
  void describe(JsonWriter &json) override;
  void *symbol(const char *name) override { return library_.symbol(name); }

  // Returns the bytes of its file as they were loaded. Throws if they are not available any more.
  using Original = std::function<std::string()>;
  void set_original(Original original) { original_ = std::move(original); }
  // Makes an Original for a library that was compiled or linked here. `path` is its file in the cache directory; `name`
  // is the name of its source.
  static Original original_in_cache(std::string path, std::string name);
  bool is_linked_library() const override { return true; }
  std::string library_bytes() const override;
  [[noreturn]] static std::string fail_from_memory();

  CallHooks *call_hooks() override { return &call_hooks_; }
  std::vector<std::string_view> called_functions() const override;

 protected:
  void fill_slots(const ElfFile &file);

 private:
  std::string file_, release_, prefix_;  // `prefix_`: system_prefix()
  ElfLibrary library_;
  CallHooks call_hooks_;
  Original original_;
  bool checks_arguments_;  // its functions are C++ functions with tvm-ffi's headers
  struct OwnFunction {
    std::string_view name;  // without the prefix; points into the mapped library
    uint64_t bytes;
  };
  std::vector<OwnFunction> functions_;
  LibrarySizes sizes_;
  std::vector<Bytes> constants_;          // constants of the mapped library, without the embedded modules
  std::vector<std::string> with_places_;  // functions_with_places()
  std::vector<void **> contexts_;         // slots of the library that hold this module's address
};

// ---- a library loaded with ModuleOptions::inspect_only
//
// Its functions are listed, but cannot be called.

// `bytes` returns the library's bytes, as for a load. It is called only for an export.
using LibraryBytes = std::function<std::string()>;
Ref<Module> make_unloaded_library(LibraryFacts facts, std::string file, LibraryBytes bytes);

// Throws an error because a module loaded with inspect_only has no code.
[[noreturn]] void fail_not_loaded(std::string_view what, const std::string &file);

}  // namespace opd
