#include "device/vulkan/vulkan_counters.h"

#include <mutex>
#include <utility>

#include "value/value.h"

namespace opd::vk {
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

std::vector<DeviceCounters::Count> VulkanCounters::stop() {
  const std::shared_ptr<Tally> tally = std::move(tally_);
  if (tally->context.api().is_inherited())
    fail(OPD_UNSUPPORTED, "kernels cannot be counted in a child of fork(): the driver was started in the parent");
  for (const auto &launch : tally->launches) tally->sum += launch->read();
  if (const auto around = tally->around.lock()) around->sum += tally->sum;
  return {{"Compute shader invocations", tally->sum}};
}

}  // namespace opd::vk
