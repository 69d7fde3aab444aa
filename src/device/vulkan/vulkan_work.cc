#include "device/vulkan/vulkan_work.h"

#include "value/value.h"

namespace opd::vk {
namespace {

constexpr int kRounds = 3;  // rounds per comparison; the shortest one counts

// Compares the clocks through the driver. Returns false if the driver does not have the device's time.
bool ask_for_time(DeviceContext &context) {
  for (int i = 0; i < kRounds; ++i) {
    TickInterval interval;
    uint64_t device_ns = 0;
    interval.begin = ticks_of(tick_clock());
    if (!context.tell_time(device_ns)) return false;
    interval.end = ticks_of(tick_clock());
    context.clock().observe(device_ns, interval);
  }
  return true;
}

// Compares the clocks by timestamps of empty work, which is awaited at once. Other work is awaited only when earlier
// work has been. Only the end time is used: the queue completes earlier work first, so the start has little
// information.
void note_time(DeviceContext &context, Stream &main) {
  const auto probe = VulkanWork::make(context, main);
  for (int i = 0; i < kRounds; ++i) {
    const Mark mark{*probe->queries()};
    const uint64_t before = ticks_of(tick_clock());
    main.wait(main.submit([](Stream::Work &) {}, &mark));
    const uint64_t after = ticks_of(tick_clock());
    uint64_t begin_ns = 0, end_ns = 0;
    if (context.read(mark.queries, begin_ns, end_ns)) context.clock().observe(end_ns, {before, after});
  }
}

void compare_clocks(DeviceContext &context, Stream &main) {
  if (!ask_for_time(context)) note_time(context, main);
  context.compared_ns = monotonic_ns();
}

}  // namespace

VulkanWork::~VulkanWork() {
  const std::scoped_lock lock(context_.queue_guard());
  context_.give_back(queries_);
}

bool VulkanWork::finish(TickInterval launch, WorkTimes &out) noexcept try {
  if (!progress_ || context_.api().is_inherited()) return false;
  progress_->wait(number_);
  const uint64_t now = ticks_of(tick_clock());
  uint64_t begin_ns = 0, end_ns = 0;
  if (!context_.read(queries_, begin_ns, end_ns)) return false;
  // A comparison by queries takes device time, so it is rare.
  const uint64_t certain_ns = context_.facts().tells_time ? 20'000'000 : 1'000'000'000;
  if (monotonic_ns() - context_.compared_ns > certain_ns) compare_clocks(context_, main_);
  if (!context_.compared_ns) return false;
  context_.clock().observe_not_before(begin_ns, launch.begin);
  context_.clock().observe_not_after(end_ns, now);
  out = context_.clock().times_of(begin_ns, end_ns, launch);
  return true;
} catch (const std::exception &) { return false; }

uint64_t VulkanWork::elapsed_ns() const {
  progress_->wait(number_);
  return context_.elapsed_ns(queries_);
}

std::unique_ptr<VulkanTimer> VulkanTimer::start(DeviceContext &context, Stream &main, Stream &stream) {
  auto work = VulkanWork::make(context, main);
  if (!work) return nullptr;
  std::unique_ptr<VulkanTimer> timer(new VulkanTimer(std::move(work), stream));
  timer->give(true, false);
  return timer;
}

// ---- counts

namespace {

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wexit-time-destructors"  // destroyed with its thread; no other thread uses it
#endif
thread_local std::vector<std::weak_ptr<VulkanCounters::Tally>> tallies;  // in the order of construction

}  // namespace

CountedLaunch::CountedLaunch(DeviceContext &context) : context_(context) {
  const std::scoped_lock lock(context_.queue_guard());
  query_ = context_.take_count_query();
}

// Work that still runs may write to the query. Its next user resets it after that work, in the same queue.
CountedLaunch::~CountedLaunch() {
  const std::scoped_lock lock(context_.queue_guard());
  context_.give_back_count(query_);
}

CountedLaunch::Scope::Scope(const CountedLaunch *launch, VkCommandBuffer commands)
    : launch_(launch), commands_(commands) {
  if (!launch) return;
  const auto &[pool, first] = launch->query_;
  launch->context_.api().vkCmdResetQueryPool(commands, pool, first, 1);
  launch->context_.api().vkCmdBeginQuery(commands, pool, first, 0);
}

CountedLaunch::Scope::~Scope() {
  if (launch_) launch_->context_.api().vkCmdEndQuery(commands_, launch_->query_.pool, launch_->query_.first);
}

uint64_t CountedLaunch::read() const {
  progress_->wait(number_);
  uint64_t count = 0;
  check(context_.api().vkGetQueryPoolResults(context_.device(), query_.pool, query_.first, 1, sizeof count, &count,
                                             sizeof count, VK_QUERY_RESULT_64_BIT),
        "vkGetQueryPoolResults");
  return count;
}

VulkanCounters::VulkanCounters(DeviceContext &context)
    : tally_(std::make_shared<Tally>(Tally{context, present(context)})) {
  tallies.push_back(tally_);
}

std::shared_ptr<VulkanCounters::Tally> VulkanCounters::present(const DeviceContext &context) {
  std::erase_if(tallies, [](const auto &each) { return each.expired(); });
  for (auto each = tallies.rbegin(); each != tallies.rend(); ++each)
    if (std::shared_ptr<Tally> tally = each->lock(); &tally->context == &context) return tally;
  return nullptr;
}

}  // namespace opd::vk
