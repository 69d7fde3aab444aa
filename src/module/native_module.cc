#include "module/native_module.h"

#include <map>

#include "call/native_function.h"

namespace opd {
namespace {

class NativeModule final : public Module {
 public:
  NativeModule(Ref<Module> library, std::vector<NativeEntry> entries)
      : library_(std::move(library)), entries_(std::move(entries)) {}

  // Now: what is wrong with a table is told where it is made, not in a call.
  void bind() {
    for (const auto &[name, signature] : entries_) {
      void *address = library_->symbol(name.c_str());
      if (!address) fail(OPD_NOT_FOUND, "the library ", library_->file(), " has no C function \"", name, "\"");
      if (!functions_.try_emplace(name, make_native_function(address, signature, name, library_)).second)
        fail(OPD_ALREADY_EXISTS, "the table of C functions of ", library_->file(), " has \"", name, "\" twice");
    }
  }

  const char *kind() const override { return "opdyno.native"; }
  const char *format() const override { return "so"; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }
  std::string file() const override { return library_->file(); }
  Ref<Function> find(std::string_view name) override {
    const auto found = functions_.find(name);
    return found == functions_.end() ? nullptr : found->second;
  }
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (const auto &entry : entries_) names.push_back(entry.name);
    return names;
  }
  void *symbol(const char *name) override { return library_->symbol(name); }
  void describe(JsonWriter &json) override {
    json.key("signatures").begin_object();
    for (const auto &[name, signature] : entries_) json.key(name).value(signature);
    json.end_object();
  }

 private:
  const Ref<Module> library_;
  const std::vector<NativeEntry> entries_;
  std::map<std::string, Ref<Function>, std::less<>> functions_;  // they keep the library, not this module
};

}  // namespace

Ref<Module> make_native_module(Ref<Module> library, std::vector<NativeEntry> entries) {
  auto module = make_object<NativeModule>(std::move(library), std::move(entries));
  module->bind();
  return module;
}

}  // namespace opd
