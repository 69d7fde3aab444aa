#include "module/module.h"

#include <algorithm>
#include <unordered_set>

#include "base/file.h"
#include "base/fork_mutex.h"

namespace opd {
namespace {

// A hint for a library that has no functions of TVM's conventions, such as a plain C library.
std::string_view how_to_call_plain(const Module &module) {
  const std::string_view kind = module.kind();
  if (kind != "library" && kind != "c") return "";
  return ", as no symbol of it starts with __tvm_ffi_. A plain C function of it is called by its signature: "
         "opd_module_native_function(module, \"cos\", \"f64(f64)\", …), in Python module.native_function(\"cos\", "
         "\"f64(f64)\")";
}

constexpr std::string_view kEntryName = "main";

// All modules share one lock, because two threads that change two modules at once may close a cycle.
ForkMutex &imports_guard() {
  static auto *guard = new ForkMutex(LockRank::kImports);
  return *guard;
}

// Visits a module and its imports once each, depth first. It is not recursive, because trees may be deep. `visit`
// returns true to end the walk.
template <class Visit>
void walk(Ref<Module> root, Visit visit) {
  std::unordered_set<const Module *> seen;
  std::vector<Ref<Module>> open{std::move(root)};
  while (!open.empty()) {
    const Ref<Module> module = std::move(open.back());
    open.pop_back();
    if (!seen.insert(module.get()).second) continue;
    if (visit(*module)) return;
    auto imports = module->imports();
    open.insert(open.end(), imports.rbegin(), imports.rend());
  }
}

}  // namespace

std::string Module::source(std::string_view format) {
  fail(OPD_UNSUPPORTED, "a module of kind ", kind(), " has no source", format.empty() ? "" : " of format ", format);
}

bool Module::implements(std::string_view name) {
  try {
    return static_cast<bool>(find(name));
  } catch (const Exception &) { return false; }
}

std::string Module::save(std::string_view) {
  fail(OPD_INTERNAL, "a module of kind ", kind(), " offers formats for saving, but has no save()");
}

std::string Module::library_bytes() const {
  fail(OPD_INTERNAL, "a module of kind ", kind(), " is not a linked library");
}

std::string Module::serialize() {
  fail(OPD_UNSUPPORTED, "a module of kind ", kind(), " cannot be embedded in a library: it has no serialised form");
}

Ref<Function> Module::find_with_imports(std::string_view name) {
  Ref<Function> found = find(name);
  if (found) return found;
  walk(Ref<Module>::share(this), [&](Module &module) { return &module != this && (found = module.find(name)); });
  return found;
}

Ref<Function> Module::get(std::string_view name, bool query_imports) {
  if (auto found = query_imports ? find_with_imports(name) : find(name)) return found;
  std::vector<std::string> names;
  bool all_known = true;
  walk(Ref<Module>::share(this), [&](Module &module) {
    if (!module.names_known()) {
      module.refuse(name);
      all_known = false;
      return !query_imports;
    }
    auto own = module.list();
    names.insert(names.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    return !query_imports;
  });
  if (std::ranges::find(names, name) != names.end())  // the function exists, but cannot be returned
    fail(OPD_UNSUPPORTED, "function \"", name, "\" of a program is not called by itself: a VM runs it");
  const std::string from = file();
  fail(OPD_NOT_FOUND, "the module ", from.empty() ? "" : from + " ", "of kind ", kind(), " has no function \"", name,
       "\"", names.empty() && all_known ? ": it offers none" : ".", suggestion(name, names),
       names.empty() ? how_to_call_plain(*this) : "");
}

Ref<Function> Module::entry() {
  if (auto own = find(kEntryName)) return own;
  const auto names = names_known() ? list() : std::vector<std::string>();
  if (std::ranges::find(names, kEntryName) != names.end())
    fail(OPD_UNSUPPORTED, "the entry function of a module of kind ", kind(), " is not called by itself: a VM runs it");
  if (auto found = find_with_imports(kEntryName)) return found;
  const std::string from = file();
  fail(OPD_NOT_FOUND, "the module ", from.empty() ? "" : from + " ", "of kind ", kind(),
       " has no entry function: neither it nor its imports have a function main");
}

bool Module::implements_with_imports(std::string_view name) {
  bool found = false;
  walk(Ref<Module>::share(this), [&](Module &module) { return found = module.implements(name); });
  return found;
}

std::vector<Ref<Module>> Module::imports() const {
  std::scoped_lock lock(guard_);
  return imports_;
}

void Module::add_import(Ref<Module> module) {
  require(static_cast<bool>(module), "the module to import must not be NULL");
  std::vector<Ref<Module>> seen;  // keeps modules alive, because none may be destroyed under the lock
  std::scoped_lock one_at_a_time(imports_guard());
  walk(module, [&](Module &reached) {
    seen.push_back(Ref<Module>::share(&reached));
    require(&reached != this, "a module of kind ", kind(), " cannot import one of kind ", module->kind(),
            ", which imports it already: their functions would look for each other without end");
    return false;
  });
  std::scoped_lock lock(guard_);
  imports_.push_back(std::move(module));
}

void save_module(Module &module, const std::string &path, std::string format) {
  const auto formats = module.save_formats();
  if (formats.empty())
    fail(OPD_UNSUPPORTED, "a module of kind ", module.kind(), " cannot be saved by itself",
         module.file().empty() ? "" : concat("; its file is ", module.file()));
  if (format.empty()) {
    format = formats.front();
    for (const auto &known : formats)
      if (path.ends_with("." + known)) format = known;
  }
  if (std::ranges::find(formats, format) == formats.end())
    fail(OPD_UNSUPPORTED, "a module of kind ", module.kind(), " is not saved as \"", format, "\"; it offers ",
         joined(formats));
  replace_file(path, module.save(format));
}

}  // namespace opd
