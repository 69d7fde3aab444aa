#include "cli/load/program.h"

#include <algorithm>

#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr std::string_view program_kind = "relax.VMExecutable";

std::string read_module(const std::string &path) {
  try {
    return read_file(path);
  } catch (const Failure &failure) { throw Failure(Exit::refused, failure.what(), failure.library_code()); }
}

Executable assemble(const std::string &path) {
  const std::string text = read_module(path);
  return attempt(Exit::refused, path, [&] { return Executable::assemble(text); });
}

Module load_module(const std::string &path, const Args *args, Loading loading) {
  if (path.ends_with(".opdasm")) return assemble(path).to_module();
  auto options = opdyno::defaults(opd_module_options_init);
  if (args) options.copy = static_cast<opd_copy_policy>(args->choice("copy", {"always", "when-shared", "never"}));
  const std::string c_flags = args ? args->value("c-flags").value_or("") : "";
  if (!c_flags.empty()) options.c_flags = c_flags.c_str();
  options.inspect_only = loading == Loading::inspect_only;
  if (const auto timeout = args ? args->duration_ns("timeout") : std::nullopt)
    options.build_timeout_ms = static_cast<int32_t>(std::clamp<int64_t>(*timeout / 1000000, 1, INT32_MAX));
  try {
    return Module::load(path, &options);
  } catch (const opdyno::Error &error) {
    throw Failure(error.code() == OPD_DEADLINE_EXCEEDED ? Exit::failed : Exit::refused, message_of(error, path),
                  error.code());
  }
}

Module find_program(const Module &module) {
  if (module.kind() == program_kind) return module;
  for (const Module &imported : module.imports())
    if (Module found = find_program(imported)) return found;
  return {};
}

std::optional<std::vector<Dim>> read_dims(const cJSON *shape) {
  if (!cJSON_IsArray(shape)) return std::nullopt;
  std::vector<Dim> dims;
  for (const cJSON *item : json_items(shape)) {
    if (cJSON_IsString(item)) dims.emplace_back(std::string(item->valuestring));
    else if (cJSON_IsNumber(item)) dims.emplace_back(static_cast<int64_t>(item->valuedouble));
    else return std::nullopt;  // a size without a check
  }
  return dims;
}

std::vector<FunctionInfo> read_functions(const Executable &executable) {
  const Json json = parse_json(executable.write(OPD_EXECUTABLE_JSON), "the program");
  std::vector<FunctionInfo> functions;
  for (const cJSON *function : json_items(json_member(json.get(), "functions"))) {
    FunctionInfo &info = functions.emplace_back();
    info.name = json_string(function, "name");
    for (const cJSON *param : json_items(json_member(function, "params"))) {
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

const FunctionInfo *Program::find(std::string_view name) const {
  const auto found = std::ranges::find(functions, name, &FunctionInfo::name);
  return found == functions.end() ? nullptr : &*found;
}

Program program_of(const Module &module) {
  Program program{module, module, Executable::of(module), {}};
  program.functions = read_functions(program.executable);
  return program;
}

Program load_program(const std::string &path, const Args &args, Loading loading) {
  Program program;
  program.root = load_module(path, &args, loading);
  program.vm_module = find_program(program.root);
  const Module &importer = program.vm_module ? program.vm_module : program.root;
  for (const std::string &path_of_import : args.all("import"))
    attempt(Exit::refused, path_of_import, [&] { importer.add_import(load_module(path_of_import, &args, loading)); });
  if (program.vm_module) {
    program.executable = attempt(Exit::refused, path, [&] { return Executable::of(program.vm_module); });
    program.functions = read_functions(program.executable);
  }
  return program;
}

Program load_program(const std::string &path, const Args &args, Machine &machine) {
  Program program;
  if (!path.ends_with(".c")) program = load_program(path, args, Loading::inspect_only);
  program.root = machine.load(path);
  if (program.vm_module) program.vm_module = program.root;
  for (const std::string &path_of_import : args.all("import")) {
    const Module module = machine.load(path_of_import);
    attempt(Exit::refused, path_of_import, [&] { program.root.add_import(module); });
  }
  return program;
}

Executable load_executable(const std::string &path) {
  if (path.ends_with(".opdasm")) return assemble(path);
  if (path.ends_with(".vmexec") || path == "-") {
    const std::string bytes = read_module(path);
    return attempt(Exit::refused, path, [&] { return Executable::load(bytes); });
  }
  const Module module = find_program(load_module(path, nullptr, Loading::inspect_only));
  if (!module) throw Failure(Exit::refused, cat(path, " holds no VM program"), OPD_OK, cat("inspect ", path));
  return attempt(Exit::refused, path, [&] { return Executable::of(module); });
}

}  // namespace opd::cli
