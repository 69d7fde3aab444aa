// Times of work on a Vulkan device, from queries that the device writes when the work is done.
#pragma once
#include "device/device_timer.h"
#include "device/vulkan/vulkan_stream.h"
#include "trace/record/device_work.h"

namespace opd::vk {

class VulkanWork final : public PendingWork {
 public:
  // Null if the device has no times. `main`: the device's default stream.
  static std::unique_ptr<VulkanWork> make(DeviceContext &context, Stream &main);
  ~VulkanWork();
  VulkanWork(const VulkanWork &) = delete;

  Stream::Queries queries() const { return &queries_; }
  void set_end(const Stream &stream, uint64_t number) { progress_ = stream.progress(), number_ = number; }

  bool finish(TickInterval launch, WorkTimes &out) noexcept override;
  uint64_t elapsed_ns() const;  // waits for the work to end; throws

 private:
  VulkanWork(DeviceContext &context, Stream &main, DeviceContext::TimeQueries queries)
      : context_(context), main_(main), queries_(queries) {}

  DeviceContext &context_;
  Stream &main_;
  const DeviceContext::TimeQueries queries_;
  std::shared_ptr<Progress> progress_;  // null if the work was never submitted
  uint64_t number_ = 0;
};

class VulkanTimer final : public DeviceTimer {
 public:
  static std::unique_ptr<VulkanTimer> start(DeviceContext &context, Stream &main, Stream &stream);  // null, as make()
  void stop() override { give(false, true); }
  uint64_t elapsed_ns() override { return work_->elapsed_ns(); }

 private:
  VulkanTimer(std::unique_ptr<VulkanWork> work, Stream &stream) : work_(std::move(work)), stream_(stream) {}
  void give(bool begins, bool ends);

  const std::unique_ptr<VulkanWork> work_;
  Stream &stream_;
};

}  // namespace opd::vk
