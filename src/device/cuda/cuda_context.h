// One CUDA device and its primary context, which it shares with every other user of the driver in the process.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "device/cuda/cuda_api.h"

namespace opd::cuda {

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

  // Made at the first call, which takes memory of the device and up to a second. Throws.
  Context *context() const;
  bool has_context() const { return context_.load(std::memory_order_acquire) != nullptr; }

 private:
  const Api &api_;
  const Device device_;
  const int32_t number_;
  int32_t compute_version_ = 0;
  mutable std::atomic<Context *> context_{nullptr};
};

// Makes a device's context current for the calling thread while it lives. Other users of the driver find theirs again.
class CurrentContext {
 public:
  explicit CurrentContext(const DeviceContext &device);  // throws
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;

 private:
  const Api &api_;
  bool is_pushed_ = false;
};

}  // namespace opd::cuda
