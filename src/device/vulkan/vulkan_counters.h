// Counts the threads of kernels on a Vulkan device. Each launch has a query for pipeline statistics.
#pragma once
#include <memory>
#include <vector>

#include "device/device_counters.h"
#include "device/vulkan/vulkan_stream.h"

namespace opd::vk {

// A launch that is counted.
class CountedLaunch {
 public:
  explicit CountedLaunch(DeviceContext &context);  // throws
  ~CountedLaunch();
  CountedLaunch(const CountedLaunch &) = delete;

  // Encloses the launch's command, under the device's queue_guard(). The query also ends if the command cannot be
  // added.
  class Scope {
   public:
    Scope(const CountedLaunch *launch, VkCommandBuffer commands);  // null: not counted
    ~Scope();
    Scope(const Scope &) = delete;

   private:
    const CountedLaunch *const launch_;
    VkCommandBuffer const commands_;
  };
  void set_end(const Stream &stream, uint64_t number) { progress_ = stream.progress(), number_ = number; }
  uint64_t read() const;  // waits for the launch to end; throws

 private:
  DeviceContext &context_;
  DeviceContext::Queries query_;
  std::shared_ptr<Progress> progress_;
  uint64_t number_ = 0;
};

// Counts launches of the thread that creates it.
class VulkanCounters final : public DeviceCounters {
 public:
  explicit VulkanCounters(DeviceContext &context);
  std::vector<Count> stop() override;

  // The launches since the counter started. Those that later counters have already summed are not in the list.
  struct Tally {
    const DeviceContext &context;
    std::weak_ptr<Tally> around;  // the thread's previous tally for the device
    std::vector<std::unique_ptr<CountedLaunch>> launches = {};
    uint64_t sum = 0;
  };
  // The tally that counts launches of the calling thread; null if there is none.
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
