// The functions that compiled programs expect from a runtime: vm.builtin.*, relax.run.*, tvm.contrib.sort.*. Each file
// of this directory offers one group of them.
#pragma once
#include <map>
#include <shared_mutex>
#include <span>

#include "base/fork_mutex.h"
#include "value/function.h"
#include "vm/run.h"

namespace opd {

struct Builtin {
  const char *name;
  SafeCall call;
};

// Returns the error with the builtin's name in front.
Ref<Error> named_error(const char *builtin, Ref<Error> error) noexcept;

[[noreturn]] void wrong_count(Args args, const char *usage);

// A builtin's body as a safe call. Errors begin with the builtin's name. The body returns a value. A body that only
// checks returns a Ref<Error>: the violation, or null. It gets kLeast to kMost arguments, which `kUsage` names.
template <Literal kName, auto kBody, Literal kUsage, size_t kLeast, size_t kMost>
int builtin_call(void *, const View *args, int32_t num_args, View *result) {
  Ref<Error> error;
  try {
    const Args given(args, static_cast<size_t>(num_args));
    if (given.size() < kLeast || given.size() > kMost) [[unlikely]]
      wrong_count(given, kUsage.text);
    auto made = kBody(given);
    if constexpr (std::is_same_v<decltype(made), Ref<Error>>) error = std::move(made);
    else write_whole(result, Value(std::move(made)).detach());
    if (!error) return 0;
  } catch (...) { error = current_error(); }
  set_raised(named_error(kName.text, std::move(error)));
  return -1;
}

template <Literal kName, auto kBody, Literal kUsage, size_t kLeast, size_t kMost = kLeast>
constexpr Builtin builtin() {
  return {kName.text, builtin_call<kName, kBody, kUsage, kLeast, kMost>};
}

std::span<const Builtin> shape_builtins();
std::span<const Builtin> memory_builtins();
std::span<const Builtin> control_builtins();
std::span<const Builtin> tensor_cache_builtins();
std::span<const Builtin> sampling_builtins();
std::span<const Builtin> kv_cache_builtins();
std::span<const Builtin> kv_state_builtins();
std::span<const Builtin> sort_builtins();
std::span<const Builtin> unique_builtins();
std::span<const Builtin> host_builtins();

// Registers the builtins as global functions. Idempotent.
void register_builtins();

// Whether a global function is a builtin. False if the host registered another function under the name.
bool is_builtin(std::string_view name, const Function &function);

// Returns the run that called a builtin. Throws if `vm` is not the VM of the calling thread's run.
Run &run_of(const View &vm);
// Returns the program's description of the checked place, as a prefix of the error message.
std::string error_context(const View &error);
// Makes the error of a failed check. The error is returned, because a throw would take several times as long, and users
// meet it more often than any other error.
template <class... Parts>
Ref<Error> mismatch(const char *kind, const View &error, const Parts &...parts) {
  return make_error(OPD_INVALID_ARGUMENT, concat(error_context(error), parts...), kind);
}
// Objects of the process by name, which outlive the runs that made them. Removed and replaced objects end outside the
// lock, because their deleters may be foreign code.
template <class T, LockRank kRank>
class NamedObjects {
 public:
  static NamedObjects &global() {
    static auto *instance = new NamedObjects;  // never destroyed: programs may run while the process exits
    return *instance;
  }

  Ref<T> find(std::string_view name) {  // null if absent
    std::shared_lock lock(guard_);
    const auto found = objects_.find(name);
    return found == objects_.end() ? nullptr : found->second;
  }

  // Returns false and does nothing if the name is taken and `override_existing` is not set.
  bool set(std::string_view name, Ref<T> object, bool override_existing) {
    std::unique_lock lock(guard_);
    const auto [place, fresh] = objects_.try_emplace(std::string(name), object);
    if (!fresh && !override_existing) return false;
    if (!fresh) std::swap(place->second, object);
    lock.unlock();
    return true;
  }

  void remove(std::string_view name) {
    typename Objects::node_type removed;
    std::unique_lock lock(guard_);
    if (const auto found = objects_.find(name); found != objects_.end()) removed = objects_.extract(found);
    lock.unlock();
  }

  void clear() {
    Objects removed;
    std::unique_lock lock(guard_);
    removed.swap(objects_);
    lock.unlock();
  }

  std::vector<std::string> names() {
    std::shared_lock lock(guard_);
    std::vector<std::string> names;
    for (const auto &entry : objects_) names.push_back(entry.first);
    return names;
  }

 private:
  using Objects = std::map<std::string, Ref<T>, std::less<>>;
  ForkSharedMutex guard_{kRank};
  Objects objects_;
};

}  // namespace opd
