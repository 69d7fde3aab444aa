// What the rows of TVM's side share: loading, tensors, the VM.
#pragma once
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

namespace ffi = tvm::ffi;

inline void check(int failed) {
  if (!failed) return;
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  const auto *cell = TVMFFIErrorGetCellPtr(error);
  throw std::runtime_error(std::string(cell->message.data, cell->message.size));
}

struct Memory {
  static constexpr size_t kAlignment = 64;
  void AllocData(DLTensor *tensor) {
    tensor->data =
        std::aligned_alloc(kAlignment, (ffi::GetDataSize(*tensor) + kAlignment - 1) / kAlignment * kAlignment);
  }
  void FreeData(DLTensor *tensor) { std::free(tensor->data); }
};

inline ffi::Tensor make_tensor(const std::vector<int64_t> &dims, float value = 0) {
  auto tensor = ffi::Tensor::FromNDAlloc(Memory(), ffi::Shape(dims.begin(), dims.end()), DLDataType{kDLFloat, 32, 1},
                                         DLDevice{kDLCPU, 0});
  for (size_t i = 0; i < static_cast<size_t>(tensor.numel()); ++i) static_cast<float *>(tensor.data_ptr())[i] = value;
  return tensor;
}

// As tvm.relax.VirtualMachine does it: on the CPU, with the pooled allocator.
inline ffi::Module make_vm(const ffi::Module &library) {
  auto vm = library->GetFunction("vm_load_executable", true).value()().cast<ffi::Module>();
  constexpr int kPooled = 2;
  vm->GetFunction("vm_initialization", true).value()(int{kDLCPU}, 0, kPooled);
  return vm;
}

// The calls that are timed go through the C API, as those of opdyno do.
inline TVMFFIAny view_of(const ffi::ObjectRef &object) {
  TVMFFIAny view{};
  auto *header = static_cast<TVMFFIObject *>(ffi::details::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(object));
  view.type_index = header->type_index;
  view.v_obj = header;
  return view;
}
inline TVMFFIObjectHandle handle_of(const ffi::Function &function) { return view_of(function).v_obj; }

inline void release(TVMFFIAny &value) {
  if (value.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value.v_obj);
}

}  // namespace bench
