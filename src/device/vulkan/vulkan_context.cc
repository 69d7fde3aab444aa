#include "device/vulkan/vulkan_context.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "value/value.h"

namespace opd::vk {
namespace {

// A SPIR-V capability and what of the device must be there for it.
struct Capability {
  enum class Needs : uint8_t { kNothing, kFeature, kFeature11, kFeature12, kSubgroups };
  uint32_t number;
  const char *name;
  Needs needs;
  uint32_t which;  // the feature's place; of subgroups the bit of the kind of operation
};
using Needs = Capability::Needs;
constexpr Capability kCapabilities[] = {
    {0, "Matrix", Needs::kNothing, 0},
    {1, "Shader", Needs::kNothing, 0},
    {9, "Float16", Needs::kFeature12, kFloat16},
    {10, "Float64", Needs::kFeature, kFloat64},
    {11, "Int64", Needs::kFeature, kInt64},
    {12, "Int64Atomics", Needs::kFeature12, kInt64Atomics},
    {22, "Int16", Needs::kFeature, kInt16},
    {39, "Int8", Needs::kFeature12, kInt8},
    {61, "GroupNonUniform", Needs::kSubgroups, 1},
    {62, "GroupNonUniformVote", Needs::kSubgroups, 2},
    {63, "GroupNonUniformArithmetic", Needs::kSubgroups, 4},
    {64, "GroupNonUniformBallot", Needs::kSubgroups, 8},
    {65, "GroupNonUniformShuffle", Needs::kSubgroups, 16},
    {66, "GroupNonUniformShuffleRelative", Needs::kSubgroups, 32},
    {67, "GroupNonUniformClustered", Needs::kSubgroups, 64},
    {68, "GroupNonUniformQuad", Needs::kSubgroups, 128},
    {4433, "StorageBuffer16BitAccess", Needs::kFeature11, kStorage16},
    {4434, "UniformAndStorageBuffer16BitAccess", Needs::kFeature11, kUniform16},
    {4435, "StoragePushConstant16", Needs::kFeature11, kPush16},
    {4441, "VariablePointersStorageBuffer", Needs::kFeature11, kStoragePointers},
    {4442, "VariablePointers", Needs::kFeature11, kPointers},
    {4448, "StorageBuffer8BitAccess", Needs::kFeature12, kStorage8},
    {4449, "UniformAndStorageBuffer8BitAccess", Needs::kFeature12, kUniform8},
    {4450, "StoragePushConstant8", Needs::kFeature12, kPush8},
    {5345, "VulkanMemoryModel", Needs::kFeature12, kMemoryModel},
    {5346, "VulkanMemoryModelDeviceScope", Needs::kFeature12, kMemoryModelScope},
};

bool has(const DeviceFacts &facts, const Capability &capability) {
  switch (capability.needs) {
    case Needs::kNothing:
      return true;
    case Needs::kFeature:
      return facts.features.flags[capability.which];
    case Needs::kFeature11:
      return facts.features11.flags[capability.which];
    case Needs::kFeature12:
      return facts.features12.flags[capability.which];
    case Needs::kSubgroups:
      return (facts.properties11.subgroup_stages & kComputeStage) &&
             (facts.properties11.subgroup_operations & capability.which);
  }
  return false;
}

// The device's features that a capability of the list needs; statistics, which counters need; and timelines, which
// streams need. No others: some, as the checks of buffers' ends, cost time.
struct Wanted {
  Features features;
  Features11 features11;
  Features12 features12;

  explicit Wanted(const DeviceFacts &facts) {
    for (const Capability &capability : kCapabilities) {
      if (!has(facts, capability)) continue;
      if (capability.needs == Needs::kFeature) features.flags[capability.which] = 1;
      if (capability.needs == Needs::kFeature11) features11.flags[capability.which] = 1;
      if (capability.needs == Needs::kFeature12) features12.flags[capability.which] = 1;
    }
    features.flags[kPipelineStatistics] = facts.features.flags[kPipelineStatistics];
    features12.flags[kTimelines] = 1;
    features.next = &features11;
    features11.next = &features12;
  }
  Wanted(const Wanted &) = delete;
};

struct Family {
  uint32_t number, time_bits;
};
std::optional<Family> compute_family(const Api &api, PhysicalDevice *physical) {
  uint32_t count = 0;
  api.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<QueueFamily> families(count);
  api.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  for (uint32_t i = 0; i < count; ++i)
    if ((families[i].flags & kQueueCompute) && families[i].count > 0) return Family{i, families[i].timestamp_bits};
  return std::nullopt;
}

bool has_extension(const Api &api, PhysicalDevice *physical, std::string_view wanted) {
  uint32_t count = 0;
  if (api.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr)) return false;
  std::vector<ExtensionProperties> extensions(count);
  if (api.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data())) return false;
  extensions.resize(count);
  return std::ranges::any_of(extensions, [&](const ExtensionProperties &each) { return each.name == wanted; });
}

bool tells_time(const Api &api, PhysicalDevice *physical) {
  if (!api.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT || !api.vkGetCalibratedTimestampsEXT) return false;
  uint32_t count = 0;
  if (!has_extension(api, physical, kCalibratedTimes) ||
      api.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(physical, &count, nullptr))
    return false;
  std::vector<uint32_t> domains(count);
  if (api.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(physical, &count, domains.data())) return false;
  domains.resize(count);
  return std::ranges::find(domains, +kDeviceDomain) != domains.end();
}

DeviceFacts facts_of(const Api &api, PhysicalDevice *physical) {
  DeviceFacts facts;
  facts.physical = physical;
  api.vkGetPhysicalDeviceProperties2(physical, &facts.properties);
  const uint32_t version_there = facts.properties.api_version;
  if (version_there < version(1, 2)) {
    facts.unsupported = concat("Vulkan 1.2, but has ", major_of(version_there), ".", minor_of(version_there));
    return facts;
  }
  facts.properties.next = &facts.properties11, facts.properties11.next = &facts.properties12;
  api.vkGetPhysicalDeviceProperties2(physical, &facts.properties);
  facts.features.next = &facts.features11, facts.features11.next = &facts.features12;
  api.vkGetPhysicalDeviceFeatures2(physical, &facts.features);
  facts.properties.next = facts.properties11.next = facts.features.next = facts.features11.next = nullptr;
  api.vkGetPhysicalDeviceMemoryProperties(physical, &facts.memory);
  const auto family = compute_family(api, physical);
  if (family) facts.family = family->number, facts.time_bits = family->time_bits;
  facts.tells_time = facts.time_bits && tells_time(api, physical);
  if (!family) facts.unsupported = "a queue for compute work";
  else if (!facts.features12.flags[kTimelines]) facts.unsupported = "timeline semaphores";
  return facts;
}

int place_of(uint32_t device_type) {
  constexpr uint32_t kOrder[] = {kDiscrete, kIntegrated, kVirtual, kOther, kProcessor};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), device_type) - std::begin(kOrder));
}

}  // namespace

DeviceContext::DeviceContext(const DeviceFacts &facts, int32_t number)
    : api_(Api::get()), facts_(facts), number_(number) {
  const float priority = 1;
  QueueInfo queue;
  queue.family = facts.family, queue.count = 1, queue.priorities = &priority;
  const Wanted wanted(facts);
  DeviceInfo info;
  info.next = &wanted.features;
  info.queue_count = 1, info.queues = &queue;
  info.extension_count = facts.tells_time, info.extensions = &kCalibratedTimes;
  check(api_.vkCreateDevice(facts.physical, &info, nullptr, &device_), "vkCreateDevice");
  api_.vkGetDeviceQueue(device_, facts.family, 0, &queue_);
}

int32_t DeviceContext::memory_type(uint32_t allowed, uint32_t flags) const {
  for (uint32_t i = 0; i < facts_.memory.type_count; ++i)
    if ((allowed >> i & 1) && (facts_.memory.types[i].flags & flags) == flags) return static_cast<int32_t>(i);
  return -1;
}

std::string DeviceContext::lacks_capability(uint32_t capability) const {
  for (const Capability &known : kCapabilities)
    if (known.number == capability) return has(facts_, known) ? "" : known.name;
  return concat("number ", capability);
}

DeviceContext::TimeQueries DeviceContext::take_queries() {
  if (!facts_.time_bits) return {};
  QueryPoolInfo info;
  info.kind = kTimestamps;
  return take(times_, info, 2);
}

DeviceContext::Queries DeviceContext::take_count_query() {
  QueryPoolInfo info;
  info.kind = kStatistics, info.statistics = kComputeInvocations;
  return take(counts_, info, 1);
}

DeviceContext::Queries DeviceContext::take(QueryStore &store, QueryPoolInfo info, uint32_t each) const {
  constexpr uint32_t kMore = 64;
  if (store.free.empty()) {
    store.free.reserve(store.num_all + kMore);
    info.count = each * kMore;
    QueryPool *pool = nullptr;
    check(api_.vkCreateQueryPool(device_, &info, nullptr, &pool), "vkCreateQueryPool");
    for (uint32_t i = 0; i < kMore; ++i) store.free.push_back({pool, each * i});
    store.num_all += kMore;
  }
  const Queries taken = store.free.back();
  store.free.pop_back();
  return taken;
}

Result DeviceContext::read_raw(TimeQueries queries, RawTimes &times) const {
  return api_.vkGetQueryPoolResults(device_, queries.pool, queries.first, 2, sizeof times, times.data(),
                                    sizeof times[0], kResults64);
}

bool DeviceContext::read(TimeQueries queries, uint64_t &begin_ns, uint64_t &end_ns) const {
  RawTimes times{};
  if (read_raw(queries, times)) return false;
  begin_ns = ns_of(times[0]), end_ns = ns_of(times[1]);
  return begin_ns <= end_ns;  // the counter may have begun anew
}

uint64_t DeviceContext::elapsed_ns(TimeQueries queries) const {
  RawTimes times{};
  check(read_raw(queries, times), "vkGetQueryPoolResults");
  return ns_of(times[1] - times[0]);
}

uint64_t DeviceContext::ns_of(uint64_t time) const {
  const uint64_t mask = facts_.time_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << facts_.time_bits) - 1;
  return static_cast<uint64_t>(static_cast<long double>(time & mask) * limits().timestamp_ns);
}

DeviceClock &DeviceContext::make_clock() {
  return clock_.emplace(facts_.tells_time ? kCalibratedTimes : "bracketed timestamp queries",
                        static_cast<uint64_t>(limits().timestamp_ns) + 1);
}

bool DeviceContext::tell_time(uint64_t &device_ns) const {
  CalibratedTimeInfo info;
  info.domain = kDeviceDomain;
  uint64_t time = 0, deviation = 0;
  if (!facts_.tells_time || api_.vkGetCalibratedTimestampsEXT(device_, 1, &info, &time, &deviation)) return false;
  device_ns = ns_of(time);
  return true;
}

uint32_t DeviceContext::spirv_version() const {
  return facts_.properties.api_version >= version(1, 3) ? 0x10600 : 0x10500;
}

std::vector<DeviceFacts> list_devices(const Api &api) {
  uint32_t count = 0;
  check(api.vkEnumeratePhysicalDevices(api.instance, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<PhysicalDevice *> physical(count);
  check(api.vkEnumeratePhysicalDevices(api.instance, &count, physical.data()), "vkEnumeratePhysicalDevices");
  std::vector<DeviceFacts> devices;
  for (PhysicalDevice *one : physical) devices.push_back(facts_of(api, one));
  std::stable_sort(devices.begin(), devices.end(), [](const DeviceFacts &a, const DeviceFacts &b) {
    return place_of(a.properties.device_type) < place_of(b.properties.device_type);
  });
  return devices;
}

}  // namespace opd::vk
