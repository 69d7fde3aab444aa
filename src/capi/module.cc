// Implements include/opdyno/module.h.
#include "module/module.h"

#include <algorithm>
#include <unordered_set>

#include "call/native_function.h"
#include "capi/handles.h"
#include "capi/library.h"
#include "module/kinds/device_module.h"
#include "module/kinds/native_module.h"
#include "module/kinds/system_library.h"
#include "module/loader.h"

using namespace opd;

namespace {

constexpr int kMaxJsonDepth = 100;

std::string text_or_empty(const char *value) { return value ? value : ""; }

ModuleOptions options_of(const opd_module_options *given) {
  const opd_module_options full = read_options(given, opd_module_options_init);
  require(full.copy >= OPD_COPY_ALWAYS && full.copy <= OPD_COPY_NEVER, "copy must be a copy policy, but is ",
          static_cast<int32_t>(full.copy));
  require(full.inspect_only == 0 || full.inspect_only == 1, "inspect_only is ", full.inspect_only, ", neither 0 nor 1");
  require(full.build_timeout_ms >= 0, "build_timeout_ms is ", full.build_timeout_ms, ", less than 0");
  return {.copy = full.copy,
          .format = text_or_empty(full.format),
          .compiler = text_or_empty(full.compiler),
          .c_flags = text_or_empty(full.c_flags),
          .cache_dir = text_or_empty(full.cache_dir),
          .inspect_only = full.inspect_only != 0,
          .build_timeout = std::chrono::milliseconds(full.build_timeout_ms)};
}

opd_array *array_of_names(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return wrap_names(names);
}

// A module that is imported several times is described once. After that, only its name is written.
void write_module(JsonWriter &json, Module &module, std::unordered_set<const Module *> &seen, int depth) {
  const bool whole = seen.insert(&module).second && depth < kMaxJsonDepth;
  json.begin_object().key("kind").value(module.kind()).key("file").value(module.file());
  if (!whole) {
    json.key("described").value(false).end_object();
    return;
  }
  module.describe(json);
  json.key("functions").begin_array();
  for (const auto &name : module.list()) json.value(name);
  json.end_array().key("imports").begin_array();
  for (const auto &imported : module.imports()) write_module(json, *imported, seen, depth + 1);
  json.end_array().end_object();
}

}  // namespace

opd_error *opd_module_load(const char *path, const opd_module_options *options, opd_module **out_module) {
  return guard([&] {
    OPD_REQUIRE(path, out_module);
    begin_use();
    *out_module = wrap<opd_module>(load_module(path, options_of(options)));
  });
}

opd_error *opd_module_load_bytes(const void *data, size_t size, const char *name, const opd_module_options *options,
                                 opd_module **out_module) {
  return guard([&] {
    OPD_REQUIRE(out_module);
    OPD_REQUIRE_ITEMS(data, size);
    begin_use();
    *out_module = wrap<opd_module>(
        load_module_bytes({static_cast<const uint8_t *>(data), size}, name ? name : "memory", options_of(options)));
  });
}

opd_error *opd_module_load_static_library(const char *path, const char *const *func_names, int32_t num_func_names,
                                          opd_module **out_module) {
  return guard([&] {
    OPD_REQUIRE(path, out_module);
    std::vector<std::string> names;
    OPD_REQUIRE_ITEMS(func_names, num_func_names);
    for (int32_t i = 0; i < num_func_names; ++i) {
      require(func_names[i] && *func_names[i], "func_names[", i, "] must be a name");
      names.emplace_back(func_names[i]);
    }
    begin_use();
    *out_module = wrap<opd_module>(load_static_library(path, std::move(names)));
  });
}

opd_error *opd_module_load_native(const char *path, const char *const *names, const char *const *signatures,
                                  int32_t num_functions, const opd_module_options *options, opd_module **out_module) {
  return guard([&] {
    OPD_REQUIRE(path, out_module);
    OPD_REQUIRE_ITEMS(names, num_functions);
    OPD_REQUIRE_ITEMS(signatures, num_functions);
    std::vector<NativeEntry> entries;
    for (int32_t i = 0; i < num_functions; ++i) {
      require(names[i], "names[", i, "] must not be NULL");
      require(signatures[i], "signatures[", i, "] must not be NULL");
      entries.push_back({names[i], signatures[i]});
    }
    begin_use();
    ModuleOptions how = options_of(options);
    how.alone = true;
    *out_module = wrap<opd_module>(make_native_module(load_module(path, how), std::move(entries), how.inspect_only));
  });
}

opd_error *opd_module_system_lib(const char *prefix, opd_module **out_module) {
  return guard([&] {
    OPD_REQUIRE(out_module);
    begin_use();
    *out_module = wrap<opd_module>(system_library(prefix ? prefix : ""));
  });
}

int32_t opd_module_enabled(const char *target) { return target && is_target_enabled(target); }

opd_error *opd_module_get_function(opd_module *module, const char *name, int32_t query_imports,
                                   opd_function **out_function) {
  return guard([&] {
    OPD_REQUIRE(module, out_function);
    auto &owner = *unwrap<Module>(module);
    *out_function = wrap<opd_function>(name ? owner.get(name, query_imports != 0) : owner.entry());
  });
}

opd_error *opd_module_native_function(opd_module *module, const char *symbol, const char *signature,
                                      opd_function **out_function) {
  return guard([&] {
    OPD_REQUIRE(module, symbol, signature, out_function);
    auto &owner = *unwrap<Module>(module);
    void *address = owner.symbol(symbol);
    if (!address)
      fail(OPD_NOT_FOUND, "the module ", owner.file(), owner.file().empty() ? "" : " ", "of kind ", owner.kind(),
           " has no C symbol \"", symbol, "\"");
    *out_function = wrap<opd_function>(make_native_function(address, signature, symbol, Ref<Object>::share(&owner)));
  });
}

int32_t opd_module_has_function(opd_module *module, const char *name, int32_t flags) {
  if (!module || !name) return 0;
  try {
    auto &owner = *unwrap<Module>(module);
    const bool imports = flags & OPD_LOOKUP_IMPORTS;
    if (flags & OPD_LOOKUP_UNCALLABLE) return imports ? owner.implements_with_imports(name) : owner.implements(name);
    return static_cast<bool>(imports ? owner.find_with_imports(name) : owner.find(name));
  } catch (...) {
    return 0;  // this build cannot run the function, or memory ran out
  }
}

opd_error *opd_module_list_functions(opd_module *module, opd_array **out_names) {
  return guard([&] {
    OPD_REQUIRE(module, out_names);
    *out_names = array_of_names(unwrap<Module>(module)->list());
  });
}

const char *opd_module_kind(const opd_module *module) { return module ? unwrap<const Module>(module)->kind() : ""; }

const char *opd_module_format(const opd_module *module) { return module ? unwrap<const Module>(module)->format() : ""; }

int32_t opd_module_properties(const opd_module *module) {
  return module ? unwrap<const Module>(module)->properties() : 0;
}

opd_error *opd_module_list_formats(opd_module *module, opd_array **out_formats) {
  return guard([&] {
    OPD_REQUIRE(module, out_formats);
    *out_formats = wrap_names(unwrap<Module>(module)->save_formats());
  });
}

opd_error *opd_module_save(opd_module *module, const char *path, const char *format) {
  return guard([&] {
    OPD_REQUIRE(module, path);
    save_module(*unwrap<Module>(module), path, format ? format : "");
  });
}

opd_error *opd_module_export(opd_module *module, const char *path, const opd_export_options *options) {
  return guard([&] {
    OPD_REQUIRE(module, path);
    const opd_export_options full = read_options(options, opd_export_options_init);
    OPD_REQUIRE_ITEMS(full.addons, full.num_addons);
    ExportOptions chosen{
        text_or_empty(full.compiler), text_or_empty(full.c_flags), text_or_empty(full.workspace_dir), {}};
    for (int32_t i = 0; i < full.num_addons; ++i) {
      require(full.addons[i], "addons[", i, "] must not be NULL");
      chosen.addons.emplace_back(full.addons[i]);
    }
    export_module(*unwrap<Module>(module), path, chosen);
  });
}

opd_error *opd_module_list_imports(opd_module *module, opd_array **out_modules) {
  return guard([&] {
    OPD_REQUIRE(module, out_modules);
    const auto imports = unwrap<Module>(module)->imports();
    const std::vector<Value> values(imports.begin(), imports.end());
    *out_modules = wrap<opd_array>(Array::make(views_of(values)));
  });
}

opd_error *opd_module_add_import(opd_module *module, opd_module *imported) {
  return guard([&] {
    OPD_REQUIRE(module, imported);
    unwrap<Module>(module)->add_import(Ref<Module>::share(unwrap<Module>(imported)));
  });
}

opd_error *opd_module_get_source(opd_module *module, const char *format, opd_buffer **out_text) {
  return guard([&] {
    OPD_REQUIRE(module, out_text);
    give_text(unwrap<Module>(module)->source(format ? format : ""), out_text);
  });
}

opd_error *opd_module_to_json(opd_module *module, opd_buffer **out_json) {
  return guard([&] {
    OPD_REQUIRE(module, out_json);
    JsonWriter json;
    std::unordered_set<const Module *> seen;
    write_module(json, *unwrap<Module>(module), seen, 0);
    give_text(json.take(), out_json);
  });
}
