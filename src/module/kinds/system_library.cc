#include "module/kinds/system_library.h"

#include <map>
#include <mutex>

#include "base/fork_mutex.h"
#include "base/log.h"
#include "module/blob_reader.h"
#include "module/image/artifact.h"
#include "module/kernel_args.h"
#include "module/kinds/code_module.h"

namespace opd {
namespace {

struct RegisteredSymbols {
  ForkMutex guard{LockRank::kSymbols};
  std::map<std::string, void *, std::less<>> addresses;
};
RegisteredSymbols &registered_symbols() {
  static auto *instance = new RegisteredSymbols;  // never destroyed: the code that registered remains
  return *instance;
}

void *find_symbol(const std::string &name) {
  auto &all = registered_symbols();
  std::scoped_lock lock(all.guard);
  const auto found = all.addresses.find(name);
  return found == all.addresses.end() ? nullptr : found->second;
}

class SystemLibrary final : public CodeModule {
 public:
  explicit SystemLibrary(std::string prefix)
      : CodeModule("in the program, with the prefix \"" + prefix + "\","), prefix_(std::move(prefix)) {
    if (void *slot = symbol_with_prefix(kContextSymbol))
      __atomic_store_n(static_cast<void **>(slot), context(), __ATOMIC_RELEASE);
  }

  const char *kind() const override { return "library"; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }
  void describe(JsonWriter &json) override { json.key("system_library").value(true).key("prefix").value(prefix_); }

  // `name` may already start with the prefix, because programs name their kernels so.
  Ref<Function> find(std::string_view name) override {
    if (is_special_name(name)) return nullptr;
    void *code = find_symbol(concat(kFunctionPrefix, prefix_, name));
    if (!code) code = find_symbol(concat(kFunctionPrefix, name));
    if (!code) return nullptr;
    return make_object<KernelFunction>(reinterpret_cast<SafeCall>(code), Ref<Object>::share(this), std::string(name));
  }

  std::vector<std::string> list() override {
    const std::string start = concat(kFunctionPrefix, prefix_);
    std::vector<std::string> names;
    auto &all = registered_symbols();
    std::scoped_lock lock(all.guard);
    for (auto at = all.addresses.lower_bound(start); at != all.addresses.end() && at->first.starts_with(start); ++at)
      if (const std::string name = at->first.substr(start.size()); !is_special_name(name)) names.push_back(name);
    return names;
  }

  void *symbol(const char *name) override { return find_symbol(name); }
  void *symbol_with_prefix(std::string_view name) const {
    void *address = find_symbol(concat(prefix_, name));
    return address ? address : find_symbol(std::string(name));
  }

 private:
  std::string prefix_;
};

Ref<Module> make_system_library(const std::string &prefix) {
  auto library = make_object<SystemLibrary>(prefix);
  const auto *blob = static_cast<const uint8_t *>(library->symbol_with_prefix(kBlobSymbol));
  if (!blob) return library;
  uint64_t size;  // trusted, because it is part of the program and nothing else has the size
  std::memcpy(&size, blob, sizeof size);
  if (size > SIZE_MAX - sizeof size) fail(OPD_BAD_FORMAT, "the modules embedded in the program have ", size, " bytes");
  std::vector<Ref<Object>> derived;
  return make_embedded_modules({blob, sizeof size + static_cast<size_t>(size)}, library, "the program", {}, derived);
}

}  // namespace

void register_system_symbol(const char *name, void *address) {
  auto &all = registered_symbols();
  void *before = nullptr;
  {
    std::scoped_lock lock(all.guard);
    const auto [at, is_new] = all.addresses.try_emplace(name, address);
    if (!is_new) before = std::exchange(at->second, address);
  }
  if (before && before != address)
    log_warning("the program registered ", name, " twice; the second one is used from here on");
}

Ref<Module> system_library(const std::string &prefix) {
  static auto *guard = new ForkMutex(LockRank::kSystemLibrary);
  static auto *made = new std::map<std::string, Ref<Module>>;
  std::scoped_lock lock(*guard);
  auto &module = (*made)[prefix];
  if (!module) module = make_system_library(prefix);
  return module;
}

}  // namespace opd
