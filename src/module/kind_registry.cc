#include "module/kind_registry.h"

#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/fork_mutex.h"

namespace opd {
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

}  // namespace opd
