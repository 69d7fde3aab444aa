// Times of work on a Vulkan device, from queries that the device writes when the work is done. Also counts of the
// threads of kernels: each launch that is counted has a query for pipeline statistics.
#pragma once
#include "device/device_counters.h"
#include "device/vulkan/vulkan_stream.h"
#include "trace/record/device_work.h"

namespace opd::vk {

class VulkanWork final : public PendingWork {
 public:
  // Returns null if the device has no times. `main`: the device's default stream.
  static std::unique_ptr<VulkanWork> make(DeviceContext &context, Stream &main) {
    const std::scoped_lock lock(context.queue_guard());
    const DeviceContext::TimeQueries queries = context.take_queries();
    if (!queries.pool) return nullptr;
    return std::unique_ptr<VulkanWork>(new VulkanWork(context, main, queries));
  }
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
  // Submits a command without work to get a time. With a mark, it is submitted at once.
  void give(bool begins, bool ends) {
    const Mark mark{*work_->queries(), begins, ends};
    work_->set_end(stream_, stream_.submit([](Stream::Work &) {}, &mark));
  }

  const std::unique_ptr<VulkanWork> work_;
  Stream &stream_;
};

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
  std::vector<DeviceCounters::Count> stop() override {
    const std::shared_ptr<Tally> tally = std::move(tally_);
    if (tally->context.api().is_inherited())
      fail(OPD_UNSUPPORTED, "kernels cannot be counted in a child of fork(): the driver was started in the parent");
    for (const auto &launch : tally->launches) tally->sum += launch->read();
    if (const auto around = tally->around.lock()) around->sum += tally->sum;
    return {{"Compute shader invocations", tally->sum}};
  }

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

struct VulkanCounterSet final : DeviceCounterSet {
  explicit VulkanCounterSet(DeviceContext &of) : context(of) {}
  std::unique_ptr<DeviceCounters> start() override { return std::make_unique<VulkanCounters>(context); }

  DeviceContext &context;
};

}  // namespace opd::vk
