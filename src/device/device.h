// Devices: the interface of a kind, the registry of kinds, and tensors and copies on top of it.
#pragma once
#include <opdyno/device.h>

#include <span>

#include "trace/memory_event.h"
#include "value/tensor.h"
#include "value/value.h"

namespace opd {

// One per kind of device; thread-safe; lives as long as the process.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  virtual Value attr(int32_t id, opd_device_attr attr) = 0;
  virtual void *allocate(int32_t id, size_t bytes, size_t alignment) = 0;  // null without memory
  virtual void deallocate(int32_t id, void *data, size_t bytes, size_t alignment) noexcept = 0;
  // Whether a returned block may be kept for later requests; false if its source has been replaced. If `data` is null:
  // whether the present source is the system.
  virtual bool keeps(const void *data) noexcept {
    (void)data;
    return true;
  }
  // Compact bytes between this kind and itself or the host, finished on return.
  virtual void copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes) = 0;
  virtual void sync(int32_t id) = 0;
};

void register_device(int32_t device_type, DeviceBackend &backend);
DeviceBackend *find_device(DLDevice device);               // null: no such kind in this build, or no such id
DeviceBackend &device_backend(DLDevice device);            // throws OPD_UNSUPPORTED with a list of the present ones
Value device_attr(DLDevice device, opd_device_attr attr);  // throws for an absent device, except OPD_ATTR_EXIST

// The stream that compiled code on the calling thread asks for, even if there is no such device; null is the device's
// default one. set_current_stream() returns the former one.
void *current_stream(DLDevice device) noexcept;
void *set_current_stream(DLDevice device, void *stream);

inline constexpr size_t kAlignment = 64;  // compiled kernels assume it of tensor data
inline constexpr DLDevice kHost = {kDLCPU, 0};

Ref<Tensor> make_tensor(std::span<const int64_t> dims, DLDataType dtype, DLDevice device,
                        MemoryUse use = MemoryUse::kTensor);
void check_copy(const DLTensor &from, const DLTensor &to);   // throws as copy_tensor() would
void copy_tensor(const DLTensor &from, const DLTensor &to);  // any strides; throws if shape or dtype differ
// Between a contiguous tensor and host memory of exactly its size.
void copy_from_bytes(const DLTensor &to, const void *data, size_t size);
void copy_to_bytes(const DLTensor &from, void *data, size_t size);

}  // namespace opd
