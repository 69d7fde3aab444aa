// A library loaded with ModuleOptions::inspect_only. Its functions are listed, but cannot be called.
#pragma once
#include <functional>

#include "module/library_facts.h"
#include "module/module.h"

namespace opd {

class UnloadedLibrary final : public Module {
 public:
  // `bytes` returns the library's bytes, as for a load. It is called only for an export.
  using LibraryBytes = std::function<std::string()>;
  UnloadedLibrary(LibraryFacts facts, std::string file, LibraryBytes bytes)
      : facts_(std::move(facts)), file_(std::move(file)), bytes_(std::move(bytes)) {}

  const char *kind() const override { return "library"; }
  const char *format() const override { return "so"; }
  int32_t properties() const override { return OPD_MODULE_SERIALIZABLE; }
  std::string file() const override { return file_; }
  std::vector<std::string> list() override;
  bool implements(std::string_view name) override;
  Ref<Function> find(std::string_view name) override;  // throws for a listed function
  void *symbol(const char *name) override;             // throws
  void describe(JsonWriter &json) override;
  bool is_linked_library() const override { return true; }
  std::string library_bytes() const override { return bytes_(); }

 private:
  LibraryFacts facts_;
  std::string file_;
  LibraryBytes bytes_;
};

// Throws an error because a module loaded with inspect_only has no code.
[[noreturn]] void fail_not_loaded(std::string_view what, const std::string &file);

}  // namespace opd
