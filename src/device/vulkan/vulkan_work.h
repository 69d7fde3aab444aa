// The times of work on a Vulkan device, by queries that the device answers when it has done it.
#pragma once
#include "device/vulkan/vulkan_stream.h"
#include "trace/device_work.h"

namespace opd::vk {

class VulkanWork final : public PendingWork {
 public:
  // Null if the device has no times. `main`: its default stream.
  static std::unique_ptr<VulkanWork> make(DeviceContext &context, Stream &main);
  ~VulkanWork();
  VulkanWork(const VulkanWork &) = delete;

  Stream::Queries queries() const { return &queries_; }
  void set_end(const Stream &stream, uint64_t number) { progress_ = stream.progress(), number_ = number; }

  bool finish(TickInterval launch, WorkTimes &out) noexcept override;

 private:
  VulkanWork(DeviceContext &context, Stream &main, DeviceContext::TimeQueries queries)
      : context_(context), main_(main), queries_(queries) {}

  DeviceContext &context_;
  Stream &main_;
  const DeviceContext::TimeQueries queries_;
  std::shared_ptr<Progress> progress_;  // null: it was never given to the device
  uint64_t number_ = 0;
};

}  // namespace opd::vk
