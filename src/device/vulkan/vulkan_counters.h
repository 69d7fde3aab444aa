// How many threads the kernels of a Vulkan device had, by queries of the pipeline's statistics: one for each launch.
#pragma once
#include <memory>
#include <vector>

#include "device/device_counters.h"
#include "device/vulkan/vulkan_stream.h"

namespace opd::vk {

// A launch that the device counts.
class CountedLaunch {
 public:
  explicit CountedLaunch(DeviceContext &context);  // throws
  ~CountedLaunch();
  CountedLaunch(const CountedLaunch &) = delete;

  // Around its command, under the device's queue_guard(). The query also ends if the command cannot be added.
  class Scope {
   public:
    Scope(const CountedLaunch *launch, VkCommandBuffer commands);  // null: nobody counts
    ~Scope();
    Scope(const Scope &) = delete;

   private:
    const CountedLaunch *const launch_;
    VkCommandBuffer const commands_;
  };
  void set_end(const Stream &stream, uint64_t number) { progress_ = stream.progress(), number_ = number; }
  uint64_t read() const;  // waits for its end; throws

 private:
  DeviceContext &context_;
  DeviceContext::Queries query_;
  std::shared_ptr<Progress> progress_;
  uint64_t number_ = 0;
};

// Counts what the thread launches that starts it.
class VulkanCounters final : public DeviceCounters {
 public:
  explicit VulkanCounters(DeviceContext &context);
  std::vector<Count> stop() override;

  // The launches since a moment, but for those that later counters, which have stopped, have added up.
  struct Tally {
    const DeviceContext &context;
    std::weak_ptr<Tally> around;  // that was made before
    std::vector<std::unique_ptr<CountedLaunch>> launches = {};
    uint64_t sum = 0;
  };
  // The one that the calling thread's launches belong to; null: nobody counts them.
  static std::shared_ptr<Tally> present(const DeviceContext &context);

 private:
  std::shared_ptr<Tally> tally_;
};

class VulkanCounterSet final : public DeviceCounterSet {
 public:
  explicit VulkanCounterSet(DeviceContext &context) : context_(context) {}
  std::unique_ptr<DeviceCounters> start() override { return std::make_unique<VulkanCounters>(context_); }

 private:
  DeviceContext &context_;
};

}  // namespace opd::vk
