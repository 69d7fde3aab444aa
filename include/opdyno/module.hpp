/** @file module.hpp  Modules and VM programs: loads, inspects and exports them. */
#ifndef OPDYNO_MODULE_HPP_
#define OPDYNO_MODULE_HPP_

#include <opdyno/executable.h>

#include <opdyno/function.hpp>

namespace opdyno {

class Module : public Handle<opd_module> {
 public:
  using Handle::Handle;
  static Module of(const opd_value &value) { return Module(object_in<opd_module>(value, OPD_MODULE)); }
  static Module of(const Value &value) { return of(value.view()); }
  static Module load(const std::string &path, const opd_module_options *options = nullptr) {
    return made<Module>(opd_module_load, path.c_str(), options);
  }
  static Module load_bytes(std::string_view bytes, const opd_module_options *options = nullptr,
                           const char *name = nullptr) {
    return made<Module>(opd_module_load_bytes, bytes.data(), bytes.size(), name, options);
  }
  static Module load_static_library(const std::string &path, const std::vector<const char *> &func_names) {
    return made<Module>(opd_module_load_static_library, path.c_str(), func_names.data(), count_of(func_names.size()));
  }
  /** Loads C functions of a shared library by their signatures: {{"cos", "f64(f64)"}, …}. */
  static Module load_native(const std::string &path,
                            const std::vector<std::pair<const char *, const char *>> &functions,
                            const opd_module_options *options = nullptr) {
    std::vector<const char *> names, signatures;
    for (const auto &[name, signature] : functions) names.push_back(name), signatures.push_back(signature);
    return made<Module>(opd_module_load_native, path.c_str(), names.data(), signatures.data(), count_of(names.size()),
                        options);
  }
  /** Returns the module of the object files that are linked into the program; see opd_module_system_lib(). */
  static Module system_lib(const std::string &prefix = "") {
    return made<Module>(opd_module_system_lib, prefix.c_str());
  }
  /** Whether this build can run artifacts for a target. */
  static bool enabled(const char *target) { return opd_module_enabled(target) != 0; }

  Function function(const char *name, bool query_imports = true) const {
    return made<Function>(opd_module_get_function, get(), name, static_cast<int32_t>(query_imports));
  }
  /** Returns the entry function. */
  Function entry() const { return function(nullptr); }
  /** Returns a C symbol of a shared library by its signature, such as "f64(f64, i32)". */
  Function native_function(const char *symbol, const char *signature) const {
    return made<Function>(opd_module_native_function, get(), symbol, signature);
  }
  /** @param flags Bits of opd_module_lookup. */
  bool has_function(const char *name, int32_t flags = OPD_LOOKUP_IMPORTS) const {
    return opd_module_has_function(get(), name, flags) != 0;
  }
  /** Whether the module has a function of that name, even if this build cannot run it. */
  bool implements(const char *name, bool query_imports = true) const {
    return has_function(name, OPD_LOOKUP_UNCALLABLE | (query_imports ? OPD_LOOKUP_IMPORTS : OPD_LOOKUP_OWN));
  }
  /** Returns the names of its own functions. */
  std::vector<std::string> functions() const { return made<Array>(opd_module_list_functions, get()).strings(); }

  const char *kind() const { return opd_module_kind(get()); }
  const char *format() const { return opd_module_format(get()); }
  std::vector<std::string> formats() const { return made<Array>(opd_module_list_formats, get()).strings(); }
  int32_t properties() const { return opd_module_properties(get()); }
  std::string source(const char *format = nullptr) const { return text_of(opd_module_get_source, get(), format); }
  std::string json() const { return text_of(opd_module_to_json, get()); }

  std::vector<Module> imports() const {
    const auto list = made<Array>(opd_module_list_imports, get());
    std::vector<Module> modules;
    for (size_t i = 0; i < list.size(); ++i) modules.push_back(of(list[i]));
    return modules;
  }
  void add_import(const Module &other) const { check(opd_module_add_import(get(), other.get())); }

  /** Writes this module without its imports. */
  void save(const std::string &path, const char *format = nullptr) const {
    check(opd_module_save(get(), path.c_str(), format));
  }
  /** Writes this module and its imports, as a library (.so) or an archive of object files (.tar). */
  void export_to(const std::string &path, const opd_export_options *options = nullptr) const {
    check(opd_module_export(get(), path.c_str(), options));
  }
};

/** A verified VM program. */
class Executable : public Handle<opd_executable> {
 public:
  using Handle::Handle;
  static Executable assemble(std::string_view text) {
    return made<Executable>(opd_executable_assemble, text.data(), text.size());
  }
  static Executable load(std::string_view bytes) {
    return made<Executable>(opd_executable_load_bytes, bytes.data(), bytes.size());
  }
  /** Makes a program from a module of kind "relax.VMExecutable". */
  static Executable of(const Module &module) { return made<Executable>(opd_executable_from_module, module.get()); }
  Module to_module() const { return made<Module>(opd_executable_to_module, get()); }
  std::string save() const { return text_of(opd_executable_save_bytes, get()); }
  std::string write(opd_executable_format format) const { return text_of(opd_executable_write, get(), format); }
  std::string disassemble() const { return write(OPD_EXECUTABLE_ASSEMBLY); }
};

}  // namespace opdyno
#endif
