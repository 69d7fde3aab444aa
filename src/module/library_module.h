// A shared library as a module: its functions named __tvm_ffi_<name>, and the slots that it expects its loader to fill.
#pragma once
#include <memory>

#include "module/call_hooks.h"
#include "module/code_module.h"
#include "module/elf_binder.h"
#include "module/kernel_args.h"

namespace opd {

class LibraryModule : public CodeModule {
 public:
  // Use make(). `mapped` is the library's path where it may be mapped without a copy, `file` what it was made from; ""
  // for bytes from memory.
  LibraryModule(const std::shared_ptr<LibraryImage> &image, const std::string &mapped, std::string file,
                const ModuleOptions &options);
  ~LibraryModule();
  static Ref<LibraryModule> make(const std::shared_ptr<LibraryImage> &image, const std::string &mapped,
                                 const std::string &file, const ModuleOptions &options);

  const char *kind() const override { return "library"; }
  const char *format() const override { return "so"; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }  // what it was linked from is not kept
  Ref<Function> find(std::string_view name) override;
  std::vector<std::string> list() override;
  std::string file() const override { return file_; }
  void describe(JsonWriter &json) override;
  void *symbol(const char *name) override { return library_.symbol(name); }

  CallHooks &call_hooks() { return call_hooks_; }  // of its own functions

 protected:
  void fill_slots(const ElfFile &file);

 private:
  std::string file_, release_;
  ElfLibrary library_;
  CallHooks call_hooks_;
  bool checks_arguments_;                    // its functions are C++ with tvm-ffi's headers
  std::vector<std::string_view> functions_;  // without the prefix; of the mapped string table
  void **context_ = nullptr;                 // the library's slot that holds our address
};

// Modules embedded in a library: the whole of the blob's symbol, within the file's bytes; no data if it has none.
Bytes embedded_in(const ElfFile &file);

}  // namespace opd
