// The registry of the process's global functions.
#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/fork_mutex.h"
#include "value/function.h"

namespace opd {
namespace {

struct Registered {
  Ref<Function> function;
  std::string metadata;
};
struct Registry {
  ForkSharedMutex guard{LockRank::kRegistry};
  std::map<std::string, Registered, std::less<>> functions;
};
Registry &registry() {
  static auto *instance = new Registry;  // never destroyed: artifacts may call while the process exits
  return *instance;
}

}  // namespace

void register_function(std::string name, Ref<Function> function, bool override_existing, std::string metadata) {
  auto &all = registry();
  Registered entry{std::move(function), std::move(metadata)};
  std::unique_lock lock(all.guard);
  auto [place, fresh] = all.functions.try_emplace(std::move(name), entry);
  if (fresh) return;
  if (!override_existing) fail(OPD_ALREADY_EXISTS, "a global function named ", place->first, " exists already");
  std::swap(place->second, entry);
  lock.unlock();  // the replaced function ends outside the lock: its deleter may be foreign code
}

Ref<Function> find_function(std::string_view name) {
  auto &all = registry();
  std::shared_lock lock(all.guard);
  const auto found = all.functions.find(name);
  return found == all.functions.end() ? nullptr : found->second.function;
}

Ref<Function> global_function(std::string_view name) {
  if (auto function = find_function(name)) return function;
  fail_as("ValueError", OPD_NOT_FOUND, "there is no global function named \"", name, "\".",
          suggestion(name, function_names()));
}

void remove_function(std::string_view name) {
  auto &all = registry();
  Ref<Function> removed;
  {
    std::unique_lock lock(all.guard);
    const auto found = all.functions.find(name);
    if (found != all.functions.end()) {
      removed = std::move(found->second.function);
      all.functions.erase(found);
    }
  }
  if (!removed)
    fail_as("ValueError", OPD_NOT_FOUND, "there is no global function named \"", name, "\".",
            suggestion(name, function_names()));
}

std::string function_metadata(std::string_view name) {
  auto &all = registry();
  std::shared_lock lock(all.guard);
  const auto found = all.functions.find(name);
  if (found == all.functions.end())
    fail_as("RuntimeError", OPD_NOT_FOUND, "there is no global function named \"", name, "\"");
  return found->second.metadata;
}

std::vector<std::string> function_names() {
  auto &all = registry();
  std::shared_lock lock(all.guard);
  std::vector<std::string> names;
  for (const auto &[name, function] : all.functions) names.push_back(name);
  return names;
}

}  // namespace opd
