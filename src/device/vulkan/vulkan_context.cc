#include "device/vulkan/vulkan_context.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/fork_mutex.h"
#include "value/value.h"

namespace opd::vk {

// ---- the loader

namespace {

#define OPD_NAME(result) \
  { result, #result }
constexpr KnownStatus kNames[] = {
    OPD_NAME(VK_NOT_READY),
    OPD_NAME(VK_TIMEOUT),
    OPD_NAME(VK_INCOMPLETE),
    OPD_NAME(VK_ERROR_OUT_OF_HOST_MEMORY),
    OPD_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY),
    OPD_NAME(VK_ERROR_INITIALIZATION_FAILED),
    OPD_NAME(VK_ERROR_DEVICE_LOST),
    OPD_NAME(VK_ERROR_MEMORY_MAP_FAILED),
    OPD_NAME(VK_ERROR_LAYER_NOT_PRESENT),
    OPD_NAME(VK_ERROR_EXTENSION_NOT_PRESENT),
    OPD_NAME(VK_ERROR_FEATURE_NOT_PRESENT),
    OPD_NAME(VK_ERROR_INCOMPATIBLE_DRIVER),
    OPD_NAME(VK_ERROR_TOO_MANY_OBJECTS),
    OPD_NAME(VK_ERROR_FRAGMENTED_POOL),
    OPD_NAME(VK_ERROR_UNKNOWN),
    OPD_NAME(VK_ERROR_OUT_OF_POOL_MEMORY),
    OPD_NAME(VK_ERROR_INVALID_SHADER_NV),
};
#undef OPD_NAME

}  // namespace

void Api::open() {
  const LoaderCall call;
  PFN_vkGetInstanceProcAddr find;
  DriverLibrary::open("libvulkan.so.1", absence, "the loader of Vulkan's drivers (Debian: libvulkan1)")
      .find(find, "vkGetInstanceProcAddr");
  const auto create = find ? reinterpret_cast<PFN_vkCreateInstance>(find(nullptr, "vkCreateInstance")) : nullptr;
  if (!create && absence.empty()) absence = "libvulkan.so.1 has no vkCreateInstance";
  if (!absence.empty()) return;
  auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pEngineName = "opdyno";
  application.apiVersion = VK_API_VERSION_1_3;
  auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  if (const VkResult result = create(&info, nullptr, &instance)) {
    absence = result == VK_ERROR_INCOMPATIBLE_DRIVER ? no_driver()
                                                     : concat("vkCreateInstance returned ", result_name(result));
    return;
  }
#define OPD_FIND(name) name = reinterpret_cast<decltype(name)>(find(instance, #name));
  OPD_VULKAN_EXTENSION_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
#define OPD_FIND(name)                                            \
  name = reinterpret_cast<decltype(name)>(find(instance, #name)); \
  if (!name && absence.empty()) absence = "Vulkan's loader is older than Vulkan 1.2: it has no " #name;
  OPD_VULKAN_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

std::string no_driver() {
  return "the loader of Vulkan's drivers is here, but no driver that has a device (Debian: mesa-vulkan-drivers, or the "
         "vendor's)";
}

// Returns true also for the limit on the number of allocations: another one is possible after one has been freed.
bool is_out_of_memory(VkResult result) {
  return result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
         result == VK_ERROR_TOO_MANY_OBJECTS;
}

std::string result_name(VkResult result) { return status_text(kNames, result); }

void check(VkResult result, const char *function) {
  if (result == VK_SUCCESS) [[likely]]
    return;
  fail(is_out_of_memory(result) ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED, function, " returned ", result_name(result));
}

// ---- devices

namespace {

using Of10 = VkPhysicalDeviceFeatures;
using Of11 = VkPhysicalDeviceVulkan11Features;
using Of12 = VkPhysicalDeviceVulkan12Features;

// A SPIR-V capability and the device feature that it requires. Null or 0: it requires no feature of this kind.
struct Capability {
  uint32_t number;
  const char *name;
  VkBool32 Of10::*feature = nullptr;
  VkBool32 Of11::*feature11 = nullptr;
  VkBool32 Of12::*feature12 = nullptr;
  VkSubgroupFeatureFlags subgroups = 0;
};
constexpr Capability kCapabilities[] = {
    {.number = 0, .name = "Matrix"},
    {.number = 1, .name = "Shader"},
    {.number = 9, .name = "Float16", .feature12 = &Of12::shaderFloat16},
    {.number = 10, .name = "Float64", .feature = &Of10::shaderFloat64},
    {.number = 11, .name = "Int64", .feature = &Of10::shaderInt64},
    {.number = 12, .name = "Int64Atomics", .feature12 = &Of12::shaderBufferInt64Atomics},
    {.number = 22, .name = "Int16", .feature = &Of10::shaderInt16},
    {.number = 39, .name = "Int8", .feature12 = &Of12::shaderInt8},
    {.number = 61, .name = "GroupNonUniform", .subgroups = VK_SUBGROUP_FEATURE_BASIC_BIT},
    {.number = 62, .name = "GroupNonUniformVote", .subgroups = VK_SUBGROUP_FEATURE_VOTE_BIT},
    {.number = 63, .name = "GroupNonUniformArithmetic", .subgroups = VK_SUBGROUP_FEATURE_ARITHMETIC_BIT},
    {.number = 64, .name = "GroupNonUniformBallot", .subgroups = VK_SUBGROUP_FEATURE_BALLOT_BIT},
    {.number = 65, .name = "GroupNonUniformShuffle", .subgroups = VK_SUBGROUP_FEATURE_SHUFFLE_BIT},
    {.number = 66, .name = "GroupNonUniformShuffleRelative", .subgroups = VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT},
    {.number = 67, .name = "GroupNonUniformClustered", .subgroups = VK_SUBGROUP_FEATURE_CLUSTERED_BIT},
    {.number = 68, .name = "GroupNonUniformQuad", .subgroups = VK_SUBGROUP_FEATURE_QUAD_BIT},
    {.number = 4433, .name = "StorageBuffer16BitAccess", .feature11 = &Of11::storageBuffer16BitAccess},
    {.number = 4434,
     .name = "UniformAndStorageBuffer16BitAccess",
     .feature11 = &Of11::uniformAndStorageBuffer16BitAccess},
    {.number = 4435, .name = "StoragePushConstant16", .feature11 = &Of11::storagePushConstant16},
    {.number = 4441, .name = "VariablePointersStorageBuffer", .feature11 = &Of11::variablePointersStorageBuffer},
    {.number = 4442, .name = "VariablePointers", .feature11 = &Of11::variablePointers},
    {.number = 4448, .name = "StorageBuffer8BitAccess", .feature12 = &Of12::storageBuffer8BitAccess},
    {.number = 4449,
     .name = "UniformAndStorageBuffer8BitAccess",
     .feature12 = &Of12::uniformAndStorageBuffer8BitAccess},
    {.number = 4450, .name = "StoragePushConstant8", .feature12 = &Of12::storagePushConstant8},
    {.number = 5345, .name = "VulkanMemoryModel", .feature12 = &Of12::vulkanMemoryModel},
    {.number = 5346, .name = "VulkanMemoryModelDeviceScope", .feature12 = &Of12::vulkanMemoryModelDeviceScope},
};

bool has(const DeviceFacts &facts, const Capability &capability) {
  if (capability.feature) return facts.features.*capability.feature;
  if (capability.feature11) return facts.features11.*capability.feature11;
  if (capability.feature12) return facts.features12.*capability.feature12;
  return !capability.subgroups || ((facts.properties11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
                                   (facts.properties11.subgroupSupportedOperations & capability.subgroups));
}

// A device's features as the list of structs that Vulkan reads and fills in.
struct FeatureList {
  VkPhysicalDeviceFeatures2 features =
      structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  Of11 features11 = structure<Of11>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  Of12 features12 = structure<Of12>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);

  FeatureList() { features.pNext = &features11, features11.pNext = &features12; }
  FeatureList(const FeatureList &) = delete;
};

// The features to enable: those that the listed capabilities need, statistics for counters, and timelines for streams.
// Other features stay off, because some, such as bounds checks of buffers, cost time.
struct Wanted : FeatureList {
  explicit Wanted(const DeviceFacts &facts) {
    for (const Capability &capability : kCapabilities) {
      if (!has(facts, capability)) continue;
      if (capability.feature) features.features.*capability.feature = VK_TRUE;
      if (capability.feature11) features11.*capability.feature11 = VK_TRUE;
      if (capability.feature12) features12.*capability.feature12 = VK_TRUE;
    }
    features.features.pipelineStatisticsQuery = facts.features.pipelineStatisticsQuery;
    features12.timelineSemaphore = VK_TRUE;
  }
};

struct Family {
  uint32_t number, time_bits;
};
std::optional<Family> compute_family(const Api &api, VkPhysicalDevice physical) {
  uint32_t count = 0;
  api.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  for (uint32_t i = 0; i < count; ++i)
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) && families[i].queueCount > 0)
      return Family{i, families[i].timestampValidBits};
  return std::nullopt;
}

bool has_extension(const Api &api, VkPhysicalDevice physical, std::string_view wanted) {
  uint32_t count = 0;
  if (api.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr)) return false;
  std::vector<VkExtensionProperties> extensions(count);
  if (api.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data())) return false;
  extensions.resize(count);
  return std::ranges::any_of(extensions,
                             [&](const VkExtensionProperties &each) { return each.extensionName == wanted; });
}

bool tells_time(const Api &api, VkPhysicalDevice physical) {
  if (!api.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT || !api.vkGetCalibratedTimestampsEXT) return false;
  uint32_t count = 0;
  if (!has_extension(api, physical, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) ||
      api.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(physical, &count, nullptr))
    return false;
  std::vector<VkTimeDomainEXT> domains(count);
  if (api.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(physical, &count, domains.data())) return false;
  domains.resize(count);
  return std::ranges::find(domains, VK_TIME_DOMAIN_DEVICE_EXT) != domains.end();
}

DeviceFacts facts_of(const Api &api, VkPhysicalDevice physical) {
  DeviceFacts facts;
  facts.physical = physical;
  auto properties = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  api.vkGetPhysicalDeviceProperties2(physical, &properties);
  facts.properties = properties.properties;
  const uint32_t version = facts.properties.apiVersion;
  if (version < VK_API_VERSION_1_2) {
    facts.unsupported =
        concat("Vulkan 1.2, but has ", VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version));
    return facts;
  }
  facts.properties12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  facts.properties11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  properties.pNext = &facts.properties11, facts.properties11.pNext = &facts.properties12;
  api.vkGetPhysicalDeviceProperties2(physical, &properties);
  FeatureList features;
  api.vkGetPhysicalDeviceFeatures2(physical, &features.features);
  facts.features = features.features.features;
  facts.features11 = features.features11, facts.features12 = features.features12;
  facts.properties11.pNext = facts.features11.pNext = nullptr;
  api.vkGetPhysicalDeviceMemoryProperties(physical, &facts.memory);
  const auto family = compute_family(api, physical);
  if (family) facts.family = family->number, facts.time_bits = family->time_bits;
  facts.tells_time = facts.time_bits && tells_time(api, physical);
  if (!family) facts.unsupported = "a queue for compute work";
  else if (!facts.features12.timelineSemaphore) facts.unsupported = "timeline semaphores";
  return facts;
}

int place_of(VkPhysicalDeviceType device_type) {
  constexpr VkPhysicalDeviceType kOrder[] = {
      VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU,
      VK_PHYSICAL_DEVICE_TYPE_OTHER, VK_PHYSICAL_DEVICE_TYPE_CPU};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), device_type) - std::begin(kOrder));
}

}  // namespace

DeviceContext::DeviceContext(const DeviceFacts &facts, int32_t number)
    : api_(Api::get()), facts_(facts), number_(number) {
  const float priority = 1;
  auto queue = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = facts.family, queue.queueCount = 1, queue.pQueuePriorities = &priority;
  const Wanted wanted(facts);
  auto info = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &wanted.features;
  info.queueCreateInfoCount = 1, info.pQueueCreateInfos = &queue;
  const char *const extension = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
  info.enabledExtensionCount = facts.tells_time, info.ppEnabledExtensionNames = &extension;
  check(api_.vkCreateDevice(facts.physical, &info, nullptr, &device_), "vkCreateDevice");
  api_.vkGetDeviceQueue(device_, facts.family, 0, &queue_);
}

std::string DeviceContext::lacks_capability(uint32_t capability) const {
  for (const Capability &known : kCapabilities)
    if (known.number == capability) return has(facts_, known) ? "" : known.name;
  return concat("number ", capability);
}

DeviceContext::Queries DeviceContext::take(QueryStore &store, VkQueryPoolCreateInfo info, uint32_t each) const {
  constexpr uint32_t kMore = 64;
  if (store.free.empty()) {
    store.free.reserve(store.num_all + kMore);
    info.queryCount = each * kMore;
    VkQueryPool pool = nullptr;
    check(api_.vkCreateQueryPool(device_, &info, nullptr, &pool), "vkCreateQueryPool");
    for (uint32_t i = 0; i < kMore; ++i) store.free.push_back({pool, each * i});
    store.num_all += kMore;
  }
  const Queries taken = store.free.back();
  store.free.pop_back();
  return taken;
}

uint64_t DeviceContext::ns_of(uint64_t time) const {
  const uint64_t mask = facts_.time_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << facts_.time_bits) - 1;
  return static_cast<uint64_t>(static_cast<long double>(time & mask) * limits().timestampPeriod);
}

DeviceClock &DeviceContext::make_clock() {
  return clock_.emplace(facts_.tells_time ? VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME : "bracketed timestamp queries",
                        static_cast<uint64_t>(limits().timestampPeriod) + 1);
}

bool DeviceContext::tell_time(uint64_t &device_ns) const {
  auto info = structure<VkCalibratedTimestampInfoEXT>(VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT);
  info.timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
  uint64_t time = 0, deviation = 0;
  if (!facts_.tells_time || api_.vkGetCalibratedTimestampsEXT(device_, 1, &info, &time, &deviation)) return false;
  device_ns = ns_of(time);
  return true;
}

uint32_t DeviceContext::spirv_version() const {
  return facts_.properties.apiVersion >= VK_API_VERSION_1_3 ? 0x10600 : 0x10500;
}

std::vector<DeviceFacts> list_devices(const Api &api) {
  uint32_t count = 0;
  check(api.vkEnumeratePhysicalDevices(api.instance, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> physical(count);
  check(api.vkEnumeratePhysicalDevices(api.instance, &count, physical.data()), "vkEnumeratePhysicalDevices");
  std::vector<DeviceFacts> devices;
  for (VkPhysicalDevice one : physical) devices.push_back(facts_of(api, one));
  std::stable_sort(devices.begin(), devices.end(), [](const DeviceFacts &a, const DeviceFacts &b) {
    return place_of(a.properties.deviceType) < place_of(b.properties.deviceType);
  });
  return devices;
}

}  // namespace opd::vk
