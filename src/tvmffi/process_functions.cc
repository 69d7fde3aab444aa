// Global functions about libopdyno's own state: its registry, types and modules.
#include <map>
#include <mutex>

#include "base/fork_mutex.h"
#include "module/kinds/system_library.h"
#include "module/loader.h"
#include "tvmffi/tvmffi.h"
#include "value/function.h"
#include "value/type_table.h"

namespace opd {
namespace {

Value list_names(Args) {
  // Returns the number of names for -1, and one name for any other index.
  return make_function([names = function_names()](Args args) -> Value {
    check_arity(args, {"index"}, "the list of functions");
    const int64_t i = as_int(args[0], "the index");
    if (i < 0) return static_cast<int64_t>(names.size());
    if (static_cast<size_t>(i) >= names.size()) fail(OPD_OUT_OF_RANGE, "function ", i, " of ", names.size());
    return names[static_cast<size_t>(i)];
  });
}

Value remove(Args args) {
  check_arity(args, {"name"}, "ffi.FunctionRemoveGlobal");
  const std::string_view name = as_text(args[0], "name");
  if (!find_function(name)) return false;
  remove_function(name);
  return true;
}

Value metadata(Args args) {
  check_arity(args, {"name"}, "ffi.GetGlobalFuncMetadata");
  return function_metadata(as_text(args[0], "name"));
}

Value keys(Args) {
  std::vector<Value> keys;
  for (const std::string &key : type_keys()) keys.emplace_back(key);
  return Array::make({&keys.front().view(), keys.size()});
}

// ---- the functions ffi.Module…, through which tvm-ffi's Python class uses opdyno's modules

Module &module_at(const View &v) { return as<Module>(v, "the module"); }
bool flag(Args args, size_t i) { return as_int(args[i], "query_imports") != 0; }

Value get_function(Args args) {
  check_arity(args, {"module", "name", "query_imports"}, "ffi.ModuleGetFunction");
  Module &module = module_at(args[0]);
  const std::string_view name = as_text(args[1], "name");
  auto found = flag(args, 2) ? module.find_with_imports(name) : module.find(name);
  return found ? Value(std::move(found)) : Value();
}

// Returns metadata of a library's function. The library offers the metadata through another function.
Value told(Module &module, const std::string &symbol, bool query_imports) {
  if (auto *const tell = reinterpret_cast<SafeCall>(module.symbol(symbol.c_str()))) {
    View text = opd_none();
    if (tell(nullptr, nullptr, 0, &text)) throw Exception(take_raised());
    return Value::take(text);
  }
  if (query_imports)
    for (const auto &import : module.imports())
      if (Value text = told(*import, symbol, true); text.type() != OPD_NONE) return text;
  return {};
}

Value tell(Args args, const char *prefix) {
  check_arity(args, {"module", "name", "query_imports"}, "what a module tells about a function");
  const std::string symbol = concat(prefix, as_text(args[1], "name"));
  if (symbol.find('\0') != std::string::npos) return {};
  return told(module_at(args[0]), symbol, flag(args, 2));
}

Value load(Args args) {
  check_arity(args, {"file_name"}, "ffi.ModuleLoadFromFile");
  const std::string path(as_text(args[0], "file_name"));
  const size_t dot = path.rfind('.');
  const std::string format = dot == std::string::npos ? "" : path.substr(dot + 1);
  // A front end may have registered a loader for a format that opdyno does not support.
  if (auto loader = find_function("ffi.Module.load_from_file." + format)) {
    const Value given[] = {path, format};
    return call(*loader, {&given[0].view(), 2});
  }
  return load_module(path, {});
}

template <class T>
Value array_of(const std::vector<T> &items) {
  std::vector<Value> values(items.begin(), items.end());
  return Array::make(views_of(values));
}

// Modules that a front end keeps loaded, with their reference counts.
struct Kept {
  ForkMutex guard{LockRank::kKeptModules};
  std::map<Ref<Object>, int, decltype([](const auto &a, const auto &b) { return a.get() < b.get(); })> modules;
};
Kept &kept() {
  static auto *instance = new Kept;  // never destroyed: the modules' code stays mapped
  return *instance;
}

Value keep(Args args, int change) {
  auto module = Ref<Object>::share(&module_at(args[0]));
  std::scoped_lock lock(kept().guard);
  if (change > 0) kept().modules.emplace(module, 0);
  else kept().modules.erase(module);
  return {};
}

constexpr size_t kAnyArity = SIZE_MAX;  // the function itself checks it
struct Named {
  const char *name;
  size_t arity;
  Value (*body)(Args);
};
constexpr Named kFunctions[] = {
    {"ffi.FunctionListGlobalNamesFunctor", kAnyArity, list_names},
    {"ffi.FunctionRemoveGlobal", kAnyArity, remove},
    {"ffi.GetGlobalFuncMetadata", kAnyArity, metadata},
    {"ffi.GetRegisteredTypeKeys", kAnyArity, keys},
    {"ffi.ModuleLoadFromFile", kAnyArity, load},
    {"ffi.ModuleGetFunction", kAnyArity, get_function},
    {"ffi.ModuleGetFunctionMetadata", kAnyArity, [](Args args) { return tell(args, "__tvm_ffi__metadata_"); }},
    {"ffi.ModuleGetFunctionDoc", kAnyArity, [](Args args) { return tell(args, "__tvm_ffi__doc_"); }},
    {"ffi.SystemLib", kAnyArity,
     [](Args args) {
       require(args.size() <= 1, "ffi.SystemLib takes a prefix");
       return Value(system_library(args.empty() ? "" : std::string(as_text(args[0], "prefix"))));
     }},
    {"ffi.ModuleGetKind", 1, [](Args args) { return Value(module_at(args[0]).kind()); }},
    {"ffi.ModuleGetPropertyMask", 1, [](Args args) { return Value(module_at(args[0]).properties()); }},
    {"ffi.ModuleGetWriteFormats", 1, [](Args args) { return array_of(module_at(args[0]).save_formats()); }},
    {"ffi.ModuleClearImports", 1, [](Args args) { return module_at(args[0]).clear_imports(), Value(); }},
    {"ffi.ModuleGlobalsAdd", 1, [](Args args) { return keep(args, 1); }},
    {"ffi.ModuleGlobalsRemove", 1, [](Args args) { return keep(args, -1); }},
    {"ffi.ModuleImportModule", 2,
     [](Args args) { return module_at(args[0]).add_import(Ref<Module>::share(&module_at(args[1]))), Value(); }},
    {"ffi.ModuleInspectSource", 2,
     [](Args args) { return Value(module_at(args[0]).source(as_text(args[1], "format"))); }},
    {"ffi.ModuleWriteToFile", 3,
     [](Args args) {
       const std::string path(as_text(args[1], "file_name")), format(as_text(args[2], "format"));
       return save_module(module_at(args[0]), path, format), Value();
     }},
    {"ffi.ModuleImplementsFunction", 3,
     [](Args args) {
       Module &module = module_at(args[0]);
       const std::string_view name = as_text(args[1], "name");
       return Value(flag(args, 2) ? module.implements_with_imports(name) : module.implements(name));
     }},
};

void define_functions() {
  for (const Named &function : kFunctions)
    register_function(function.name, make_function([function](Args args) {
                        if (function.arity != kAnyArity && args.size() != function.arity)
                          fail_as("TypeError", OPD_INVALID_ARGUMENT, function.name, " takes ",
                                  counted(function.arity, "argument"), ", but was given ", args.size());
                        return function.body(args);
                      }),
                      true);
  FieldInfo imports;  // an attribute of the Python class
  imports.name = bytes_of("imports_");
  imports.size = sizeof(void *);
  imports.alignment = alignof(void *);
  imports.getter = [](void *module, View *out) {
    *out = array_of(static_cast<Module *>(static_cast<Object *>(module))->imports()).detach();
    return 0;
  };
  imports.metadata = bytes_of(R"({"type_schema":"{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"Any\"}]}"})");
  imports.static_type = OPD_ARRAY;
  add_field(OPD_MODULE, imports);
}

}  // namespace

void define_process_functions() {
  static std::once_flag once;
  std::call_once(once, define_functions);
}

}  // namespace opd
