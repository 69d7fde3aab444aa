#include "value/function.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace opd {
namespace {

struct Registry {
  std::shared_mutex guard;
  std::map<std::string, Ref<Function>, std::less<>> functions;
};
Registry &registry() {
  static auto *instance = new Registry;  // never destroyed: artefacts may call while the process exits
  return *instance;
}

}  // namespace

int Callback::run(void *self, const View *args, int32_t num_args, View *result) {
  auto *callback = static_cast<Callback *>(self);
  opd_error *error = callback->body(callback->user_data, args, num_args, result);
  if (!error) [[likely]]
    return 0;
  set_raised(Ref<Error>::take(reinterpret_cast<Error *>(error)));
  return -1;
}

void check_arity(Args args, std::initializer_list<const char *> names, std::string_view function) {
  if (args.size() == names.size()) [[likely]]
    return;
  std::string list;
  for (const char *name : names) list += concat(list.empty() ? "" : ", ", name);
  fail_as("TypeError", OPD_INVALID_ARGUMENT, function, "(", list, ") takes ", counted(names.size(), "argument"),
          ", but was given ", args.size());
}

void register_function(std::string name, Ref<Function> function, bool override_existing) {
  auto &all = registry();
  std::unique_lock lock(all.guard);
  auto [place, fresh] = all.functions.try_emplace(std::move(name), function);
  if (fresh) return;
  if (!override_existing) fail(OPD_ALREADY_EXISTS, "a global function named ", place->first, " exists already");
  std::swap(place->second, function);
  lock.unlock();  // the replaced function ends outside the lock: its deleter may be foreign code
}

Ref<Function> find_function(std::string_view name) {
  auto &all = registry();
  std::shared_lock lock(all.guard);
  const auto found = all.functions.find(name);
  return found == all.functions.end() ? nullptr : found->second;
}

Ref<Function> global_function(std::string_view name) {
  if (auto function = find_function(name)) return function;
  fail(OPD_NOT_FOUND, "there is no global function named \"", name, "\".", suggestion(name, function_names()));
}

void remove_function(std::string_view name) {
  auto &all = registry();
  Ref<Function> removed;
  {
    std::unique_lock lock(all.guard);
    const auto found = all.functions.find(name);
    if (found != all.functions.end()) {
      removed = std::move(found->second);
      all.functions.erase(found);
    }
  }
  if (!removed)
    fail(OPD_NOT_FOUND, "there is no global function named \"", name, "\".", suggestion(name, function_names()));
}

std::vector<std::string> function_names() {
  auto &all = registry();
  std::shared_lock lock(all.guard);
  std::vector<std::string> names;
  for (const auto &[name, function] : all.functions) names.push_back(name);
  return names;
}

}  // namespace opd
