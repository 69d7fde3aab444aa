#include "module/blob_reader.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/fork_mutex.h"
#include "module/kinds/device_module.h"
#include "module/kinds/placeholder_module.h"

namespace opd {

// ---- kinds

namespace {

struct Kinds {
  ForkSharedMutex guard{LockRank::kModuleKinds};
  std::map<std::string, BytesLoader, std::less<>> loaders;
  std::map<uint64_t, std::string> magics;
};
Kinds &kinds() {
  static auto *instance = new Kinds;  // never destroyed: modules may be loaded while the process exits
  return *instance;
}

}  // namespace

void register_module_kind(std::string kind, BytesLoader loader) {
  auto &all = kinds();
  std::unique_lock lock(all.guard);
  all.loaders.insert_or_assign(std::move(kind), std::move(loader));
}

BytesLoader find_module_kind(std::string_view kind) {
  auto &all = kinds();
  std::shared_lock lock(all.guard);
  const auto found = all.loaders.find(kind);
  return found == all.loaders.end() ? BytesLoader() : found->second;
}

void register_module_magic(uint64_t magic, std::string kind) {
  auto &all = kinds();
  std::unique_lock lock(all.guard);
  all.magics.insert_or_assign(magic, std::move(kind));
}

std::string module_kind_of_magic(uint64_t magic) {
  auto &all = kinds();
  std::shared_lock lock(all.guard);
  const auto found = all.magics.find(magic);
  return found == all.magics.end() ? std::string() : found->second;
}

// ---- embedded modules

namespace {

constexpr uint64_t kMaxModules = 1024;
constexpr uint64_t kMaxImports = 65536;

std::vector<uint64_t> read_numbers(ByteReader &reader, const char *what, uint64_t limit) {
  const auto count = reader.read_count(8, what);
  if (count > limit) reader.bad(what, concat("counts ", count, " entries, more than ", limit));
  std::vector<uint64_t> numbers(count);
  for (auto &number : numbers) number = reader.read<uint64_t>(what);
  return numbers;
}

// The tree is stored as rows of one list: module i imports children[starts[i]] up to children[starts[i + 1]].
std::vector<EmbeddedModule> read_tree(ByteReader &reader) {
  const auto starts = read_numbers(reader, "the import tree's rows", kMaxModules + 1);
  if (starts.size() < 2 || starts[0] != 0) reader.bad("the import tree", "has no root");
  const auto children = read_numbers(reader, "the import tree's entries", kMaxImports);
  if (starts.back() != children.size() || !std::ranges::is_sorted(starts))
    reader.bad("the import tree", "has rows that do not fit its entries");
  std::vector<EmbeddedModule> modules(starts.size() - 1);
  for (size_t i = 0; i < modules.size(); ++i)
    for (uint64_t j = starts[i]; j < starts[i + 1]; ++j) {
      if (children[j] >= modules.size())
        reader.bad("the import tree", concat("lets module ", i, " import ", children[j], " of ", modules.size()));
      modules[i].imports.push_back(children[j]);
    }
  return modules;
}

// Removes modules without importers until no such module is left. Any remaining ones form a cycle.
void refuse_cycles(const std::vector<EmbeddedModule> &modules, const ByteReader &reader) {
  std::vector<size_t> importers(modules.size()), free;
  for (const auto &module : modules)
    for (const size_t i : module.imports) ++importers[i];
  for (size_t i = 0; i < modules.size(); ++i)
    if (importers[i] == 0) free.push_back(i);
  size_t taken = 0;
  while (!free.empty()) {
    const size_t i = free.back();
    free.pop_back();
    ++taken;
    for (const size_t j : modules[i].imports)
      if (--importers[j] == 0) free.push_back(j);
  }
  if (taken < modules.size()) reader.bad("the import tree", "has a cycle");
}

std::vector<EmbeddedModule> read_modules(Bytes blob, const std::string &name, const char *called) {
  const std::string what = concat(name, called);
  ByteReader whole(blob, what.c_str());
  const auto size = whole.read<uint64_t>("their size");
  ByteReader reader(whole.take(size, "their bytes"), what.c_str(), sizeof size);
  auto modules = read_tree(reader);
  refuse_cycles(modules, reader);
  bool has_library = false;
  for (auto &module : modules) {
    module.kind = reader.read_string("the kind of a module");
    if (module.kind == kLibraryEntry) {
      if (std::exchange(has_library, true)) reader.bad("the kind of a module", "is \"_lib\" a second time");
      continue;
    }
    if (module.kind.empty() || module.kind.size() > 256)
      reader.bad("the kind of a module", concat("has ", module.kind.size(), " bytes"));
    if (module.kind.find('\0') != std::string_view::npos) reader.bad("the kind of a module", "has a 0 byte in it");
    const auto bytes = reader.read_count(1, "the size of a module");
    module.bytes = reader.take(bytes, "the bytes of a module");
  }
  if (!reader.at_end()) reader.bad("the end of the modules", concat("is followed by ", reader.remaining(), " bytes"));
  return modules;
}

// Makes a module of kernels for a device, if the bytes have that form. Otherwise makes a placeholder, so that the rest
// of the library can be used.
Ref<Module> make_other_module(std::string kind, const EmbeddedBytes &given) {
  std::string damage;
  if (const auto device = device_of_module_kind(kind)) try {
      return make_object<DeviceModule>(kind, *device, given.bytes, given.name, given.options.cache_dir);
    } catch (const Exception &e) {
      if (e.error()->code != OPD_BAD_FORMAT) throw;
      damage = e.error()->message;
    }
  return make_object<PlaceholderModule>(std::move(kind), given.bytes, given.name, std::move(damage));
}

// Makes each module with the loader of its kind, without its imports.
std::vector<Ref<Module>> make_modules(const std::vector<EmbeddedModule> &entries, const Ref<Module> &library,
                                      const std::string &name, const ModuleOptions &options,
                                      std::vector<Ref<Object>> &derived) {
  derived.resize(entries.size());
  std::vector<Ref<Module>> modules;
  for (const auto &entry : entries) {
    if (entry.kind == kLibraryEntry) modules.push_back(library);
    else modules.push_back(make_module(entry.kind, {entry.bytes, name, options, &derived[modules.size()]}));
  }
  return modules;
}

Ref<Module> link(const std::vector<EmbeddedModule> &entries, const std::vector<Ref<Module>> &modules) {
  for (size_t i = 0; i < entries.size(); ++i)
    for (const size_t j : entries[i].imports) modules[i]->add_import(modules[j]);
  return modules.front();
}

}  // namespace

Ref<Module> make_module(std::string_view kind, const EmbeddedBytes &given) {
  const BytesLoader loader = find_module_kind(kind);
  if (!loader) return make_other_module(std::string(kind), given);
  Ref<Module> made = loader(given);
  if (!made) fail(OPD_INTERNAL, "the loader of modules of kind ", kind, " returned no module");
  return made;
}

std::vector<EmbeddedModule> read_embedded_modules(Bytes blob, const std::string &name) {
  return read_modules(blob, name, ": embedded modules");
}

Ref<Module> make_embedded_modules(Bytes blob, const Ref<Module> &library, const std::string &name,
                                  const ModuleOptions &options, std::vector<Ref<Object>> &derived) {
  const auto entries = read_embedded_modules(blob, name);
  return link(entries, make_modules(entries, library, name, options, derived));
}

Ref<Module> make_own_modules(Bytes own, Bytes blob, const Ref<Module> &library, const std::string &name,
                             const ModuleOptions &options, std::vector<Ref<Object>> &derived, const OwnLoader &loader) {
  const auto entries = read_modules(own, name, ": opdyno's embedded modules");
  std::vector<EmbeddedModule> theirs;
  if (!blob.empty()) theirs = read_embedded_modules(blob, name);
  auto made = make_modules(theirs, library, name, options, derived);
  std::vector<Ref<Module>> modules;
  for (const auto &entry : entries) {
    const std::string what = concat(name, ": opdyno's embedded modules: entry ", modules.size());
    ByteReader in(entry.bytes, what.c_str());
    if (entry.kind == kLibraryEntry) {
      modules.push_back(library);
    } else if (entry.kind == kTvmEntry) {
      const auto place = in.read<uint64_t>("the place of a module");
      if (!in.at_end() || place >= made.size() || !made[place] || theirs[place].kind == kLibraryEntry)
        in.bad("the place of a module", concat("is ", place, ", which is none of ", made.size(), " or comes again"));
      modules.push_back(std::move(made[place]));
    } else if (entry.kind.starts_with(kOwnKindPrefix)) {
      modules.push_back(loader(entry.kind, entry.bytes));
    } else {
      in.bad("its kind", "is none of opdyno's own");
    }
  }
  return link(entries, modules);
}

}  // namespace opd
