#include "device/vulkan/vulkan_work.h"

#include "value/value.h"

namespace opd::vk {
namespace {

constexpr uint64_t kCertainNs = 1'000'000'000;  // then a clock is compared with the host's again

// Lets the device note its time, for a moment that is seen at once: others are asked for when those before them have
// been. Its queue does the work ahead first, so the moment before says nothing.
void compare_clocks(DeviceContext &context, Stream &main) {
  constexpr int kRounds = 3;  // the shortest one counts
  const auto probe = VulkanWork::make(context, main);
  for (int i = 0; i < kRounds; ++i) {
    const Mark mark{*probe->queries()};
    main.wait(main.submit([](Stream::Work &) {}, &mark));
    const uint64_t after = ticks_of(tick_clock());
    uint64_t begin_ns = 0, end_ns = 0;
    if (context.read(mark.queries, begin_ns, end_ns)) context.clock().observe_not_after(end_ns, after);
  }
  context.compared_ns = monotonic_ns();
}

}  // namespace

std::unique_ptr<VulkanWork> VulkanWork::make(DeviceContext &context, Stream &main) {
  const std::scoped_lock lock(context.queue_guard());
  const DeviceContext::TimeQueries queries = context.take_queries();
  if (!queries.pool) return nullptr;
  return std::unique_ptr<VulkanWork>(new VulkanWork(context, main, queries));
}

VulkanWork::~VulkanWork() {
  const std::scoped_lock lock(context_.queue_guard());
  context_.give_back(queries_);
}

bool VulkanWork::finish(TickInterval launch, TickInterval &out) noexcept try {
  if (!progress_ || context_.api().is_inherited()) return false;
  progress_->wait(number_);
  const uint64_t now = ticks_of(tick_clock());
  uint64_t begin_ns = 0, end_ns = 0;
  if (!context_.read(queries_, begin_ns, end_ns)) return false;
  if (monotonic_ns() - context_.compared_ns > kCertainNs) compare_clocks(context_, main_);
  if (!context_.compared_ns) return false;
  context_.clock().observe_not_before(begin_ns, launch.begin);
  context_.clock().observe_not_after(end_ns, now);
  out = context_.clock().interval_of(begin_ns, end_ns, launch);
  return true;
} catch (const std::exception &) { return false; }

}  // namespace opd::vk
