// C functions for tensors, and for the process's front end, the binding of a host language.
#include <algorithm>
#include <atomic>
#include <cstddef>

#include "device/device.h"
#include "module/image/artifact.h"
#include "tvmffi/groups.h"
#include "value/tensor.h"

namespace opd {
namespace {

// ---- settings that a language's front end makes. For the process: opaque objects, allocator, signals. For each
// thread: streams and the tensor allocator.

struct OpaqueObject final : Object {  // tvm-ffi's opaque object cell
  static int32_t type() { return kOpaqueObject; }
  void *handle;
  void (*end)(void *handle);
  OpaqueObject(void *h, void (*e)(void *)) : handle(h), end(e) {}
  ~OpaqueObject() {
    if (end) end(handle);
  }
};

struct CustomAllocator {  // TVMFFICustomAllocator
  void *(*allocate)(size_t size, size_t alignment, int32_t type, void *context);
  void *context;
};
// The address of an object's deleter lies before its body (TVMFFIObjectAllocHeader).
constexpr size_t kBefore = alignof(std::max_align_t);
void *allocate_body(size_t size, size_t alignment, int32_t, void *) {
  void *body = nullptr;
  raising([&] {
    require(alignment <= kBefore, "objects aligned to ", alignment, " bytes cannot be allocated");
    body = static_cast<char *>(::operator new(kBefore + size)) + kBefore;
    static_cast<void (**)(void *)>(body)[-1] = [](void *b) { ::operator delete(static_cast<char *>(b) - kBefore); };
  });
  return body;
}
CustomAllocator own_allocator{allocate_body, nullptr};
std::atomic<CustomAllocator *> current_allocator{&own_allocator};

struct Signals {  // Python's functions; all null without Python
  std::atomic<int (*)()> check{nullptr};
  std::atomic<void *(*)()> lock{nullptr};
  std::atomic<void (*)(void *)> unlock{nullptr};
} signals;

// DLPackManagedTensorAllocator: makes a tensor like the prototype.
using TensorMaker = int (*)(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
                            void (*set_error)(void *context, const char *kind, const char *message));
std::atomic<TensorMaker> process_tensor_maker{nullptr};
thread_local TensorMaker thread_tensor_maker = nullptr;
// Null: opdyno's own memory is used.
TensorMaker tensor_maker() { return thread_tensor_maker ? thread_tensor_maker : process_tensor_maker.load(); }

extern "C" {

static int TVMFFIObjectCreateOpaque(void *handle, int32_t type, void (*deleter)(void *), void **out_object) {
  return raising([&] {
    require(out_object, "TVMFFIObjectCreateOpaque: out must not be NULL");
    if (type != kOpaqueObject)
      fail_as("RuntimeError", OPD_UNSUPPORTED, "an opaque object must be of type ", type_key(kOpaqueObject), ", not ",
              type_key(type));
    *out_object = static_cast<Object *>(make_object<OpaqueObject>(handle, deleter).detach());
  });
}

static CustomAllocator *TVMFFIGetCustomAllocator() { return current_allocator; }
static int TVMFFISetCustomAllocator(CustomAllocator *allocator) {
  return raising([&] {
    require(!allocator || allocator->allocate, "TVMFFISetCustomAllocator was given an allocator without a function");
    current_allocator = allocator ? allocator : &own_allocator;
  });
}

static int TVMFFIEnvRegisterCAPI(const char *name, void *function) {
  return raising([&] {
    require(name, "TVMFFIEnvRegisterCAPI: name must not be NULL");
    const std::string_view text = name;
    if (text == "PyErr_CheckSignals") signals.check = reinterpret_cast<int (*)()>(function);
    else if (text == "PyGILState_Ensure") signals.lock = reinterpret_cast<void *(*)()>(function);
    else if (text == "PyGILState_Release") signals.unlock = reinterpret_cast<void (*)(void *)>(function);
    else fail(OPD_INVALID_ARGUMENT, "Unknown env API ", text);
  });
}

// Returns a nonzero value if the front end raised an error.
static int TVMFFIEnvCheckSignals() {
  auto *check = signals.check.load();
  auto *lock = signals.lock.load();
  auto *unlock = signals.unlock.load();
  if (!check || !lock || !unlock) return 0;
  void *state = lock();
  const int raised = check();
  unlock(state);
  return raised ? -1 : 0;
}

static void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  return current_stream({static_cast<DLDeviceType>(device_type), device_id});
}
static int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, void *stream, void **out_before) {
  return raising([&] {
    require(device_type >= 0 && device_id >= 0, "a stream was set for device ", device_type, ":", device_id);
    void *before = set_current_stream({static_cast<DLDeviceType>(device_type), device_id}, stream);
    if (out_before) *out_before = before;
  });
}

static TensorMaker TVMFFIEnvGetDLPackManagedTensorAllocator() { return tensor_maker(); }
static int TVMFFIEnvSetDLPackManagedTensorAllocator(TensorMaker maker, int for_process, TensorMaker *out_before) {
  if (out_before) *out_before = thread_tensor_maker;
  if (for_process) process_tensor_maker = maker;
  thread_tensor_maker = maker;
  return 0;
}

// The symbol is written into libraries that are loaded later and define the name. opdyno's own symbols cannot be
// replaced.
static int TVMFFIEnvModRegisterContextSymbol(const char *name, void *symbol) {
  return raising([&] {
    require(name && symbol && std::string_view(name).starts_with("__"),
            "TVMFFIEnvModRegisterContextSymbol was given \"", name ? name : "", "\"; names start with __");
    if (provided_symbol(name + 2)) return;
    const char *const kept = ::strdup(name + 2);  // never freed: the table uses it
    if (!kept) throw std::bad_alloc();
    const ProvidedSymbol provided{kept, symbol};
    provide_symbols({&provided, 1});
  });
}

static void TVMFFIGetVersion(uint32_t *out_version) {
  static constexpr uint32_t kVersion[] = {0, 1, 15};
  if (out_version) std::copy_n(kVersion, 3, out_version);
}

}  // extern "C"

// ---- tensors: creation, views, import from and export to DLPack

template <class Managed>
int take_over(Managed *managed, int32_t alignment, int32_t contiguous, void **out_tensor) {
  return raising([&] {
    require(managed && out_tensor, "a DLPack tensor to take over, or the place for the result, is NULL");
    const DLTensor &tensor = managed->dl_tensor;
    require(alignment <= 0 ||
                (reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset) % static_cast<uint32_t>(alignment) == 0,
            "a DLPack tensor is not aligned to ", alignment, " bytes");
    require(!contiguous || tensor.ndim <= 0 || is_contiguous(tensor),
            "a DLPack tensor is strided where a contiguous one is needed");
    *out_tensor = from_dlpack(managed).detach();
  });
}

extern "C" {

static int TVMFFITensorFromDLPack(DLManagedTensor *managed, int32_t alignment, int32_t contiguous, void **out_tensor) {
  return take_over(managed, alignment, contiguous, out_tensor);
}

static int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned *managed, int32_t alignment, int32_t contiguous,
                                           void **out_tensor) {
  return take_over(managed, alignment, contiguous, out_tensor);
}

static int TVMFFITensorToDLPack(void *tensor, DLManagedTensor **out_managed) {
  return raising([&] {
    require(out_managed, "TVMFFITensorToDLPack: out must not be NULL");
    *out_managed = to_dlpack(Ref<Tensor>::share(&object_at<Tensor>(tensor, "TVMFFITensorToDLPack")));
  });
}

static int TVMFFITensorToDLPackVersioned(void *tensor, DLManagedTensorVersioned **out_managed) {
  return raising([&] {
    require(out_managed, "TVMFFITensorToDLPackVersioned: out must not be NULL");
    *out_managed = to_dlpack_versioned(Ref<Tensor>::share(&object_at<Tensor>(tensor, "TVMFFITensorToDLPackVersioned")));
  });
}

// Allocates a tensor like the prototype. The prototype's data is ignored.
static int TVMFFIEnvTensorAlloc(DLTensor *prototype, void **out_tensor) {
  int status = 0;
  const int raised = raising([&] {
    require(prototype && out_tensor && prototype->ndim >= 0 && (prototype->shape || prototype->ndim == 0),
            "TVMFFIEnvTensorAlloc: out and prototype must not be NULL, and prototype must have a shape");
    if (const TensorMaker maker = tensor_maker()) {
      DLManagedTensorVersioned *made = nullptr;
      status = maker(prototype, &made, nullptr, [](void *, const char *kind, const char *message) {
        set_raised(make_error(OPD_CALL_FAILED, message ? message : "", kind ? kind : "RuntimeError"));
      });
      if (status) return;
      if (!made) fail_as("RuntimeError", OPD_CALL_FAILED, "TVMFFIEnvTensorAlloc: the allocator returned no tensor");
      *out_tensor = static_cast<Object *>(from_dlpack(made).detach());
    } else {
      *out_tensor =
          static_cast<Object *>(make_tensor(dims_of(*prototype), prototype->dtype, prototype->device).detach());
    }
  });
  return raised ? raised : status;
}

// Makes a new view of the source's data, exactly as the prototype describes it.
static int TVMFFITensorCreateUnsafeView(void *source, const DLTensor *prototype, void **out_tensor) {
  return raising([&] {
    auto &tensor = object_at<Tensor>(source, "TVMFFITensorCreateUnsafeView");
    require(prototype && out_tensor && prototype->ndim >= 0 && (prototype->shape || prototype->ndim == 0),
            "TVMFFITensorCreateUnsafeView: out and prototype must not be NULL, and prototype must have a shape");
    auto view = Tensor::make_view(Ref<Tensor>::share(&tensor), dims_of(*prototype), prototype->dtype, prototype->device,
                                  prototype->data);
    view->dl.byte_offset = prototype->byte_offset;
    if (prototype->strides) std::copy_n(prototype->strides, prototype->ndim, view->dl.strides);
    *out_tensor = static_cast<Object *>(view.detach());
  });
}

}  // extern "C"

}  // namespace

std::span<const ProvidedSymbol> tensor_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMFFIObjectCreateOpaque", address_of(TVMFFIObjectCreateOpaque)},
      {"TVMFFIGetCustomAllocator", address_of(TVMFFIGetCustomAllocator)},
      {"TVMFFISetCustomAllocator", address_of(TVMFFISetCustomAllocator)},
      {"TVMFFIEnvRegisterCAPI", address_of(TVMFFIEnvRegisterCAPI)},
      {"TVMFFIEnvCheckSignals", address_of(TVMFFIEnvCheckSignals)},
      {"TVMFFIEnvGetStream", address_of(TVMFFIEnvGetStream)},
      {"TVMFFIEnvSetStream", address_of(TVMFFIEnvSetStream)},
      {"TVMFFIEnvGetDLPackManagedTensorAllocator", address_of(TVMFFIEnvGetDLPackManagedTensorAllocator)},
      {"TVMFFIEnvSetDLPackManagedTensorAllocator", address_of(TVMFFIEnvSetDLPackManagedTensorAllocator)},
      {"TVMFFIEnvModRegisterContextSymbol", address_of(TVMFFIEnvModRegisterContextSymbol)},
      {"TVMFFIGetVersion", address_of(TVMFFIGetVersion)},
      {"TVMFFIEnvTensorAlloc", address_of(TVMFFIEnvTensorAlloc)},
      {"TVMFFITensorCreateUnsafeView", address_of(TVMFFITensorCreateUnsafeView)},
      {"TVMFFITensorFromDLPack", address_of(TVMFFITensorFromDLPack)},
      {"TVMFFITensorFromDLPackVersioned", address_of(TVMFFITensorFromDLPackVersioned)},
      {"TVMFFITensorToDLPack", address_of(TVMFFITensorToDLPack)},
      {"TVMFFITensorToDLPackVersioned", address_of(TVMFFITensorToDLPackVersioned)},
  };
  return symbols;
}

}  // namespace opd
