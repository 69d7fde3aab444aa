// Devices: what each kind can do, and the registry of kinds. Tensors and copies on top of it.
#pragma once
#include <opdyno/device.h>

#include <span>

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
  // Whether a returned block may be kept for the next request; false once the source it came from was replaced. Null
  // asks for the system as a source.
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
DeviceBackend &device_backend(DLDevice device);            // throws OPD_UNSUPPORTED that lists what there is
Value device_attr(DLDevice device, opd_device_attr attr);  // an absent device answers OPD_ATTR_EXIST; throws for others

// The stream that compiled code of the calling thread asks for, whether or not there is such a device; null is the
// device's default one. set_current_stream() returns the former one.
void *current_stream(DLDevice device) noexcept;
void *set_current_stream(DLDevice device, void *stream);

inline constexpr size_t kAlignment = 64;  // what compiled kernels assume of tensor data
inline constexpr DLDevice kHost = {kDLCPU, 0};

Ref<Tensor> make_tensor(std::span<const int64_t> dims, DLDataType dtype, DLDevice device);
void check_copy(const DLTensor &from, const DLTensor &to);   // what copy_tensor() throws for
void copy_tensor(const DLTensor &from, const DLTensor &to);  // any strides; throws if shape or dtype differ
// Between a contiguous tensor and host memory of exactly its size.
void copy_from_bytes(const DLTensor &to, const void *data, size_t size);
void copy_to_bytes(const DLTensor &from, void *data, size_t size);

}  // namespace opd
