// Storages and tensors: made, viewed, moved.
#include "device/device.h"
#include "vm/builtins/builtins.h"
#include "vm/vm.h"

namespace opd {
namespace {

Value alloc_storage(Args args) {
  check_count(args, 4, 5, "(vm, size, device index, dtype [, scope])");
  Run &run = run_of(args[0]);
  const auto &size = as<Shape>(args[1], "size");
  const int64_t index = as_int(args[2], "device index");
  const DLDataType dtype = as_dtype(args[3], "dtype");
  if (args.size() == 5) {
    const std::string_view scope = as_text(args[4], "scope");
    if (scope != "global" && !scope.empty())
      fail(OPD_UNSUPPORTED, "memory scope \"", scope, "\" is not offered by the CPU; \"global\" is");
  }
  const auto &devices = run.vm->devices();
  if (index < -1 || index >= static_cast<int64_t>(devices.size()))
    fail(OPD_OUT_OF_RANGE, "device index ", index, " of a VM with ", devices.size(), " devices");
  uint64_t bytes;
  require(storage_bytes(size.dims(), dtype, bytes), "a storage of ", to_text(args[1]), " elements of ",
          dtype_name(dtype), " is too large or negative");
  return Ref<VmStorage>::take(run.pool.storage(run.pool.size_class_of(bytes)));
}

Value alloc_tensor(Args args) {
  check_count(args, 4, 5, "(storage, offset, shape, dtype [, scope])");
  auto &storage = as<VmStorage>(args[0], "storage");
  const int64_t offset = as_int(args[1], "offset");
  const auto &shape = as<Shape>(args[2], "shape");
  const DLDataType dtype = as_dtype(args[3], "dtype");
  uint64_t count, bytes;
  require(element_count(shape.data, static_cast<int64_t>(shape.size), count) && data_bytes(count, dtype, bytes),
          "the shape ", to_text(args[2]), " has a negative or too large size");
  require(offset >= 0 && bytes <= storage.size && static_cast<uint64_t>(offset) <= storage.size - bytes, "a tensor of ",
          bytes, " bytes at offset ", offset, " does not fit a storage of ", storage.size, " bytes");
  require(offset % kAlignment == 0, "offset ", offset, " is no multiple of ", kAlignment,
          ", which compiled kernels assume of a tensor's data");
  RunPool *pool = RunPool::current();
  require(pool, "tensors of a storage can be made inside a run only");
  return Ref<VmTensor>::take(pool->tensor(shape.dims(), dtype, &storage, static_cast<uint64_t>(offset)));
}

Value null_value(Args args) {
  check_count(args, 0, 0, "()");
  return {};
}

Value copy(Args args) {
  check_count(args, 1, 1, "(x)");
  return Value(args[0]);
}

Ref<Tensor> tensor_of(const View &v) { return Ref<Tensor>::share(&as<Tensor>(v, "tensor")); }

Value reshape_tensor(Args args) {
  check_count(args, 2, 2, "(tensor, shape)");
  return reshape(tensor_of(args[0]), as<Shape>(args[1], "shape").dims());
}

Value to_device(Args args) {
  check_count(args, 3, 4, "(tensor, device type, device id [, scope])");
  auto tensor = tensor_of(args[0]);
  const DLDevice device{static_cast<DLDeviceType>(as_int(args[1], "device type")),
                        static_cast<int32_t>(as_int(args[2], "device id"))};
  if (same(device, tensor->dl.device)) return tensor;
  auto moved = make_tensor(dims_of(tensor->dl), tensor->dl.dtype, device);
  copy_tensor(tensor->dl, moved->dl);
  return moved;
}

Value ensure_zero_offset(Args args) {
  check_count(args, 1, 1, "(tensor)");
  auto tensor = tensor_of(args[0]);
  if (tensor->dl.byte_offset == 0) return tensor;
  auto copied = make_tensor(dims_of(tensor->dl), tensor->dl.dtype, tensor->dl.device);
  copy_tensor(tensor->dl, copied->dl);
  return copied;
}

Value clear_memory(Args) {
  trim_memory(kHost);
  return {};
}

constexpr Builtin kBuiltins[] = {
    builtin<"vm.builtin.alloc_storage", alloc_storage>(),
    builtin<"vm.builtin.alloc_tensor", alloc_tensor>(),
    builtin<"vm.builtin.null_value", null_value>(),
    builtin<"vm.builtin.copy", copy>(),
    builtin<"vm.builtin.reshape", reshape_tensor>(),
    builtin<"vm.builtin.to_device", to_device>(),
    builtin<"vm.builtin.ensure_zero_offset", ensure_zero_offset>(),
    builtin<"vm.builtin.memory_manager.clear", clear_memory>(),
};

}  // namespace

std::span<const Builtin> memory_builtins() { return kBuiltins; }

}  // namespace opd
