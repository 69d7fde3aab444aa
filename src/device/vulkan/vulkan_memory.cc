#include "device/vulkan/vulkan_memory.h"

#include <algorithm>

#include "value/value.h"

namespace opd::vk {
namespace {

// A kernel may read whole words at the end of a buffer of bytes.
constexpr uint64_t kUnit = 16;

struct Kind {
  uint32_t usage, best_memory, least_memory;  // every device has memory of the last kind
};
Kind kind_of(DeviceBuffer::Use use) {
  switch (use) {
    case DeviceBuffer::Use::kStaging:
      return {kTransferSource | kTransferTarget, kHostVisible | kHostCoherent | kHostCached,
              kHostVisible | kHostCoherent};
    case DeviceBuffer::Use::kScalars:
      return {kUniform, kHostVisible | kHostCoherent | kDeviceLocal, kHostVisible | kHostCoherent};
    default:
      return {kTransferSource | kTransferTarget | kStorage, kDeviceLocal, 0};
  }
}

}  // namespace

Buffers &buffers() {
  static auto *const made = new Buffers("vulkan");
  return *made;
}

std::shared_ptr<DeviceBuffer> DeviceBuffer::make(const DeviceContext &context, uint64_t bytes, Use use) {
  if (bytes > context.facts().properties11.max_memory_bytes - kUnit) return nullptr;
  const std::shared_ptr<DeviceBuffer> made(
      new DeviceBuffer(context, (std::max<uint64_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit));
  const Result result = made->allocate(use);
  if (is_out_of_memory(result)) return nullptr;
  check(result, "making a buffer");
  return made;
}

Result DeviceBuffer::allocate(Use use) {
  const Api &api = context_.api();
  const Kind kind = kind_of(use);
  BufferInfo info;
  info.bytes = bytes_, info.usage = kind.usage;
  if (const Result result = api.vkCreateBuffer(context_.device(), &info, nullptr, &handle_)) return result;
  MemoryRequirements needs{};
  api.vkGetBufferMemoryRequirements(context_.device(), handle_, &needs);
  int32_t type = context_.memory_type(needs.types, kind.best_memory);
  if (type < 0) type = context_.memory_type(needs.types, kind.least_memory);
  if (type < 0) fail(OPD_CALL_FAILED, "vulkan:", context_.number(), " has no memory for buffers");
  MemoryInfo memory;
  memory.bytes = needs.bytes, memory.memory_type = static_cast<uint32_t>(type);
  if (needs.bytes > context_.heap_bytes(memory.memory_type)) return kOutOfDeviceMemory;
  if (const Result result = api.vkAllocateMemory(context_.device(), &memory, nullptr, &memory_)) return result;
  if (const Result result = api.vkBindBufferMemory(context_.device(), handle_, memory_, 0)) return result;
  if (use == Use::kTensor) return kSuccess;
  return api.vkMapMemory(context_.device(), memory_, 0, kWholeSize, 0, &host_);  // freeing it unmaps it
}

DeviceBuffer::~DeviceBuffer() {
  const Api &api = context_.api();
  api.destroy(api.vkDestroyBuffer, context_.device(), handle_);
  api.destroy(api.vkFreeMemory, context_.device(), memory_);
}

}  // namespace opd::vk
