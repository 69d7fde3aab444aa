#include "vm/executable_module.h"

#include "module/blob_reader.h"

namespace opd {
namespace {

struct ExecutableModule final : Module {
  Ref<Executable> program;
  std::string path;

  ExecutableModule(Ref<Executable> p, std::string f) : program(std::move(p)), path(std::move(f)) {}
  const char *kind() const override { return kExecutableKind; }
  // The program's own functions need a VM. These further functions of TVM's executables do not.
  Ref<Function> find(std::string_view name) override {
    using Write = std::string (Executable::*)() const;
    constexpr std::pair<std::string_view, Write> kTexts[] = {
        {"as_text", &Executable::to_assembly}, {"as_python", &Executable::to_python}, {"stats", &Executable::to_stats}};
    for (const auto &[offered, write] : kTexts)
      if (name == offered && !program->find(name))
        return make_function([program = program, write = write](Args) { return Value((*program.*write)()); });
    return nullptr;
  }
  std::vector<std::string> list() override { return program->program_functions(); }
  std::string file() const override { return path; }
  bool implements(std::string_view name) override { return program->find(name) != nullptr; }
  const char *format() const override { return "vmexec"; }
  int32_t properties() const override { return OPD_MODULE_SERIALIZABLE; }
  std::vector<std::string> save_formats() const override { return {"vmexec", "opdasm"}; }
  std::string save(std::string_view format) override {
    return format == "opdasm" ? program->to_assembly() : program->write();
  }
  std::string serialize() override { return program->write(); }

  std::string source(std::string_view format) override {
    return format.empty() || format == "opdasm" ? program->to_assembly() : Module::source(format);
  }

  void describe(JsonWriter &json) override { json.key("program").raw(program->to_json()); }
};

}  // namespace

// The handle is a copy, and modules hold the program without imports. So no module can refer to a handle, and a handle
// to itself, through the imports.
Ref<Executable> executable_with_imports(Module &module) {
  Ref<Executable> loaded = executable_of(module);
  const std::vector<Ref<Module>> imports = module.imports();
  if (imports.empty()) return loaded;
  Ref<Executable> handle = loaded->copy();
  handle->imports.assign(imports.begin(), imports.end());
  handle->loaded = std::move(loaded);
  return handle;
}

Ref<Module> module_with_imports(Ref<Executable> executable) {
  Ref<Module> module = make_executable_module(executable->loaded ? executable->loaded : executable, "");
  for (const Ref<Object> &each : executable->imports)
    module->add_import(Ref<Module>::share(static_cast<Module *>(each.get())));
  return module;
}

Ref<Module> make_executable_module(Ref<Executable> executable, std::string file) {
  return make_object<ExecutableModule>(std::move(executable), std::move(file));
}

Ref<Executable> executable_of(Module &module) {
  require(std::string_view(module.kind()) == kExecutableKind, "a module of kind ", kExecutableKind,
          " is needed, but this one is of kind ", module.kind());
  return static_cast<ExecutableModule &>(module).program;
}

void register_executable_format() {
  [[maybe_unused]] static const bool once = [] {
    register_module_kind(kExecutableKind, [](const EmbeddedBytes &given) -> Ref<Module> {
      return make_executable_module(Executable::read(given.bytes, given.derived), given.name);
    });
    for (const uint64_t magic : {kExecutableMagicV1, kExecutableMagicV2}) register_module_magic(magic, kExecutableKind);
    return true;
  }();
}

}  // namespace opd
