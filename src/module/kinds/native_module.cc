#include "module/kinds/native_module.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "call/native_function.h"
#include "module/kinds/library_module.h"

namespace opd {
namespace {

constexpr size_t kMaxTextBytes = 4096;

// The absolute path without links, with a "/" at its end. "" if the directory does not exist. `path` "" means the
// current directory.
std::string directory_of(const std::string &path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.empty() ? "." : path.c_str(), nullptr),
                                                         &std::free);
  if (!real) return {};
  const std::string found = real.get();
  return found.ends_with('/') ? found : found + "/";
}

class NativeModule final : public Module {
 public:
  NativeModule(Ref<Module> library, std::vector<NativeEntry> entries)
      : library_(std::move(library)), entries_(std::move(entries)) {}

  // Binds all functions now, so that errors in a table are reported where it is made and not in a call.
  void bind() {
    for (const auto &[name, signature] : entries_) {
      void *address = library_->symbol(name.c_str());
      if (!address) fail(OPD_NOT_FOUND, "the library ", library_->file(), " has no C function \"", name, "\"");
      if (!functions_.try_emplace(name, make_native_function(address, signature, name, library_)).second)
        fail(OPD_ALREADY_EXISTS, "the table of C functions of ", library_->file(), " has \"", name, "\" twice");
    }
  }

  const char *kind() const override { return kNativeKind.data(); }
  const char *format() const override { return "so"; }
  int32_t properties() const override { return OPD_MODULE_SERIALIZABLE | OPD_MODULE_RUNNABLE; }
  std::string file() const override { return library_->file(); }
  Ref<Function> find(std::string_view name) override {
    if (functions_.empty() && implements(name)) fail_not_loaded(concat("function \"", name, "\""), file());
    const auto found = functions_.find(name);
    return found == functions_.end() ? nullptr : found->second;
  }
  bool implements(std::string_view name) override {
    return std::ranges::any_of(entries_, [&](const NativeEntry &entry) { return entry.name == name; });
  }
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (const auto &entry : entries_) names.push_back(entry.name);
    return names;
  }
  // Stores the library's path instead of its code, because the library may need other files beside it.
  std::string serialize_beside(const std::string &directory) override {
    ByteWriter out;
    out.write_string(path_from(directory));
    out.write<uint64_t>(entries_.size());
    for (const auto &[name, signature] : entries_) {
      out.write_string(name);
      out.write_string(signature);
    }
    return out.take();
  }
  void *symbol(const char *name) override { return library_->symbol(name); }
  void describe(JsonWriter &json) override {
    json.key("signatures").begin_object();
    for (const auto &[name, signature] : entries_) json.key(name).value(signature);
    json.end_object();
  }

 private:
  // If the library's file is a link, it is not followed, because users refer to the library by the link's name.
  std::string path_from(const std::string &directory) const {
    const std::string given = file(), from = directory_of(directory);
    const size_t name = given.rfind('/') + 1;  // npos + 1 is 0
    const std::string around = directory_of(given.substr(0, name)), path = around + given.substr(name);
    if (around.empty())
      fail(OPD_NOT_FOUND, "a module of kind ", kNativeKind, " cannot be exported: the directory of its library ", given,
           " is not there any more");
    return !from.empty() && path.starts_with(from) ? path.substr(from.size()) : path;
  }

  const Ref<Module> library_;
  const std::vector<NativeEntry> entries_;
  std::map<std::string, Ref<Function>, std::less<>> functions_;  // they keep the library, not this module
};

std::string read_text(ByteReader &in, const char *what) {
  std::string text(in.read_string(what));
  if (text.empty() || text.size() > kMaxTextBytes || text.find('\0') != std::string::npos)
    in.bad(what, concat("has ", text.size(), " bytes, or a 0 byte among them"));
  return text;
}

}  // namespace

NativeTable read_native_table(Bytes bytes, const std::string &name) {
  const std::string what = name + ": embedded table of C functions";
  ByteReader in(bytes, what.c_str());
  NativeTable table{read_text(in, "the path of the library"), {}};
  for (auto left = in.read_count(16, "C functions"); left > 0; --left) {
    std::string function = read_text(in, "the name of a C function");
    table.entries.push_back({std::move(function), read_text(in, "the signature of a C function")});
  }
  if (!in.at_end()) in.bad("the end", concat("is followed by ", in.remaining(), " bytes"));
  return table;
}

Ref<Module> make_native_module(Ref<Module> library, std::vector<NativeEntry> entries, bool inspect_only) {
  auto module = make_object<NativeModule>(std::move(library), std::move(entries));
  if (!inspect_only) module->bind();
  return module;
}

}  // namespace opd
