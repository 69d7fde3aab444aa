#include "module/kinds/unloaded_library.h"

#include <algorithm>

#include "module/function_names.h"

namespace opd {
namespace {

class UnloadedLibrary final : public Module {
 public:
  UnloadedLibrary(LibraryFacts facts, std::string file, LibraryBytes bytes)
      : facts_(std::move(facts)), file_(std::move(file)), bytes_(std::move(bytes)) {}

  const char *kind() const override { return "library"; }
  const char *format() const override { return "so"; }
  int32_t properties() const override { return OPD_MODULE_SERIALIZABLE; }
  std::string file() const override { return file_; }
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (const auto &function : facts_.functions)
      if (!is_special_name(function.name)) names.push_back(function.name);
    return names;
  }
  bool implements(std::string_view name) override {
    const std::string with_prefix = concat(facts_.prefix, name);
    return std::any_of(facts_.functions.begin(), facts_.functions.end(),
                       [&](const auto &function) { return function.name == name || function.name == with_prefix; });
  }
  Ref<Function> find(std::string_view name) override {
    if (implements(name)) fail_not_loaded(concat("function \"", name, "\""), file_);
    return nullptr;
  }
  void *symbol(const char *name) override { fail_not_loaded(concat("C symbol \"", name, "\""), file_); }
  void describe(JsonWriter &json) override {
    json.key("tvm_release").value(facts_.release).key("loaded").value(false);
    if (!facts_.is_compiled) json.key("compiled").value(false);
    if (!facts_.not_loadable.empty()) json.key("not_loadable").value(facts_.not_loadable);
    facts_.sizes.describe(json);
    json.key("function_bytes").begin_object();
    for (const auto &function : facts_.functions)
      if (!is_special_name(function.name)) json.key(function.name).value(function.bytes);
    json.end_object();
    describe_called(json, {facts_.called.begin(), facts_.called.end()});
  }
  bool is_linked_library() const override { return true; }
  std::string library_bytes() const override { return bytes_(); }

 private:
  LibraryFacts facts_;
  std::string file_;
  LibraryBytes bytes_;
};

}  // namespace

Ref<Module> make_unloaded_library(LibraryFacts facts, std::string file, LibraryBytes bytes) {
  return make_object<UnloadedLibrary>(std::move(facts), std::move(file), std::move(bytes));
}

void fail_not_loaded(std::string_view what, const std::string &file) {
  fail(OPD_FAILED_PRECONDITION, what, " of ", file.empty() ? "a module" : file,
       " cannot be had: it was read for inspection only, and its code was not loaded; load it without inspect_only");
}

}  // namespace opd
