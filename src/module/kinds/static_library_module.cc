// Object code as a module. It cannot run; an export of the module tree links it.
#include <algorithm>

#include "base/file.h"
#include "module/blob_reader.h"
#include "module/loader.h"
#include "module/toolchain/compiler.h"

namespace opd {
namespace {

class StaticLibraryModule final : public Module {
 public:
  // `names`: the functions in the object file. `file`: "" for object code that is embedded in a library.
  StaticLibraryModule(std::string object, std::vector<std::string> names, std::string file)
      : object_(std::move(object)), file_(std::move(file)), names_(std::move(names)) {}

  const char *kind() const override { return "static_library"; }
  const char *format() const override { return "o"; }
  int32_t properties() const override { return OPD_MODULE_SERIALIZABLE | OPD_MODULE_COMPILATION_EXPORTABLE; }
  std::string file() const override { return file_; }
  std::vector<std::string> list() override { return names_; }
  bool implements(std::string_view name) override { return std::ranges::find(names_, name) != names_.end(); }
  Ref<Function> find(std::string_view name) override {
    if (implements(name))
      fail(OPD_UNSUPPORTED, "function \"", name, "\" is in the object code of a static library",
           file_.empty() ? "" : ", ", file_,
           ", which is kept as it is: export the module and load the result, or load ",
           file_.empty() ? "its object file" : "that file", " as a module, which links it");
    return nullptr;
  }
  std::vector<std::string> save_formats() const override { return {"o"}; }
  std::string save(std::string_view) override { return object_; }
  std::string serialize() override {
    ByteWriter out;
    out.write_string(object_);
    out.write<uint64_t>(names_.size());
    for (const auto &name : names_) out.write_string(name);
    return out.take();
  }
  void describe(JsonWriter &json) override { json.key("size_bytes").value(object_.size()); }

 private:
  std::string object_, file_;
  std::vector<std::string> names_;
};

Ref<Module> read_static_library(const EmbeddedBytes &given) {
  const std::string what = given.name + ": embedded static library";
  ByteReader in(given.bytes, what.c_str());
  const std::string_view object = in.read_string("the object code");
  std::vector<std::string> names;
  for (auto left = in.read_count(8, "function names"); left > 0; --left)
    names.emplace_back(in.read_string("a function name"));
  if (!in.at_end()) in.bad("the end", concat("is followed by ", in.remaining(), " bytes"));
  return make_object<StaticLibraryModule>(std::string(object), std::move(names), "");
}

}  // namespace

Ref<Module> load_static_library(const std::string &path, std::vector<std::string> names) {
  LinkInput input{path, read_file(path)};
  if (input.name.ends_with(".c")) fail(OPD_BAD_FORMAT, path, " is a C source, not an object file");
  check_link_inputs({input}, path);
  return make_object<StaticLibraryModule>(std::move(input.content), std::move(names), path);
}

void register_static_library_kind() { register_module_kind("static_library", read_static_library); }

}  // namespace opd
