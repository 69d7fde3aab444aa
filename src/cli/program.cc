// MOD and --import loaded into one module tree, and what its VM program says about its functions.
#include "program.h"

#include "failure.h"
#include "file.h"
#include "json.h"
#include "text.h"
#include "value_read.h"

namespace opd::cli {

namespace {

constexpr std::string_view program_kind = "relax.VMExecutable";

std::string read_module(const std::string &path) {
  try {
    return read_file(path);
  } catch (const Failure &failure) { throw Failure(Exit::refused, failure.what()); }
}

Executable assemble(const std::string &path) {
  const std::string text = read_module(path);
  Executable executable;
  check(opd_executable_assemble(text.data(), text.size(), executable.out()), Exit::refused, path);
  return executable;
}

Module load_module(const std::string &path, const Args *args) {
  Module module;
  if (path.ends_with(".opdasm")) {
    check(opd_executable_to_module(assemble(path).get(), module.out()), Exit::refused, path);
    return module;
  }
  opd_module_options options;
  opd_module_options_init(&options);
  const std::optional<std::string> policy = args ? args->value("copy") : std::nullopt;
  if (policy == "when-shared") options.copy = OPD_COPY_WHEN_SHARED;
  else if (policy == "never") options.copy = OPD_COPY_NEVER;
  else if (policy && policy != "always")
    fail_usage(cat("option '--copy' takes always, when-shared or never, not '", *policy, "'"));
  const std::string c_flags = args ? args->value("c-flags").value_or("") : "";
  if (!c_flags.empty()) options.c_flags = c_flags.c_str();
  check(opd_module_load(path.c_str(), &options, module.out()), Exit::refused, path);
  return module;
}

Module find_program(const Module &module) {
  if (opd_module_kind(module.get()) == program_kind) return module;
  for (const Module &imported : imports_of(module))
    if (Module found = find_program(imported)) return found;
  return {};
}

std::optional<std::vector<Dim>> read_dims(const cJSON *shape) {
  if (!cJSON_IsArray(shape)) return std::nullopt;
  std::vector<Dim> dims;
  const cJSON *item = nullptr;
  cJSON_ArrayForEach(item, shape) {
    if (cJSON_IsString(item)) dims.emplace_back(std::string(item->valuestring));
    else if (cJSON_IsNumber(item)) dims.emplace_back(static_cast<int64_t>(item->valuedouble));
    else return std::nullopt;  // a size that nothing checks
  }
  return dims;
}

std::vector<FunctionInfo> read_functions(const Executable &executable) {
  Buffer text;
  check(opd_executable_to_json(executable.get(), text.out()), Exit::refused);
  const Json json = parse_json(text, "the program");
  std::vector<FunctionInfo> functions;
  const cJSON *function = nullptr, *param = nullptr;
  cJSON_ArrayForEach(function, json_member(json.get(), "functions")) {
    FunctionInfo &info = functions.emplace_back();
    info.name = json_string(function, "name");
    cJSON_ArrayForEach(param, json_member(function, "params")) {
      Param &read = info.params.emplace_back();
      read.name = json_string(param, "name");
      read.kind = json_string(param, "kind");
      if (std::string dtype = json_string(param, "dtype"); !dtype.empty()) read.dtype = dtype;
      if (std::string symbol = json_string(param, "symbol"); !symbol.empty()) read.symbol = symbol;
      read.dims = read_dims(json_member(param, "shape"));
    }
  }
  return functions;
}

}  // namespace

std::vector<Module> imports_of(const Module &module) {
  Handle<opd_array> list;
  check(opd_module_list_imports(module.get(), list.out()), Exit::refused);
  std::vector<Module> imports(opd_array_count(list.get()));
  for (size_t i = 0; i < imports.size(); ++i) {
    Value item;
    check(opd_array_get(list.get(), i, item.out()), Exit::refused);
    imports[i] = Module(retain(handle_of<opd_module>(item.view())));
  }
  return imports;
}

const FunctionInfo *Program::find(std::string_view name) const {
  for (const FunctionInfo &function : functions)
    if (function.name == name) return &function;
  return nullptr;
}

Program load_program(const std::string &path, const Args &args) {
  Program program;
  program.root = load_module(path, &args);
  program.vm_module = find_program(program.root);
  const Module &importer = program.vm_module ? program.vm_module : program.root;
  for (const std::string &path_of_import : args.all("import"))
    check(opd_module_add_import(importer.get(), load_module(path_of_import, &args).get()), Exit::refused,
          path_of_import);
  if (program.vm_module) {
    check(opd_executable_from_module(program.vm_module.get(), program.executable.out()), Exit::refused, path);
    program.functions = read_functions(program.executable);
  }
  return program;
}

Executable load_executable(const std::string &path) {
  if (path.ends_with(".opdasm")) return assemble(path);
  Executable executable;
  if (path.ends_with(".vmexec") || path == "-") {
    const std::string bytes = read_module(path);
    check(opd_executable_load_bytes(bytes.data(), bytes.size(), executable.out()), Exit::refused, path);
    return executable;
  }
  const Module module = find_program(load_module(path, nullptr));
  if (!module) throw Failure(Exit::refused, cat(path, " holds no VM program"));
  check(opd_executable_from_module(module.get(), executable.out()), Exit::refused, path);
  return executable;
}

}  // namespace opd::cli
