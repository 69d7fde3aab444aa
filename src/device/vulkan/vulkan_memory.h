// Buffers of Vulkan devices, each with its own memory, and the addresses that represent them.
#pragma once
#include "device/address_ranges.h"
#include "device/vulkan/vulkan_context.h"

namespace opd::vk {

class DeviceBuffer {
 public:
  enum class Use : uint8_t { kTensor, kStaging, kScalars };
  // Returns null if memory is short. Throws for other failures.
  static std::shared_ptr<DeviceBuffer> make(const DeviceContext &context, uint64_t bytes, Use use);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer &) = delete;

  VkBuffer handle() const { return handle_; }
  char *host() const { return static_cast<char *>(host_); }  // address for the host; null for tensors
  uint64_t bytes() const { return bytes_; }

 private:
  DeviceBuffer(const DeviceContext &context, uint64_t bytes) : context_(context), bytes_(bytes) {}
  VkResult allocate(Use use);

  const DeviceContext &context_;
  const uint64_t bytes_;
  VkBuffer handle_ = nullptr;
  VkDeviceMemory memory_ = nullptr;
  void *host_ = nullptr;
};

using Buffers = AddressRanges<DeviceBuffer>;
using Place = Buffers::Place;
Buffers &buffers();  // never destroyed

}  // namespace opd::vk
