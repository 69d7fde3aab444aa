#include "device/vulkan/vulkan_memory.h"

#include <algorithm>

#include "value/value.h"

namespace opd::vk {
namespace {

// Sizes are rounded up to this, because a kernel may read whole words at the end of a buffer of bytes.
constexpr uint64_t kUnit = 16;

struct Kind {
  uint32_t usage, best_memory, least_memory;  // every device has memory with `least_memory`
};
Kind kind_of(DeviceBuffer::Use use) {
  switch (use) {
    case DeviceBuffer::Use::kStaging:
      return {VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
              VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                  VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
              VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT};
    case DeviceBuffer::Use::kScalars:
      return {VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
              VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                  VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
              VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT};
    default:
      return {VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
              VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  }
}

}  // namespace

Buffers &buffers() {
  static auto *const made = new Buffers("vulkan");
  return *made;
}

std::shared_ptr<DeviceBuffer> DeviceBuffer::make(const DeviceContext &context, uint64_t bytes, Use use) {
  if (bytes > context.facts().properties11.maxMemoryAllocationSize - kUnit) return nullptr;
  const std::shared_ptr<DeviceBuffer> made(
      new DeviceBuffer(context, (std::max<uint64_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit));
  const VkResult result = made->allocate(use);
  if (is_out_of_memory(result)) return nullptr;
  check(result, "making a buffer");
  return made;
}

VkResult DeviceBuffer::allocate(Use use) {
  const Api &api = context_.api();
  const Kind kind = kind_of(use);
  auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes_, info.usage = kind.usage;
  if (const VkResult result = api.vkCreateBuffer(context_.device(), &info, nullptr, &handle_)) return result;
  VkMemoryRequirements needs{};
  api.vkGetBufferMemoryRequirements(context_.device(), handle_, &needs);
  int32_t type = context_.memory_type(needs.memoryTypeBits, kind.best_memory);
  if (type < 0) type = context_.memory_type(needs.memoryTypeBits, kind.least_memory);
  if (type < 0) fail(OPD_CALL_FAILED, "vulkan:", context_.number(), " has no memory for buffers");
  auto memory = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  memory.allocationSize = needs.size, memory.memoryTypeIndex = static_cast<uint32_t>(type);
  if (needs.size > context_.heap_bytes(memory.memoryTypeIndex)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  if (const VkResult result = api.vkAllocateMemory(context_.device(), &memory, nullptr, &memory_)) return result;
  if (const VkResult result = api.vkBindBufferMemory(context_.device(), handle_, memory_, 0)) return result;
  if (use == Use::kTensor) return VK_SUCCESS;
  return api.vkMapMemory(context_.device(), memory_, 0, VK_WHOLE_SIZE, 0, &host_);  // freeing it unmaps it
}

DeviceBuffer::~DeviceBuffer() {
  const Api &api = context_.api();
  api.destroy(api.vkDestroyBuffer, context_.device(), handle_);
  api.destroy(api.vkFreeMemory, context_.device(), memory_);
}

}  // namespace opd::vk
