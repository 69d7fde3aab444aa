// Named tensors of the process, which outlive the runs that made them, and parameter lists made from them.
#include "device/device.h"
#include "module/module.h"
#include "params/formats.h"
#include "vm/builtins/builtins.h"

namespace opd {
namespace {

using TensorCache = NamedObjects<Tensor, LockRank::kTensorCache>;

Ref<Tensor> cached(std::string_view name) {  // throws OPD_NOT_FOUND
  if (auto tensor = TensorCache::global().find(name)) return tensor;
  const auto names = TensorCache::global().names();
  fail(OPD_NOT_FOUND, "there is no tensor \"", name, "\" among the ", names.size(), " of the tensor cache.",
       suggestion(name, names));
}

Value cache_get(Args args) { return TensorCache::global().find(as_text(args[0], "name")); }

Value cache_update(Args args) {
  const std::string_view name = as_text(args[0], "name");
  const bool override_existing = args.size() == 3 && as_int(args[2], "override") != 0;
  Ref<Tensor> tensor;
  if (args[1].type == OPD_DLTENSOR) {  // a view of foreign memory, which the cache cannot keep alive
    const DLTensor &view = as_dltensor(args[1], "tensor");
    tensor = copied_to(view.device, view);
  } else {
    tensor = Ref<Tensor>::share(&as<Tensor>(args[1], "tensor"));
  }
  if (!TensorCache::global().set(name, std::move(tensor), override_existing))
    fail(OPD_ALREADY_EXISTS, "the tensor cache has a tensor \"", name, "\" already, and override is not set");
  return {};
}

Value cache_remove(Args args) {
  TensorCache::global().remove(as_text(args[0], "name"));
  return {};
}

Value cache_clear(Args) {
  TensorCache::global().clear();
  return {};
}

Value cache_load(Args args) {
  const std::string path(as_text(args[0], "path"));
  const int64_t type = as_int(args[1], "device type"), id = as_int(args[2], "device id");
  require(type > 0 && type <= INT32_MAX && id >= 0 && id <= INT32_MAX, "device type ", type, " and id ", id,
          " name no device");
  const DLDevice device{static_cast<DLDeviceType>(type), static_cast<int32_t>(id)};
  device_backend(device);                                 // an absent device is refused before the files are read
  const auto params = load_params(path, {.copy = true});  // the cache outlives the file
  for (size_t i = 0; i < params->size(); ++i) {
    const Ref<Tensor> tensor = params->tensor(i);
    const bool is_there = same(tensor->dl.device, device);
    TensorCache::global().set(params->name(i), is_there ? tensor : copied_to(device, tensor->dl), true);
  }
  return {};
}

// ---- parameter lists

Ref<Array> array_of(const std::vector<Value> &items) { return Array::make(views_of(items)); }

Ref<Array> numbered(Args args) {  // prefix_0, prefix_1, …; without a count: up to the first absent name
  const std::string_view prefix = as_text(args[0], "prefix");
  const int64_t count = as_int(args[1], "count");
  if (count < -1) fail(OPD_OUT_OF_RANGE, "count must be -1 (all) or at least 0, but is ", count);
  std::vector<Value> tensors;
  for (int64_t i = 0; i != count; ++i) {
    const std::string name = concat(prefix, "_", i);
    auto tensor = count < 0 ? TensorCache::global().find(name) : cached(name);
    if (!tensor) break;
    tensors.emplace_back(std::move(tensor));
  }
  return array_of(tensors);
}

Ref<Array> named(Args names) {
  std::vector<Value> tensors;
  for (const View &name : names) tensors.emplace_back(cached(as_text(name, "a name")));
  return array_of(tensors);
}

Ref<Array> named_by_array(Args args) { return named(as<Array>(args[0], "names").views()); }

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

Ref<Module> param_module(Args args) { return make_object<ParamModule>(numbered(args)); }
Ref<Module> param_module_by_name(Args args) { return make_object<ParamModule>(named_by_array(args)); }

constexpr Builtin kTensorCacheBuiltins[] = {
    builtin<"vm.builtin.tensor_cache.get", cache_get, "(name)", 1>(),
    builtin<"vm.builtin.tensor_cache.update", cache_update, "(name, tensor [, override])", 2, 3>(),
    builtin<"vm.builtin.tensor_cache.remove", cache_remove, "(name)", 1>(),
    builtin<"vm.builtin.tensor_cache.clear", cache_clear, "()", 0>(),
    builtin<"vm.builtin.tensor_cache.load", cache_load, "(path, device type, device id)", 3>(),
    // TVM's names before it renamed NDArray to Tensor.
    builtin<"vm.builtin.ndarray_cache.get", cache_get, "(name)", 1>(),
    builtin<"vm.builtin.ndarray_cache.update", cache_update, "(name, tensor [, override])", 2, 3>(),
    builtin<"vm.builtin.ndarray_cache.remove", cache_remove, "(name)", 1>(),
    builtin<"vm.builtin.ndarray_cache.clear", cache_clear, "()", 0>(),
    builtin<"vm.builtin.ndarray_cache.load", cache_load, "(path, device type, device id)", 3>(),
    builtin<"vm.builtin.param_array_from_cache", numbered, "(prefix, count)", 2>(),
    builtin<"vm.builtin.param_array_from_cache_by_name", named_by_array, "(names)", 1>(),
    builtin<"vm.builtin.param_array_from_cache_by_name_unpacked", named, "(names …)", 0, SIZE_MAX>(),
    builtin<"vm.builtin.param_module_from_cache", param_module, "(prefix, count)", 2>(),
    builtin<"vm.builtin.param_module_from_cache_by_name", param_module_by_name, "(names)", 1>(),
};

}  // namespace

std::span<const Builtin> tensor_cache_builtins() { return kTensorCacheBuiltins; }

}  // namespace opd
