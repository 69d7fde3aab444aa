// Named tensors of the process, which outlive the runs that made them, and parameter lists made from them.
#include <map>
#include <shared_mutex>

#include "base/fork_mutex.h"
#include "device/device.h"
#include "module/module.h"
#include "params/formats.h"
#include "vm/builtins/builtins.h"

namespace opd {
namespace {

class TensorCache {
 public:
  static TensorCache &global() {
    static auto *instance = new TensorCache;  // never destroyed: programs may run while the process exits
    return *instance;
  }

  Ref<Tensor> find(std::string_view name) {  // null if absent
    std::shared_lock lock(guard_);
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second;
  }

  // Returns false and does nothing if the name is taken and `override_existing` is not set.
  bool set(std::string_view name, Ref<Tensor> tensor, bool override_existing) {
    std::unique_lock lock(guard_);
    const auto [place, fresh] = tensors_.try_emplace(std::string(name), tensor);
    if (!fresh && !override_existing) return false;
    if (!fresh) std::swap(place->second, tensor);
    lock.unlock();  // a replaced tensor ends outside the lock: its deleter may be foreign code
    return true;
  }

  void remove(std::string_view name) {
    decltype(tensors_)::node_type removed;
    std::unique_lock lock(guard_);
    if (const auto found = tensors_.find(name); found != tensors_.end()) removed = tensors_.extract(found);
    lock.unlock();
  }

  void clear() {
    decltype(tensors_) removed;
    std::unique_lock lock(guard_);
    removed.swap(tensors_);
    lock.unlock();
  }

  Ref<Tensor> get(std::string_view name) {  // throws OPD_NOT_FOUND
    if (auto tensor = find(name)) return tensor;
    std::shared_lock lock(guard_);
    std::vector<std::string_view> names;
    for (const auto &entry : tensors_) names.push_back(entry.first);
    fail(OPD_NOT_FOUND, "there is no tensor \"", name, "\" among the ", names.size(), " of the tensor cache.",
         suggestion(name, names));
  }

 private:
  ForkSharedMutex guard_{LockRank::kTensorCache};
  std::map<std::string, Ref<Tensor>, std::less<>> tensors_;
};

Ref<Tensor> on_device(Ref<Tensor> tensor, DLDevice device) {
  if (same(tensor->dl.device, device)) return tensor;
  auto moved = make_tensor(dims_of(tensor->dl), tensor->dl.dtype, device);
  copy_tensor(tensor->dl, moved->dl);
  return moved;
}

Value cache_get(Args args) {
  check_count(args, 1, 1, "(name)");
  return TensorCache::global().find(as_text(args[0], "name"));
}

Value cache_update(Args args) {
  check_count(args, 2, 3, "(name, tensor [, override])");
  const std::string_view name = as_text(args[0], "name");
  const bool override_existing = args.size() == 3 && as_int(args[2], "override") != 0;
  Ref<Tensor> tensor;
  if (args[1].type == OPD_DLTENSOR) {  // a view of foreign memory, which the cache cannot keep alive
    const DLTensor &view = as_dltensor(args[1], "tensor");
    tensor = make_tensor(dims_of(view), view.dtype, view.device);
    copy_tensor(view, tensor->dl);
  } else {
    tensor = Ref<Tensor>::share(&as<Tensor>(args[1], "tensor"));
  }
  if (!TensorCache::global().set(name, std::move(tensor), override_existing))
    fail(OPD_ALREADY_EXISTS, "the tensor cache has a tensor \"", name, "\" already, and override is not set");
  return {};
}

Value cache_remove(Args args) {
  check_count(args, 1, 1, "(name)");
  TensorCache::global().remove(as_text(args[0], "name"));
  return {};
}

Value cache_clear(Args args) {
  check_count(args, 0, 0, "()");
  TensorCache::global().clear();
  return {};
}

Value cache_load(Args args) {
  check_count(args, 3, 3, "(path, device type, device id)");
  const std::string path(as_text(args[0], "path"));
  const int64_t type = as_int(args[1], "device type"), id = as_int(args[2], "device id");
  require(type > 0 && type <= INT32_MAX && id >= 0 && id <= INT32_MAX, "device type ", type, " and id ", id,
          " name no device");
  const DLDevice device{static_cast<DLDeviceType>(type), static_cast<int32_t>(id)};
  device_backend(device);                                 // an absent device is refused before the files are read
  const auto params = load_params(path, {.copy = true});  // the cache outlives the file
  for (size_t i = 0; i < params->size(); ++i)
    TensorCache::global().set(params->name(i), on_device(params->tensor(i), device), true);
  return {};
}

// ---- parameter lists

Ref<Array> array_of(const std::vector<Value> &items) { return Array::make(views_of(items)); }

Ref<Array> numbered(Args args) {  // prefix_0, prefix_1, …; without a count: up to the first absent name
  check_count(args, 2, 2, "(prefix, count)");
  const std::string_view prefix = as_text(args[0], "prefix");
  const int64_t count = as_int(args[1], "count");
  if (count < -1) fail(OPD_OUT_OF_RANGE, "count must be -1 (all) or at least 0, but is ", count);
  std::vector<Value> tensors;
  for (int64_t i = 0; i != count; ++i) {
    const std::string name = concat(prefix, "_", i);
    auto tensor = count < 0 ? TensorCache::global().find(name) : TensorCache::global().get(name);
    if (!tensor) break;
    tensors.emplace_back(std::move(tensor));
  }
  return array_of(tensors);
}

Ref<Array> named(Args names) {
  std::vector<Value> tensors;
  for (const View &name : names) tensors.emplace_back(TensorCache::global().get(as_text(name, "a name")));
  return array_of(tensors);
}

Ref<Array> named_by_array(Args args) {
  check_count(args, 1, 1, "(names)");
  return named(as<Array>(args[0], "names").views());
}

// A module that returns a parameter list from get_params().
struct ParamModule final : Module {
  explicit ParamModule(Ref<Array> params) : params_(std::move(params)) {}
  const char *kind() const override { return "param_module"; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }
  std::vector<std::string> list() override { return {"get_params"}; }
  Ref<Function> find(std::string_view name) override {
    if (name != "get_params") return nullptr;
    return make_function([params = params_](Args) -> Value { return params; });
  }

 private:
  const Ref<Array> params_;
};

Value param_array(Args args) { return numbered(args); }
Value param_array_by_name(Args args) { return named_by_array(args); }
Value param_array_by_name_unpacked(Args args) { return named(args); }
Value param_module(Args args) { return make_object<ParamModule>(numbered(args)); }
Value param_module_by_name(Args args) { return make_object<ParamModule>(named_by_array(args)); }

constexpr Builtin kTensorCacheBuiltins[] = {
    builtin<"vm.builtin.tensor_cache.get", cache_get>(),
    builtin<"vm.builtin.tensor_cache.update", cache_update>(),
    builtin<"vm.builtin.tensor_cache.remove", cache_remove>(),
    builtin<"vm.builtin.tensor_cache.clear", cache_clear>(),
    builtin<"vm.builtin.tensor_cache.load", cache_load>(),
    // TVM's names before it renamed NDArray to Tensor.
    builtin<"vm.builtin.ndarray_cache.get", cache_get>(),
    builtin<"vm.builtin.ndarray_cache.update", cache_update>(),
    builtin<"vm.builtin.ndarray_cache.remove", cache_remove>(),
    builtin<"vm.builtin.ndarray_cache.clear", cache_clear>(),
    builtin<"vm.builtin.ndarray_cache.load", cache_load>(),
    builtin<"vm.builtin.param_array_from_cache", param_array>(),
    builtin<"vm.builtin.param_array_from_cache_by_name", param_array_by_name>(),
    builtin<"vm.builtin.param_array_from_cache_by_name_unpacked", param_array_by_name_unpacked>(),
    builtin<"vm.builtin.param_module_from_cache", param_module>(),
    builtin<"vm.builtin.param_module_from_cache_by_name", param_module_by_name>(),
};

}  // namespace

std::span<const Builtin> tensor_cache_builtins() { return kTensorCacheBuiltins; }

}  // namespace opd
