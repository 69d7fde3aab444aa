// Vulkan's driver and its devices: the functions of Vulkan 1.2 that the library uses, and for each device its logical
// device, its only compute queue, and properties that are used often. The loader (libvulkan.so.1) is opened at the
// first use of a Vulkan device.
// Source: Vulkan 1.3 - A Specification.
#pragma once
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fork_mutex.h"
#include "device/device_clock.h"
#include "device/driver.h"

namespace opd::vk {

// The functions of the loader that are used.
// clang-format off
#define OPD_VULKAN_FUNCTIONS(X) \
  X(vkEnumeratePhysicalDevices) X(vkGetPhysicalDeviceProperties2) X(vkGetPhysicalDeviceFeatures2) \
  X(vkGetPhysicalDeviceMemoryProperties) X(vkGetPhysicalDeviceQueueFamilyProperties) \
  X(vkEnumerateDeviceExtensionProperties) X(vkCreateDevice) X(vkGetDeviceQueue) X(vkQueueSubmit) X(vkCreateBuffer) \
  X(vkDestroyBuffer) X(vkGetBufferMemoryRequirements) X(vkAllocateMemory) X(vkFreeMemory) X(vkBindBufferMemory) \
  X(vkMapMemory) X(vkCreateCommandPool) X(vkDestroyCommandPool) X(vkAllocateCommandBuffers) X(vkBeginCommandBuffer) \
  X(vkEndCommandBuffer) X(vkCmdPipelineBarrier) X(vkCmdCopyBuffer) X(vkCmdBindPipeline) X(vkCmdBindDescriptorSets) \
  X(vkCmdPushConstants) X(vkCmdDispatch) X(vkCreateSemaphore) X(vkDestroySemaphore) X(vkWaitSemaphores) \
  X(vkGetSemaphoreCounterValue) X(vkCreateShaderModule) X(vkDestroyShaderModule) X(vkCreateDescriptorSetLayout) \
  X(vkDestroyDescriptorSetLayout) X(vkCreatePipelineLayout) X(vkDestroyPipelineLayout) X(vkCreateComputePipelines) \
  X(vkDestroyPipeline) X(vkCreateDescriptorPool) X(vkDestroyDescriptorPool) X(vkAllocateDescriptorSets) \
  X(vkCreateQueryPool) X(vkCmdResetQueryPool) X(vkCmdBeginQuery) X(vkCmdEndQuery) X(vkCmdWriteTimestamp) \
  X(vkGetQueryPoolResults) X(vkUpdateDescriptorSets)
// clang-format on

// Functions of extensions, which a loader may lack. They are null there.
#define OPD_VULKAN_EXTENSION_FUNCTIONS(X) \
  X(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT) X(vkGetCalibratedTimestampsEXT)

struct Api : Driver<Api> {
#define OPD_DECLARE(name) PFN_##name name = nullptr;
  OPD_VULKAN_FUNCTIONS(OPD_DECLARE)
  OPD_VULKAN_EXTENSION_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE
  VkInstance instance = nullptr;

  void open();
  // Destroys an object of a device. Does nothing in a child of fork(): the driver's locks may be held there.
  template <class T>
  void destroy(void (*function)(VkDevice, T, const VkAllocationCallbacks *), VkDevice device, T object) const {
    if (object && !is_inherited()) function(device, object, nullptr);
  }
};

// Returns a Vulkan struct with its type set and all other members zero.
template <class T>
T structure(VkStructureType type) {
  T made{};
  made.sType = type;
  return made;
}

std::string no_driver();  // reason why there is no device
bool is_out_of_memory(VkResult result);
std::string result_name(VkResult result);           // "VK_ERROR_DEVICE_LOST (-4)"
void check(VkResult result, const char *function);  // throws; OPD_OUT_OF_MEMORY if the result means that

// ---- devices

// The properties of a physical device.
struct DeviceFacts {
  VkPhysicalDevice physical = nullptr;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceVulkan11Properties properties11{};
  VkPhysicalDeviceVulkan12Properties properties12{};
  VkPhysicalDeviceMemoryProperties memory{};
  VkPhysicalDeviceFeatures features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  uint32_t family = 0;      // a queue family that supports compute
  uint32_t time_bits = 0;   // number of valid bits in timestamps; 0: the family has none
  bool tells_time = false;  // the device has VK_EXT_calibrated_timestamps
  std::string unsupported;  // needed features that the device lacks; "" if none
};

class DeviceContext {
 public:
  DeviceContext(const DeviceFacts &facts, int32_t number);  // throws
  DeviceContext(const DeviceContext &) = delete;

  const Api &api() const { return api_; }
  VkDevice device() const { return device_; }
  int32_t number() const { return number_; }
  const DeviceFacts &facts() const { return facts_; }
  const VkPhysicalDeviceLimits &limits() const { return facts_.properties.limits; }

  // The type of memory with all of `flags`, among the types that `allowed` permits. -1 if there is none.
  int32_t memory_type(uint32_t allowed, uint32_t flags) const {
    for (uint32_t i = 0; i < facts_.memory.memoryTypeCount; ++i)
      if ((allowed >> i & 1) && (facts_.memory.memoryTypes[i].propertyFlags & flags) == flags)
        return static_cast<int32_t>(i);
    return -1;
  }
  uint64_t heap_bytes(uint32_t memory_type) const {
    return facts_.memory.memoryHeaps[facts_.memory.memoryTypes[memory_type].heapIndex].size;
  }
  // The name of the SPIR-V capability if the device lacks it, else "".
  std::string lacks_capability(uint32_t capability) const;
  uint32_t spirv_version() const;  // highest supported version, in SPIR-V's encoding

  struct Queries {
    VkQueryPool pool = nullptr;
    uint32_t first = 0;
  };
  // A pair of queries for the start and end of work; { null, 0 } if the device has no times. Call these functions and
  // the next ones under queue_guard().
  using TimeQueries = Queries;
  TimeQueries take_queries() {
    if (!facts_.time_bits) return {};
    auto info = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    return take(times_, info, 2);
  }
  void give_back(TimeQueries queries) { times_.free.push_back(queries); }  // cannot fail: the vector has room
  // A query for the number of invocations of a kernel, on a device that counts them.
  bool counts_invocations() const { return facts_.features.pipelineStatisticsQuery; }
  Queries take_count_query() {
    auto info = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    info.queryType = VK_QUERY_TYPE_PIPELINE_STATISTICS;
    info.pipelineStatistics = VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT;
    return take(counts_, info, 1);
  }
  void give_back_count(Queries query) { counts_.free.push_back(query); }
  // Reads both times in ns, on the device's clock. Returns false if the device has not measured them.
  bool read(TimeQueries queries, uint64_t &begin_ns, uint64_t &end_ns) const {
    RawTimes times{};
    if (read_raw(queries, times)) return false;
    begin_ns = ns_of(times[0]), end_ns = ns_of(times[1]);
    return begin_ns <= end_ns;  // the counter may have wrapped around
  }
  // Returns the time between the two queries, which is correct even if the counter wrapped around. Throws.
  uint64_t elapsed_ns(TimeQueries queries) const {
    RawTimes times{};
    check(read_raw(queries, times), "vkGetQueryPoolResults");
    return ns_of(times[1] - times[0]);
  }

  // Used only by the thread that reads the times of work.
  DeviceClock &clock() { return clock_ ? *clock_ : make_clock(); }
  bool tell_time(uint64_t &device_ns) const;  // false if the driver has no time
  uint64_t compared_ns = 0;                   // time of the last comparison with the host's clock; 0: none

  // Held while work is recorded and submitted to the queue, and while resources of finished work are reclaimed.
  ForkMutex &queue_guard() { return queue_guard_; }
  void submit(const VkSubmitInfo &info) { check(api_.vkQueueSubmit(queue_, 1, &info, nullptr), "vkQueueSubmit"); }

 private:
  const Api &api_;
  const DeviceFacts facts_;
  const int32_t number_;
  VkDevice device_ = nullptr;
  VkQueue queue_ = nullptr;
  struct QueryStore {
    std::vector<Queries> free;
    size_t num_all = 0;
  };
  Queries take(QueryStore &store, VkQueryPoolCreateInfo info, uint32_t each) const;  // `each`: queries in one group
  QueryStore times_, counts_;
  DeviceClock &make_clock();
  using RawTimes = std::array<uint64_t, 2>;
  VkResult read_raw(TimeQueries queries, RawTimes &times) const {
    return api_.vkGetQueryPoolResults(device_, queries.pool, queries.first, 2, sizeof times, times.data(),
                                      sizeof times[0], VK_QUERY_RESULT_64_BIT);
  }
  uint64_t ns_of(uint64_t time) const;  // `time`: in units of the device

  std::optional<DeviceClock> clock_;
  ForkMutex queue_guard_{LockRank::kDeviceQueue};
};

// Ordered by number. Devices that the library cannot use are included with the reason.
std::vector<DeviceFacts> list_devices(const Api &api);

}  // namespace opd::vk
