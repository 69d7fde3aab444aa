// A kernel that the driver has compiled for one form of arguments. Its launches take turns in using its sets of
// bindings.
#pragma once
#include <array>
#include <span>

#include "device/vulkan/vulkan_stream.h"

namespace opd::vk {

inline constexpr size_t kSlotBytes = 8;  // size of a scalar of any dtype

struct PipelineForm {
  uint32_t num_buffers = 0, num_scalars = 0;
  bool has_uniform = false;  // scalars are in a uniform buffer, the last binding; else they are push constants
};

class KernelPipeline : public std::enable_shared_from_this<KernelPipeline> {
 public:
  // Compiles the kernel. Throws.
  static std::shared_ptr<KernelPipeline> make(const DeviceContext &context, std::span<const uint32_t> words,
                                              const std::string &name, const PipelineForm &form);
  ~KernelPipeline();
  KernelPipeline(const KernelPipeline &) = delete;

  // Adds a launch to the work, which keeps the objects that it needs. Call it under the device's queue_guard().
  // `scalars` has one slot for each scalar.
  void record(Stream::Work &work, std::span<const VkDescriptorBufferInfo> buffers, std::span<const char> scalars,
              const std::array<uint32_t, 3> &grid);

 private:
  struct Binding {
    VkDescriptorSet set = nullptr;
    std::shared_ptr<DeviceBuffer> uniform;
  };
  KernelPipeline(const DeviceContext &context, const PipelineForm &form) : context_(context), form_(form) {}
  void make_layout();
  void compile(std::span<const uint32_t> words, const std::string &name);
  uint32_t num_bindings() const { return form_.num_buffers + (form_.has_uniform ? 1 : 0); }
  VkDescriptorType kind_of(uint32_t binding) const {
    return binding < form_.num_buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
  }
  std::shared_ptr<Binding> take_binding();
  void add_bindings();
  void fill(const Binding &binding, std::span<const VkDescriptorBufferInfo> buffers, std::span<const char> scalars);

  const DeviceContext &context_;
  const PipelineForm form_;
  VkDescriptorSetLayout set_layout_ = nullptr;
  VkPipelineLayout layout_ = nullptr;
  VkPipeline pipeline_ = nullptr;
  // Guarded by the device's queue_guard().
  std::vector<VkDescriptorPool> pools_;
  std::vector<Binding> free_;  // has room for all bindings
};

}  // namespace opd::vk
