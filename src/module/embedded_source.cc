// A C source embedded in a library: compiled when one of its functions is asked for.
#include <algorithm>
#include <mutex>

#include "module/embedded_kinds.h"
#include "module/source_module.h"

namespace opd {
namespace {

class EmbeddedSource final : public Module {
 public:
  EmbeddedSource(std::string text, std::string format, std::vector<std::string> names, std::string origin)
      : text_(std::move(text)), format_(std::move(format)), origin_(std::move(origin)), names_(std::move(names)) {}

  const char *kind() const override { return "c"; }
  const char *format() const override { return format_.c_str(); }
  int32_t properties() const override {
    return OPD_MODULE_SERIALIZABLE | OPD_MODULE_COMPILATION_EXPORTABLE | (format_ == "c" ? OPD_MODULE_RUNNABLE : 0);
  }
  std::vector<std::string> list() override { return names_; }
  bool implements(std::string_view name) override {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  Ref<Function> find(std::string_view name) override {
    if (!names_.empty() && !implements(name)) return nullptr;
    if (format_ != "c")
      fail(OPD_UNSUPPORTED, "function \"", name, "\" of ", origin_, " is in a source of format ", format_,
           ", which is not compiled here; C sources are");
    return compiled()->find(name);
  }
  std::string source(std::string_view format) override {
    return format.empty() || format == format_ ? text_ : Module::source(format);
  }
  std::vector<std::string> save_formats() const override { return {format_}; }
  std::string save(std::string_view) override { return text_; }
  std::string serialize() override { return serialized_source(text_, format_, names_); }

 private:
  Ref<SourceModule> compiled() {
    std::scoped_lock lock(guard_);
    if (compiled_) return compiled_;
    auto made = SourceModule::make(text_, "", {});
    for (const auto &import : imports()) made->add_import(import);  // its code looks there
    return compiled_ = std::move(made);
  }

  std::string text_, format_, origin_;
  std::vector<std::string> names_;
  std::mutex guard_;
  Ref<SourceModule> compiled_;
};

Ref<Module> read_source(Bytes bytes, const std::string &name, Ref<Object> *) {
  const std::string what = name + ": embedded C source";
  ByteReader in(bytes, what.c_str());
  std::string text(in.read_string("the source")), format(in.read_string("its format"));
  if (format.empty() || format.size() > 16 || format.find('\0') != std::string::npos)
    in.bad("its format", concat("has ", format.size(), " bytes, or a 0 byte among them"));
  std::vector<std::string> names;
  for (auto left = in.read_count(8, "function names"); left > 0; --left)
    names.emplace_back(in.read_string("a function name"));
  for (auto left = in.read_count(8, "names of constants"); left > 0; --left) in.read_string("the name of a constant");
  if (!in.at_end()) in.bad("the end", concat("is followed by ", in.remaining(), " bytes"));
  return make_object<EmbeddedSource>(std::move(text), std::move(format), std::move(names), name);
}

}  // namespace

void register_source_kind() { register_module_kind("c", read_source); }

}  // namespace opd
