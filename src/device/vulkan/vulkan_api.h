// The functions of Vulkan 1.2 that the library uses. The loader (libvulkan.so.1) is opened at the first use of a Vulkan
// device.
// Source: Vulkan 1.3 - A Specification.
#pragma once
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <string>

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

}  // namespace opd::vk
