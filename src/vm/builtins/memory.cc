// Builtins that make, view and move storages and tensors.
#include "device/device.h"
#include "vm/builtins/builtins.h"
#include "vm/pool.h"
#include "vm/vm.h"

namespace opd {
namespace {

// A separate function, so that the text is made only if it is needed.
[[noreturn, gnu::noinline]] void bad_storage_size(const View &size, DLDataType dtype) {
  fail(OPD_INVALID_ARGUMENT, "a storage of ", to_text(size), " elements of ", dtype_name(dtype),
       " is too large or negative");
}

[[noreturn, gnu::noinline]] void bad_shape(const View &shape) {
  fail(OPD_INVALID_ARGUMENT, "the shape ", to_text(shape), " has a negative or too large size");
}

Value alloc_storage(Args args) {
  Run &run = run_of(args[0]);
  const auto &size = as<Shape>(args[1], "size");
  const int64_t index = as_int(args[2], "device index");
  const DLDataType dtype = as_dtype(args[3], "dtype");
  const std::string_view scope = args.size() == 5 ? as_text(args[4], "scope") : "";
  const bool is_texture = check_scope(scope, run.pool.device_of(index).device);
  uint64_t bytes;
  if (!storage_bytes(size.dims(), dtype, bytes)) bad_storage_size(args[1], dtype);
  // If the size is in bytes, several tensors share the storage in turn, and each of them gets its own image.
  const bool is_image = is_texture && size.size > 1;
  const ImageShape image = is_image ? image_shape(scope, size.dims(), dtype) : ImageShape{};
  return Ref<VmStorage>::take(run.pool.storage_for({bytes, index, image}));
}

// Makes a tensor with a storage of its own. It is needed if the tensor or the storage is an image, and the other one is
// not the same image. `image` is the tensor's; none: the tensor lies in a block.
Ref<VmTensor> tensor_of_its_own(Run &run, DLDevice device, const Shape &shape, DLDataType dtype, uint64_t bytes,
                                const ImageShape &image) {
  const StorageKind kind{bytes, run.pool.index_of(device), image};
  auto own = Ref<VmStorage>::take(run.pool.storage_for(kind));
  if (run.pool.records_bindings()) [[unlikely]]
    record_version(*own);
  auto tensor = Ref<VmTensor>::take(run.pool.tensor(shape.dims(), dtype, own.get(), 0));
  run.pool.drop(own.detach());  // the tensor has a reference
  return tensor;
}

Value alloc_tensor(Args args) {
  auto &storage = as<VmStorage>(args[0], "storage");
  const int64_t offset = as_int(args[1], "offset");
  const auto &shape = as<Shape>(args[2], "shape");
  const DLDataType dtype = as_dtype(args[3], "dtype");
  const std::string_view scope = args.size() == 5 ? as_text(args[4], "scope") : "";
  const bool is_texture = check_scope(scope, storage.device);
  uint64_t bytes;
  if (!compact_bytes(shape.dims(), dtype, bytes)) bad_shape(args[2]);
  const uint64_t room = storage.size + storage.image.bytes();
  require(offset >= 0 && bytes <= room && static_cast<uint64_t>(offset) <= room - bytes, "a tensor of ", bytes,
          " bytes at offset ", offset, " does not fit a storage of ", room, " bytes");
  require(offset % kAlignment == 0, "offset ", offset, " is not a multiple of ", kAlignment,
          ", which compiled kernels assume of a tensor's data");
  Run *run = Run::of_thread();
  require(run, "tensors of a storage can be made inside a run only");
  if (is_texture || storage.image) [[unlikely]] {
    const ImageShape image = is_texture ? image_shape(scope, shape.dims(), dtype) : ImageShape{};
    const bool has_storages = scope.empty() ? bytes == room : image == storage.image;
    if (!has_storages && scope.empty()) fail_part_of_image(storage, static_cast<uint64_t>(offset), bytes);
    if (!has_storages) return tensor_of_its_own(*run, storage.device, shape, dtype, bytes, image);
  }
  const auto place = static_cast<uint64_t>(offset);
  if (run->pool.records_bindings()) [[unlikely]]
    record_version(storage);
  if (const TensorTemplate *known = run->known_shapes.find(shape, dtype))
    return Ref<VmTensor>::take(run->pool.tensor(*known, &storage, place));
  return Ref<VmTensor>::take(run->pool.tensor(shape.dims(), dtype, &storage, place));
}

// The fast path for compiled code, which allocates before each kernel. It needs a constant shape that was used lately,
// and a tensor in the free list. Returns null in all other cases.
VmTensor *spare_tensor(Args args) noexcept {
  Run *run = Run::of_thread();
  if (!run || args.size() != 4 || args[0].type != run->pool.fast_storage_type() || args[1].type != OPD_INT ||
      args[2].type != OPD_SHAPE || args[3].type != OPD_DTYPE)
    return nullptr;
  auto *storage = static_cast<VmStorage *>(object_of(args[0]));
  const TensorTemplate *known = run->known_shapes.recent(*static_cast<Shape *>(object_of(args[2])), args[3].u.dtype);
  const auto offset = static_cast<uint64_t>(args[1].u.int64);
  if (!known || known->bytes > storage->size || offset > storage->size - known->bytes || offset % kAlignment)
    return nullptr;
  return run->pool.spare_tensor(*known, storage, offset);
}

constexpr Builtin kAllocTensorOfAny =
    builtin<"vm.builtin.alloc_tensor", alloc_tensor, "(storage, offset, shape, dtype [, scope])", 4, 5>();

// A separate function, so that the fast path needs no stack frame.
[[gnu::noinline]] int call_alloc_tensor_of_any(void *self, const View *args, int32_t num_args, View *result) {
  return kAllocTensorOfAny.call(self, args, num_args, result);
}

[[gnu::aligned(64)]] int call_alloc_tensor(void *self, const View *args, int32_t num_args, View *result) {
  VmTensor *spare = spare_tensor({args, static_cast<size_t>(num_args)});
  if (!spare) [[unlikely]]
    return call_alloc_tensor_of_any(self, args, num_args, result);
  View tensor = opd_none();
  tensor.type = OPD_TENSOR;
  tensor.u.object = reinterpret_cast<opd_object *>(static_cast<Object *>(spare));
  write_whole(result, tensor);
  return 0;
}

Value null_value(Args) { return {}; }

Value copy(Args args) { return Value(args[0]); }

Ref<Tensor> tensor_of(const View &v) { return Ref<Tensor>::share(&as<Tensor>(v, "tensor")); }

Value reshape_tensor(Args args) { return reshape(tensor_of(args[0]), as<Shape>(args[1], "shape").dims()); }

Value to_device(Args args) {
  auto tensor = tensor_of(args[0]);
  const DLDevice device{static_cast<DLDeviceType>(as_int(args[1], "device type")),
                        static_cast<int32_t>(as_int(args[2], "device id"))};
  const std::string_view scope = args.size() == 4 ? as_text(args[3], "scope") : "";
  const ImageShape wanted =
      check_scope(scope, device) ? image_shape(scope, dims_of(tensor->dl), tensor->dl.dtype) : ImageShape{};
  if (same(device, tensor->dl.device)) {
    DeviceBackend *const backend = find_kind(device.device_type);
    const ImageShape given = backend ? backend->image_at(device.device_id, data_of(tensor->dl)) : ImageShape{};
    if (scope.empty() || given == wanted) return tensor;
  }
  return copied_to(device, tensor->dl, MemoryUse::kTensor, scope);
}

Value ensure_zero_offset(Args args) {
  auto tensor = tensor_of(args[0]);
  if (tensor->dl.byte_offset == 0) return tensor;
  return copied_to(tensor->dl.device, tensor->dl);
}

Value clear_memory(Args) {
  trim_all_memory();
  return {};
}

// TVM's Tensor.CreateView: a tensor with another shape or dtype in the same memory. The view keeps the memory alive.
Value create_view(Args args) {
  auto &tensor = as<Tensor>(args[0], "tensor");
  const auto &shape = as<Shape>(args[1], "shape");
  const DLDataType dtype = as_dtype(args[2], "dtype");
  const int64_t offset = as_int(args[3], "offset");
  require(is_contiguous(tensor.dl), "a view needs a contiguous tensor, but is of ", describe(tensor.dl));
  uint64_t bytes;
  if (!compact_bytes(shape.dims(), dtype, bytes)) bad_shape(args[1]);
  const uint64_t size = bytes_of(tensor.dl);
  if (offset < 0 || static_cast<uint64_t>(offset) > size || bytes > size - static_cast<uint64_t>(offset))
    fail(OPD_INVALID_ARGUMENT, "a view of ", bytes, " bytes at byte ", offset, " does not lie within the ", size,
         " bytes of ", describe(tensor.dl));
  auto view = Tensor::make_view(Ref<Tensor>::share(&tensor), shape.dims(), dtype, tensor.dl.device, tensor.dl.data);
  view->dl.byte_offset = tensor.dl.byte_offset + static_cast<uint64_t>(offset);  // the data stays aligned, as in TVM
  return view;
}

constexpr Builtin kMemoryBuiltins[] = {
    builtin<"runtime.TVMTensorCreateView", create_view, "(tensor, shape, dtype, offset in bytes)", 4>(),
    builtin<"vm.builtin.alloc_storage", alloc_storage, "(vm, size, device index, dtype [, scope])", 4, 5>(),
    {"vm.builtin.alloc_tensor", call_alloc_tensor},
    builtin<"vm.builtin.null_value", null_value, "()", 0>(),
    builtin<"vm.builtin.copy", copy, "(x)", 1>(),
    builtin<"vm.builtin.reshape", reshape_tensor, "(tensor, shape)", 2>(),
    builtin<"vm.builtin.to_device", to_device, "(tensor, device type, device id [, scope])", 3, 4>(),
    builtin<"vm.builtin.ensure_zero_offset", ensure_zero_offset, "(tensor)", 1>(),
    builtin<"vm.builtin.memory_manager.clear", clear_memory, "()", 0>(),
};

}  // namespace

std::span<const Builtin> memory_builtins() { return kMemoryBuiltins; }

}  // namespace opd
