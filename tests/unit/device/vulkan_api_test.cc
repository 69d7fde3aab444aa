// The library's own declarations of Vulkan against Khronos's header, where that is installed (libvulkan-dev).
#include "device/vulkan/vulkan_api.h"

#include <gtest/gtest.h>

#if __has_include(<vulkan/vulkan_core.h>)
#include <vulkan/vulkan_core.h>

#include <cstring>

#include "unit/device/called_alike.h"

namespace opd::vk {
namespace {

#define OPD_COMPARE(name, result, parameters) \
  static_assert(kCalledAlike<decltype(Api::name), decltype(&::name)>, #name);
OPD_VULKAN_FUNCTIONS(OPD_COMPARE)
OPD_VULKAN_EXTENSION_FUNCTIONS(OPD_COMPARE)
#undef OPD_COMPARE

// Whether a struct has the size of Khronos's, and the members named have its places and sizes.
#define SAME_SIZE(own, khronos) static_assert(sizeof(own) == sizeof(khronos), #own)
#define SAME_PLACE(own, member, khronos, theirs)                                                  \
  static_assert(offsetof(own, member) == offsetof(khronos, theirs) &&                             \
                    sizeof(std::declval<own>().member) == sizeof(std::declval<khronos>().theirs), \
                #own "::" #member)

SAME_SIZE(Limits, VkPhysicalDeviceLimits);
SAME_PLACE(Limits, max_image_2d, VkPhysicalDeviceLimits, maxImageDimension2D);
SAME_PLACE(Limits, max_uniform_bytes, VkPhysicalDeviceLimits, maxUniformBufferRange);
SAME_PLACE(Limits, max_storage_bytes, VkPhysicalDeviceLimits, maxStorageBufferRange);
SAME_PLACE(Limits, max_push_bytes, VkPhysicalDeviceLimits, maxPushConstantsSize);
SAME_PLACE(Limits, max_stage_storage_buffers, VkPhysicalDeviceLimits, maxPerStageDescriptorStorageBuffers);
SAME_PLACE(Limits, max_stage_resources, VkPhysicalDeviceLimits, maxPerStageResources);
SAME_PLACE(Limits, max_shared_bytes, VkPhysicalDeviceLimits, maxComputeSharedMemorySize);
SAME_PLACE(Limits, max_group_count, VkPhysicalDeviceLimits, maxComputeWorkGroupCount);
SAME_PLACE(Limits, max_group_items, VkPhysicalDeviceLimits, maxComputeWorkGroupInvocations);
SAME_PLACE(Limits, max_group_size, VkPhysicalDeviceLimits, maxComputeWorkGroupSize);
SAME_PLACE(Limits, storage_alignment, VkPhysicalDeviceLimits, minStorageBufferOffsetAlignment);
SAME_PLACE(Limits, timestamp_ns, VkPhysicalDeviceLimits, timestampPeriod);

SAME_SIZE(Properties, VkPhysicalDeviceProperties2);
SAME_PLACE(Properties, api_version, VkPhysicalDeviceProperties2, properties.apiVersion);
SAME_PLACE(Properties, driver_version, VkPhysicalDeviceProperties2, properties.driverVersion);
SAME_PLACE(Properties, device_type, VkPhysicalDeviceProperties2, properties.deviceType);
SAME_PLACE(Properties, name, VkPhysicalDeviceProperties2, properties.deviceName);
SAME_PLACE(Properties, limits, VkPhysicalDeviceProperties2, properties.limits);
SAME_SIZE(Properties11, VkPhysicalDeviceVulkan11Properties);
SAME_PLACE(Properties11, subgroup_size, VkPhysicalDeviceVulkan11Properties, subgroupSize);
SAME_PLACE(Properties11, subgroup_stages, VkPhysicalDeviceVulkan11Properties, subgroupSupportedStages);
SAME_PLACE(Properties11, subgroup_operations, VkPhysicalDeviceVulkan11Properties, subgroupSupportedOperations);
SAME_PLACE(Properties11, max_memory_bytes, VkPhysicalDeviceVulkan11Properties, maxMemoryAllocationSize);
SAME_SIZE(Properties12, VkPhysicalDeviceVulkan12Properties);
SAME_PLACE(Properties12, driver_info, VkPhysicalDeviceVulkan12Properties, driverInfo);
SAME_SIZE(Features, VkPhysicalDeviceFeatures2);
SAME_PLACE(Features, flags, VkPhysicalDeviceFeatures2, features);
SAME_SIZE(Features11, VkPhysicalDeviceVulkan11Features);
SAME_SIZE(Features12, VkPhysicalDeviceVulkan12Features);

SAME_SIZE(CalibratedTimeInfo, VkCalibratedTimestampInfoEXT);
SAME_PLACE(CalibratedTimeInfo, domain, VkCalibratedTimestampInfoEXT, timeDomain);
SAME_SIZE(ExtensionProperties, VkExtensionProperties);
SAME_SIZE(QueueFamily, VkQueueFamilyProperties);
SAME_PLACE(QueueFamily, count, VkQueueFamilyProperties, queueCount);
SAME_PLACE(QueueFamily, timestamp_bits, VkQueueFamilyProperties, timestampValidBits);
SAME_SIZE(MemoryProperties, VkPhysicalDeviceMemoryProperties);
SAME_PLACE(MemoryProperties, types, VkPhysicalDeviceMemoryProperties, memoryTypes);
SAME_PLACE(MemoryProperties, heap_count, VkPhysicalDeviceMemoryProperties, memoryHeapCount);
SAME_PLACE(MemoryProperties, heaps, VkPhysicalDeviceMemoryProperties, memoryHeaps);
SAME_PLACE(MemoryType, heap, VkMemoryType, heapIndex);
SAME_PLACE(MemoryHeap, flags, VkMemoryHeap, flags);
SAME_SIZE(MemoryRequirements, VkMemoryRequirements);
SAME_PLACE(MemoryRequirements, types, VkMemoryRequirements, memoryTypeBits);
SAME_SIZE(BufferCopy, VkBufferCopy);
SAME_PLACE(BufferCopy, to, VkBufferCopy, dstOffset);
SAME_SIZE(PushRange, VkPushConstantRange);
SAME_PLACE(PushRange, bytes, VkPushConstantRange, size);
SAME_SIZE(PoolSize, VkDescriptorPoolSize);
SAME_PLACE(PoolSize, count, VkDescriptorPoolSize, descriptorCount);
SAME_SIZE(BufferPart, VkDescriptorBufferInfo);
SAME_PLACE(BufferPart, bytes, VkDescriptorBufferInfo, range);
SAME_SIZE(SetBinding, VkDescriptorSetLayoutBinding);
SAME_PLACE(SetBinding, kind, VkDescriptorSetLayoutBinding, descriptorType);
SAME_PLACE(SetBinding, count, VkDescriptorSetLayoutBinding, descriptorCount);
SAME_PLACE(SetBinding, stages, VkDescriptorSetLayoutBinding, stageFlags);

SAME_SIZE(ApplicationInfo, VkApplicationInfo);
SAME_PLACE(ApplicationInfo, engine, VkApplicationInfo, pEngineName);
SAME_PLACE(ApplicationInfo, api_version, VkApplicationInfo, apiVersion);
SAME_SIZE(InstanceInfo, VkInstanceCreateInfo);
SAME_PLACE(InstanceInfo, application, VkInstanceCreateInfo, pApplicationInfo);
SAME_SIZE(QueueInfo, VkDeviceQueueCreateInfo);
SAME_PLACE(QueueInfo, family, VkDeviceQueueCreateInfo, queueFamilyIndex);
SAME_PLACE(QueueInfo, count, VkDeviceQueueCreateInfo, queueCount);
SAME_PLACE(QueueInfo, priorities, VkDeviceQueueCreateInfo, pQueuePriorities);
SAME_SIZE(DeviceInfo, VkDeviceCreateInfo);
SAME_PLACE(DeviceInfo, queue_count, VkDeviceCreateInfo, queueCreateInfoCount);
SAME_PLACE(DeviceInfo, queues, VkDeviceCreateInfo, pQueueCreateInfos);
SAME_SIZE(BufferInfo, VkBufferCreateInfo);
SAME_PLACE(BufferInfo, bytes, VkBufferCreateInfo, size);
SAME_PLACE(BufferInfo, usage, VkBufferCreateInfo, usage);
SAME_SIZE(MemoryInfo, VkMemoryAllocateInfo);
SAME_PLACE(MemoryInfo, bytes, VkMemoryAllocateInfo, allocationSize);
SAME_PLACE(MemoryInfo, memory_type, VkMemoryAllocateInfo, memoryTypeIndex);
SAME_SIZE(CommandPoolInfo, VkCommandPoolCreateInfo);
SAME_PLACE(CommandPoolInfo, family, VkCommandPoolCreateInfo, queueFamilyIndex);
SAME_SIZE(CommandBufferInfo, VkCommandBufferAllocateInfo);
SAME_PLACE(CommandBufferInfo, pool, VkCommandBufferAllocateInfo, commandPool);
SAME_PLACE(CommandBufferInfo, count, VkCommandBufferAllocateInfo, commandBufferCount);
SAME_SIZE(BeginInfo, VkCommandBufferBeginInfo);
SAME_PLACE(BeginInfo, flags, VkCommandBufferBeginInfo, flags);
SAME_SIZE(MemoryBarrier, VkMemoryBarrier);
SAME_PLACE(MemoryBarrier, source, VkMemoryBarrier, srcAccessMask);
SAME_PLACE(MemoryBarrier, target, VkMemoryBarrier, dstAccessMask);
SAME_SIZE(SemaphoreType, VkSemaphoreTypeCreateInfo);
SAME_PLACE(SemaphoreType, kind, VkSemaphoreTypeCreateInfo, semaphoreType);
SAME_PLACE(SemaphoreType, value, VkSemaphoreTypeCreateInfo, initialValue);
SAME_SIZE(SemaphoreInfo, VkSemaphoreCreateInfo);
SAME_SIZE(TimelineInfo, VkTimelineSemaphoreSubmitInfo);
SAME_PLACE(TimelineInfo, signal_count, VkTimelineSemaphoreSubmitInfo, signalSemaphoreValueCount);
SAME_PLACE(TimelineInfo, signal_values, VkTimelineSemaphoreSubmitInfo, pSignalSemaphoreValues);
SAME_SIZE(SubmitInfo, VkSubmitInfo);
SAME_PLACE(SubmitInfo, command_count, VkSubmitInfo, commandBufferCount);
SAME_PLACE(SubmitInfo, commands, VkSubmitInfo, pCommandBuffers);
SAME_PLACE(SubmitInfo, signal_count, VkSubmitInfo, signalSemaphoreCount);
SAME_PLACE(SubmitInfo, signals, VkSubmitInfo, pSignalSemaphores);
SAME_SIZE(WaitInfo, VkSemaphoreWaitInfo);
SAME_PLACE(WaitInfo, count, VkSemaphoreWaitInfo, semaphoreCount);
SAME_PLACE(WaitInfo, semaphores, VkSemaphoreWaitInfo, pSemaphores);
SAME_PLACE(WaitInfo, values, VkSemaphoreWaitInfo, pValues);
SAME_SIZE(ShaderInfo, VkShaderModuleCreateInfo);
SAME_PLACE(ShaderInfo, bytes, VkShaderModuleCreateInfo, codeSize);
SAME_PLACE(ShaderInfo, code, VkShaderModuleCreateInfo, pCode);
SAME_SIZE(SetLayoutInfo, VkDescriptorSetLayoutCreateInfo);
SAME_PLACE(SetLayoutInfo, count, VkDescriptorSetLayoutCreateInfo, bindingCount);
SAME_PLACE(SetLayoutInfo, bindings, VkDescriptorSetLayoutCreateInfo, pBindings);
SAME_SIZE(PipelineLayoutInfo, VkPipelineLayoutCreateInfo);
SAME_PLACE(PipelineLayoutInfo, set_count, VkPipelineLayoutCreateInfo, setLayoutCount);
SAME_PLACE(PipelineLayoutInfo, sets, VkPipelineLayoutCreateInfo, pSetLayouts);
SAME_PLACE(PipelineLayoutInfo, range_count, VkPipelineLayoutCreateInfo, pushConstantRangeCount);
SAME_PLACE(PipelineLayoutInfo, ranges, VkPipelineLayoutCreateInfo, pPushConstantRanges);
SAME_SIZE(StageInfo, VkPipelineShaderStageCreateInfo);
SAME_PLACE(StageInfo, stage, VkPipelineShaderStageCreateInfo, stage);
SAME_PLACE(StageInfo, shader, VkPipelineShaderStageCreateInfo, module);
SAME_PLACE(StageInfo, name, VkPipelineShaderStageCreateInfo, pName);
SAME_SIZE(ComputePipelineInfo, VkComputePipelineCreateInfo);
SAME_PLACE(ComputePipelineInfo, stage, VkComputePipelineCreateInfo, stage);
SAME_PLACE(ComputePipelineInfo, layout, VkComputePipelineCreateInfo, layout);
SAME_SIZE(DescriptorPoolInfo, VkDescriptorPoolCreateInfo);
SAME_PLACE(DescriptorPoolInfo, max_sets, VkDescriptorPoolCreateInfo, maxSets);
SAME_PLACE(DescriptorPoolInfo, size_count, VkDescriptorPoolCreateInfo, poolSizeCount);
SAME_PLACE(DescriptorPoolInfo, sizes, VkDescriptorPoolCreateInfo, pPoolSizes);
SAME_SIZE(SetInfo, VkDescriptorSetAllocateInfo);
SAME_PLACE(SetInfo, pool, VkDescriptorSetAllocateInfo, descriptorPool);
SAME_PLACE(SetInfo, count, VkDescriptorSetAllocateInfo, descriptorSetCount);
SAME_PLACE(SetInfo, layouts, VkDescriptorSetAllocateInfo, pSetLayouts);
SAME_SIZE(QueryPoolInfo, VkQueryPoolCreateInfo);
SAME_PLACE(QueryPoolInfo, kind, VkQueryPoolCreateInfo, queryType);
SAME_PLACE(QueryPoolInfo, count, VkQueryPoolCreateInfo, queryCount);
SAME_PLACE(QueryPoolInfo, statistics, VkQueryPoolCreateInfo, pipelineStatistics);
SAME_SIZE(SetWrite, VkWriteDescriptorSet);
SAME_PLACE(SetWrite, set, VkWriteDescriptorSet, dstSet);
SAME_PLACE(SetWrite, binding, VkWriteDescriptorSet, dstBinding);
SAME_PLACE(SetWrite, count, VkWriteDescriptorSet, descriptorCount);
SAME_PLACE(SetWrite, kind, VkWriteDescriptorSet, descriptorType);
SAME_PLACE(SetWrite, buffers, VkWriteDescriptorSet, pBufferInfo);

TEST(VulkanDeclarations, HaveTheStructTypesOfKhronossHeader) {
  EXPECT_EQ(ApplicationInfo{}.type, +VK_STRUCTURE_TYPE_APPLICATION_INFO);
  EXPECT_EQ(InstanceInfo{}.type, +VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  EXPECT_EQ(QueueInfo{}.type, +VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  EXPECT_EQ(DeviceInfo{}.type, +VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  EXPECT_EQ(CalibratedTimeInfo{}.type, +VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT);
  EXPECT_EQ(+kDeviceDomain, static_cast<uint32_t>(VK_TIME_DOMAIN_DEVICE_EXT));
  EXPECT_STREQ(kCalibratedTimes, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
  EXPECT_EQ(SubmitInfo{}.type, +VK_STRUCTURE_TYPE_SUBMIT_INFO);
  EXPECT_EQ(MemoryInfo{}.type, +VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  EXPECT_EQ(SemaphoreInfo{}.type, +VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  EXPECT_EQ(BufferInfo{}.type, +VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  EXPECT_EQ(ShaderInfo{}.type, +VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  EXPECT_EQ(StageInfo{}.type, +VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  EXPECT_EQ(ComputePipelineInfo{}.type, +VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  EXPECT_EQ(PipelineLayoutInfo{}.type, +VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  EXPECT_EQ(SetLayoutInfo{}.type, +VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  EXPECT_EQ(DescriptorPoolInfo{}.type, +VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  EXPECT_EQ(SetInfo{}.type, +VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  EXPECT_EQ(SetWrite{}.type, +VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
  EXPECT_EQ(CommandPoolInfo{}.type, +VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  EXPECT_EQ(CommandBufferInfo{}.type, +VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  EXPECT_EQ(BeginInfo{}.type, +VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  EXPECT_EQ(MemoryBarrier{}.type, +VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  EXPECT_EQ(SemaphoreType{}.type, +VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  EXPECT_EQ(TimelineInfo{}.type, +VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  EXPECT_EQ(QueryPoolInfo{}.type, +VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  EXPECT_EQ(WaitInfo{}.type, +VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  EXPECT_EQ(Properties{}.type, +VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  EXPECT_EQ(Properties11{}.type, +VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
  EXPECT_EQ(Properties12{}.type, +VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
  EXPECT_EQ(Features{}.type, +VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  EXPECT_EQ(Features11{}.type, +VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  EXPECT_EQ(Features12{}.type, +VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
}

// The place of a member among the flags that begin with `first`.
#define PLACE(khronos, first, member) ((offsetof(khronos, member) - offsetof(khronos, first)) / sizeof(VkBool32))

TEST(VulkanDeclarations, HaveTheFeaturesInTheirOrder) {
  EXPECT_EQ(+kPipelineStatistics, PLACE(VkPhysicalDeviceFeatures, robustBufferAccess, pipelineStatisticsQuery));
  EXPECT_EQ(+kFloat64, PLACE(VkPhysicalDeviceFeatures, robustBufferAccess, shaderFloat64));
  EXPECT_EQ(+kInt64, PLACE(VkPhysicalDeviceFeatures, robustBufferAccess, shaderInt64));
  EXPECT_EQ(+kInt16, PLACE(VkPhysicalDeviceFeatures, robustBufferAccess, shaderInt16));
  using Eleven = VkPhysicalDeviceVulkan11Features;
  EXPECT_EQ(+kStorage16, PLACE(Eleven, storageBuffer16BitAccess, storageBuffer16BitAccess));
  EXPECT_EQ(+kUniform16, PLACE(Eleven, storageBuffer16BitAccess, uniformAndStorageBuffer16BitAccess));
  EXPECT_EQ(+kPush16, PLACE(Eleven, storageBuffer16BitAccess, storagePushConstant16));
  EXPECT_EQ(+kStoragePointers, PLACE(Eleven, storageBuffer16BitAccess, variablePointersStorageBuffer));
  EXPECT_EQ(+kPointers, PLACE(Eleven, storageBuffer16BitAccess, variablePointers));
  using Twelve = VkPhysicalDeviceVulkan12Features;
  EXPECT_EQ(+kStorage8, PLACE(Twelve, samplerMirrorClampToEdge, storageBuffer8BitAccess));
  EXPECT_EQ(+kUniform8, PLACE(Twelve, samplerMirrorClampToEdge, uniformAndStorageBuffer8BitAccess));
  EXPECT_EQ(+kPush8, PLACE(Twelve, samplerMirrorClampToEdge, storagePushConstant8));
  EXPECT_EQ(+kInt64Atomics, PLACE(Twelve, samplerMirrorClampToEdge, shaderBufferInt64Atomics));
  EXPECT_EQ(+kFloat16, PLACE(Twelve, samplerMirrorClampToEdge, shaderFloat16));
  EXPECT_EQ(+kInt8, PLACE(Twelve, samplerMirrorClampToEdge, shaderInt8));
  EXPECT_EQ(+kTimelines, PLACE(Twelve, samplerMirrorClampToEdge, timelineSemaphore));
  EXPECT_EQ(+kMemoryModel, PLACE(Twelve, samplerMirrorClampToEdge, vulkanMemoryModel));
  EXPECT_EQ(+kMemoryModelScope, PLACE(Twelve, samplerMirrorClampToEdge, vulkanMemoryModelDeviceScope));
}

template <class A, class B>
void expect_equal(A own, B khronos) {
  EXPECT_EQ(static_cast<int64_t>(own), static_cast<int64_t>(khronos));
}

TEST(VulkanDeclarations, HaveTheNumbersOfKhronossHeader) {
  expect_equal(kSuccess, VK_SUCCESS);
  expect_equal(kTimeout, VK_TIMEOUT);
  expect_equal(kOutOfHostMemory, VK_ERROR_OUT_OF_HOST_MEMORY);
  expect_equal(kOutOfDeviceMemory, VK_ERROR_OUT_OF_DEVICE_MEMORY);
  expect_equal(kIncompatibleDriver, VK_ERROR_INCOMPATIBLE_DRIVER);
  expect_equal(kTooManyObjects, VK_ERROR_TOO_MANY_OBJECTS);
  expect_equal(kOther, VK_PHYSICAL_DEVICE_TYPE_OTHER);
  expect_equal(kIntegrated, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
  expect_equal(kDiscrete, VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
  expect_equal(kVirtual, VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU);
  expect_equal(kProcessor, VK_PHYSICAL_DEVICE_TYPE_CPU);
  expect_equal(kQueueCompute, VK_QUEUE_COMPUTE_BIT);
  expect_equal(kDeviceLocal, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  expect_equal(kHostVisible, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
  expect_equal(kHostCoherent, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  expect_equal(kHostCached, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  expect_equal(kTransferSource, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  expect_equal(kTransferTarget, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  expect_equal(kUniform, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT);
  expect_equal(kStorage, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
  expect_equal(kResettable, VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  expect_equal(kOnce, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  expect_equal(kStageAll, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  expect_equal(kStageBottom, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
  expect_equal(kStageHost, VK_PIPELINE_STAGE_HOST_BIT);
  expect_equal(kHostRead, VK_ACCESS_HOST_READ_BIT);
  expect_equal(kMemoryRead, VK_ACCESS_MEMORY_READ_BIT);
  expect_equal(kMemoryWrite, VK_ACCESS_MEMORY_WRITE_BIT);
  expect_equal(kUniformBuffer, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER);
  expect_equal(kStorageBuffer, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
  expect_equal(kComputeStage, VK_SHADER_STAGE_COMPUTE_BIT);
  expect_equal(kComputePoint, VK_PIPELINE_BIND_POINT_COMPUTE);
  expect_equal(kTimeline, VK_SEMAPHORE_TYPE_TIMELINE);
  expect_equal(kStatistics, VK_QUERY_TYPE_PIPELINE_STATISTICS);
  expect_equal(kComputeInvocations, VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT);
  expect_equal(kTimestamps, VK_QUERY_TYPE_TIMESTAMP);
  expect_equal(kResults64, VK_QUERY_RESULT_64_BIT);
  EXPECT_EQ(kWholeSize, VK_WHOLE_SIZE);
  expect_equal(version(1, 3), VK_API_VERSION_1_3);
  const uint32_t number = VK_MAKE_API_VERSION(0, 1, 23, 456);
  expect_equal(major_of(number), 1);
  expect_equal(minor_of(number), 23);
  expect_equal(patch_of(number), 456);
}

TEST(VulkanErrors, SayWhichPackageHasADriver) {
  EXPECT_EQ(no_driver(),
            "the loader of Vulkan's drivers is here, but no driver that has a device (Debian: mesa-vulkan-drivers, or "
            "the vendor's)");
}

TEST(VulkanErrors, HaveTheNamesOfTheSpecification) {
  EXPECT_EQ(result_name(VK_ERROR_DEVICE_LOST), "VK_ERROR_DEVICE_LOST (-4)");
  EXPECT_EQ(result_name(VK_ERROR_OUT_OF_POOL_MEMORY), "VK_ERROR_OUT_OF_POOL_MEMORY (-1000069000)");
  EXPECT_EQ(result_name(VK_ERROR_TOO_MANY_OBJECTS), "VK_ERROR_TOO_MANY_OBJECTS (-10)");
  EXPECT_EQ(result_name(VK_ERROR_INVALID_SHADER_NV), "VK_ERROR_INVALID_SHADER_NV (-1000012000)");
  EXPECT_EQ(result_name(-9999), "error -9999");
}

}  // namespace
}  // namespace opd::vk
#else
TEST(VulkanDeclarations, HaveTheNumbersOfKhronossHeader) {
  GTEST_SKIP() << "vulkan/vulkan_core.h is not installed (libvulkan-dev)";
}
#endif
