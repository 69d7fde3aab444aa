// One CUDA device and its primary context. All users of the driver in the process share that context.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "device/cuda/cuda_api.h"

namespace opd::cuda {

class BlockStreams;
class Reference;

class DeviceContext {
 public:
  DeviceContext(Device device, int32_t number);  // throws
  DeviceContext(const DeviceContext &) = delete;

  const Api &api() const { return api_; }
  int32_t number() const { return number_; }
  int32_t compute_version() const { return compute_version_; }  // 90 for 9.0

  int32_t attribute(DeviceAttribute attribute) const;
  std::string name() const;
  size_t total_bytes() const;
  std::string pci_bus_id() const;  // "0000:3b:00.0"

  // Creates the context at the first call. This takes device memory and up to a second. Throws.
  Context *context() const;
  // Calls a driver function that destroys an object. Does nothing in a child of fork(), or after the process has ended
  // the driver.
  template <class T>
  void release(Status (*function)(T *), T *object) const noexcept;
  // A reference for the times of work, at most a few seconds old. Throws.
  std::shared_ptr<const Reference> reference() const;
  // The streams for stream-ordered memory. Null if the driver or the device lacks it. Created at the first call.
  // Throws.
  BlockStreams *block_streams() const;
  bool has_context() const { return context_.load(std::memory_order_acquire) != nullptr; }

 private:
  const Api &api_;
  const Device device_;
  const int32_t number_;
  int32_t compute_version_ = 0;
  mutable std::atomic<Context *> context_{nullptr};
  mutable ForkMutex guard_{LockRank::kDeviceKernel};
  mutable std::shared_ptr<const Reference> reference_;
  bool has_ordered_memory_ = false;
  mutable std::atomic<BlockStreams *> block_streams_{nullptr};
};

// Makes a device's context current for the calling thread during its life. Then restores the previous context, for
// other users of the driver.
class CurrentContext {
 public:
  explicit CurrentContext(const DeviceContext &device);  // throws
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;

 private:
  const Api &api_;
  bool is_pushed_ = false;
};

template <class T>
void DeviceContext::release(Status (*function)(T *), T *object) const noexcept {
  if (!object || api_.is_inherited()) return;
  try {
    const CurrentContext current(*this);
    function(object);
  } catch (const Exception &) {}
}

}  // namespace opd::cuda
