#include "module/image/symbol_table.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "base/fork_mutex.h"

namespace opd {
namespace {

struct ProvidedSymbols {
  ForkSharedMutex guard{LockRank::kSymbols};
  std::unordered_map<std::string_view, void *> addresses;
};
ProvidedSymbols &provided_symbols() {
  static auto *instance = new ProvidedSymbols;  // never destroyed: artifacts may be loaded while the process exits
  return *instance;
}

}  // namespace

void provide_symbols(std::span<const ProvidedSymbol> provided) {
  auto &all = provided_symbols();
  std::unique_lock lock(all.guard);
  for (const auto &[name, address] : provided) all.addresses[name] = address;
}

void *provided_symbol(std::string_view name) {
  auto &all = provided_symbols();
  std::shared_lock lock(all.guard);
  const auto found = all.addresses.find(name);
  return found == all.addresses.end() ? nullptr : found->second;
}

}  // namespace opd
