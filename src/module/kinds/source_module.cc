#include "module/kinds/source_module.h"

#include <algorithm>
#include <mutex>

#include "base/fork_mutex.h"
#include "module/blob_reader.h"
#include "module/image/artifact.h"
#include "module/kinds/library_module.h"
#include "module/toolchain/compiler.h"

namespace opd {
namespace {

// The bytes for a C source embedded in a library, in TVM's format.
std::string serialized_source(std::string_view text, std::string_view format,
                              const std::vector<std::string> &functions) {
  ByteWriter out;
  out.write_string(text);
  out.write_string(format);
  out.write<uint64_t>(functions.size());
  for (const auto &name : functions) out.write_string(name);
  out.write<uint64_t>(0);  // number of names of constants
  return out.take();
}

class SourceModule final : public LibraryModule {
 public:
  // `library`: the compiled file if it may be mapped without a copy, else "".
  SourceModule(const std::shared_ptr<LibraryImage> &image, const std::string &library, const ModuleOptions &options,
               std::string text, std::string path)
      : LibraryModule(image, library, std::move(path), options), text_(std::move(text)) {}

  static Ref<SourceModule> make(const std::string &text, const std::string &path, const ModuleOptions &options) {
    const CompiledLibrary compiled = compile_source(text, path, options);
    const auto image =
        std::make_shared<LibraryImage>(as_bytes(compiled.content), path.empty() ? "the compiled C source" : path);
    require_loadable(image->file());
    auto module =
        make_object<SourceModule>(image, options.copy == OPD_COPY_ALWAYS ? "" : compiled.path, options, text, path);
    module->fill_slots(image->file());
    module->set_original(original_in_cache(compiled.path, path.empty() ? "the C source" : path));
    return module;
  }

  const char *kind() const override { return "c"; }
  const char *format() const override { return "c"; }
  int32_t properties() const override {
    return OPD_MODULE_SERIALIZABLE | OPD_MODULE_RUNNABLE | OPD_MODULE_COMPILATION_EXPORTABLE;
  }
  std::vector<std::string> save_formats() const override { return {"c"}; }
  std::string save(std::string_view) override { return text_; }
  std::string serialize() override { return serialized_source(text_, "c", list()); }
  std::string source(std::string_view format) override {
    return format.empty() || format == "c" ? text_ : Module::source(format);
  }

 private:
  std::string text_;
};

// A source that is not compiled when it is loaded: an embedded source, and with inspect_only every source.
class UncompiledSource final : public Module {
 public:
  UncompiledSource(SourceText source, std::string origin, std::string file, const ModuleOptions &options)
      : text_(std::move(source.text)),
        format_(std::move(source.format)),
        names_(std::move(source.functions)),
        origin_(std::move(origin)),
        file_(std::move(file)),
        options_(options) {
    options_.format.clear();  // it was the format of the embedding file
  }

  const char *kind() const override { return "c"; }
  const char *format() const override { return format_.c_str(); }
  int32_t properties() const override {
    return OPD_MODULE_SERIALIZABLE | OPD_MODULE_COMPILATION_EXPORTABLE |
           (format_ == "c" && !options_.inspect_only ? OPD_MODULE_RUNNABLE : 0);
  }
  std::string file() const override { return file_; }
  void describe(JsonWriter &json) override {
    if (options_.inspect_only) json.key("compiled").value(false);
  }
  std::vector<std::string> list() override { return names_; }
  bool implements(std::string_view name) override { return std::ranges::find(names_, name) != names_.end(); }
  Ref<Function> find(std::string_view name) override {
    if (!names_.empty() && !implements(name) && !options_.inspect_only) return nullptr;
    if (format_ != "c")
      fail(OPD_UNSUPPORTED, "function \"", name, "\" of ", origin_, " is in a source of format ", format_,
           ", which is not compiled here; C sources are");
    // A name that is missing in the list may still exist, because macros can form names. Only a compiler can find
    // these.
    if (options_.inspect_only) fail_not_loaded(concat("function \"", name, "\""), origin_);
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
    auto made = SourceModule::make(text_, file_, options_);
    for (const auto &import : imports()) made->add_import(import);  // its code looks functions up in these
    return compiled_ = std::move(made);
  }

  std::string text_, format_;
  std::vector<std::string> names_;
  std::string origin_, file_;
  ModuleOptions options_;
  ForkMutex guard_{LockRank::kSource};
  Ref<SourceModule> compiled_;
};

Ref<Module> read_source(const EmbeddedBytes &given) {
  const std::string what = given.name + ": embedded C source";
  ByteReader in(given.bytes, what.c_str());
  std::string text(in.read_string("the source")), format(in.read_string("its format"));
  if (format.empty() || format.size() > 16 || format.find('\0') != std::string::npos)
    in.bad("its format", concat("has ", format.size(), " bytes, or a 0 byte among them"));
  std::vector<std::string> names;
  for (auto left = in.read_count(8, "function names"); left > 0; --left)
    names.emplace_back(in.read_string("a function name"));
  for (auto left = in.read_count(8, "names of constants"); left > 0; --left) in.read_string("the name of a constant");
  if (!in.at_end()) in.bad("the end", concat("is followed by ", in.remaining(), " bytes"));
  return make_uncompiled_source({std::move(text), std::move(format), std::move(names)}, given.name, "", given.options);
}

}  // namespace

Ref<Module> make_source_module(const std::string &text, const std::string &path, const ModuleOptions &options) {
  return SourceModule::make(text, path, options);
}

Ref<Module> make_uncompiled_source(SourceText source, std::string origin, std::string file,
                                   const ModuleOptions &options) {
  return make_object<UncompiledSource>(std::move(source), std::move(origin), std::move(file), options);
}

void register_source_kind() { register_module_kind("c", read_source); }

}  // namespace opd
