#include "device/vulkan/vulkan_pipeline.h"

#include <cstring>

#include "base/signal_handlers.h"
#include "value/value.h"

namespace opd::vk {
namespace {

constexpr uint32_t kSetsOfPool = 16;

}  // namespace

std::shared_ptr<KernelPipeline> KernelPipeline::make(const DeviceContext &context, std::span<const uint32_t> words,
                                                     const std::string &name, const PipelineForm &form) {
  const KeptSignalHandlers kept;
  const std::shared_ptr<KernelPipeline> made(new KernelPipeline(context, form));
  made->make_layout();
  made->compile(words, name);
  return made;
}

KernelPipeline::~KernelPipeline() {
  const Api &api = context_.api();
  for (VkDescriptorPool pool : pools_) api.destroy(api.vkDestroyDescriptorPool, context_.device(), pool);
  api.destroy(api.vkDestroyPipeline, context_.device(), pipeline_);
  api.destroy(api.vkDestroyPipelineLayout, context_.device(), layout_);
  api.destroy(api.vkDestroyDescriptorSetLayout, context_.device(), set_layout_);
}

void KernelPipeline::make_layout() {
  const Api &api = context_.api();
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < num_bindings(); ++i)
    bindings.push_back({i, kind_of(i), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  auto set = structure<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set.bindingCount = num_bindings(), set.pBindings = bindings.data();
  check(api.vkCreateDescriptorSetLayout(context_.device(), &set, nullptr, &set_layout_), "vkCreateDescriptorSetLayout");
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                  static_cast<uint32_t>(form_.num_scalars * kSlotBytes)};
  auto layout = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1, layout.pSetLayouts = &set_layout_;
  layout.pushConstantRangeCount = form_.has_uniform || form_.num_scalars == 0 ? 0 : 1,
  layout.pPushConstantRanges = &range;
  check(api.vkCreatePipelineLayout(context_.device(), &layout, nullptr, &layout_), "vkCreatePipelineLayout");
}

void KernelPipeline::compile(std::span<const uint32_t> words, const std::string &name) {
  const Api &api = context_.api();
  auto shader = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  shader.codeSize = words.size_bytes(), shader.pCode = words.data();
  auto info = structure<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT, info.stage.pName = name.c_str();
  info.layout = layout_;
  check(api.vkCreateShaderModule(context_.device(), &shader, nullptr, &info.stage.module), "vkCreateShaderModule");
  const VkResult result = api.vkCreateComputePipelines(context_.device(), nullptr, 1, &info, nullptr, &pipeline_);
  api.destroy(api.vkDestroyShaderModule, context_.device(), info.stage.module);
  if (result)
    fail(is_out_of_memory(result) ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED, "the driver of vulkan:", context_.number(),
         " cannot compile kernel ", name, ": vkCreateComputePipelines gave ", result_name(result));
}

void KernelPipeline::add_bindings() {
  const Api &api = context_.api();
  std::vector<VkDescriptorPoolSize> sizes;
  if (form_.num_buffers) sizes.push_back({VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, form_.num_buffers * kSetsOfPool});
  if (form_.has_uniform) sizes.push_back({VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kSetsOfPool});
  pools_.reserve(pools_.size() + 1);
  free_.reserve((pools_.size() + 1) * kSetsOfPool);
  auto info = structure<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  info.maxSets = kSetsOfPool;
  info.poolSizeCount = static_cast<uint32_t>(sizes.size()), info.pPoolSizes = sizes.data();
  VkDescriptorPool pool = nullptr;
  check(api.vkCreateDescriptorPool(context_.device(), &info, nullptr, &pool), "vkCreateDescriptorPool");
  pools_.push_back(pool);
  for (uint32_t i = 0; i < kSetsOfPool; ++i) {
    Binding binding;
    auto set = structure<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    set.descriptorPool = pool, set.descriptorSetCount = 1, set.pSetLayouts = &set_layout_;
    check(api.vkAllocateDescriptorSets(context_.device(), &set, &binding.set), "vkAllocateDescriptorSets");
    if (form_.has_uniform) {
      binding.uniform = DeviceBuffer::make(context_, form_.num_scalars * kSlotBytes, DeviceBuffer::Use::kScalars);
      if (!binding.uniform) fail(OPD_OUT_OF_MEMORY, "vulkan:", context_.number(), " has no memory for scalars");
    }
    free_.push_back(std::move(binding));
  }
}

// The binding is returned when the work that holds it has ended. That also happens under the device's queue_guard().
std::shared_ptr<KernelPipeline::Binding> KernelPipeline::take_binding() {
  if (free_.empty()) add_bindings();
  auto *taken = new Binding(std::move(free_.back()));
  free_.pop_back();
  return {taken, [pipeline = shared_from_this()](Binding *binding) {
            pipeline->free_.push_back(std::move(*binding));
            delete binding;
          }};
}

void KernelPipeline::fill(const Binding &binding, std::span<const VkDescriptorBufferInfo> buffers,
                          std::span<const char> scalars) {
  std::vector<VkWriteDescriptorSet> writes(num_bindings(),
                                           structure<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET));
  VkDescriptorBufferInfo uniform{};
  for (uint32_t i = 0; i < writes.size(); ++i) {
    writes[i].dstSet = binding.set, writes[i].dstBinding = i, writes[i].descriptorCount = 1,
    writes[i].descriptorType = kind_of(i);
    writes[i].pBufferInfo = i < buffers.size() ? &buffers[i] : &uniform;
  }
  if (form_.has_uniform) {
    std::memcpy(binding.uniform->host(), scalars.data(), scalars.size());
    uniform = {binding.uniform->handle(), 0, scalars.size()};
  }
  context_.api().vkUpdateDescriptorSets(context_.device(), static_cast<uint32_t>(writes.size()), writes.data(), 0,
                                        nullptr);
}

void KernelPipeline::record(Stream::Work &work, std::span<const VkDescriptorBufferInfo> buffers,
                            std::span<const char> scalars, const std::array<uint32_t, 3> &grid) {
  const Api &api = context_.api();
  if (num_bindings()) {
    const auto binding = take_binding();
    work.kept.push_back(binding);
    fill(*binding, buffers, scalars);
    api.vkCmdBindDescriptorSets(work.commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &binding->set, 0,
                                nullptr);
  } else {
    work.kept.push_back(shared_from_this());
  }
  api.vkCmdBindPipeline(work.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
  if (!form_.has_uniform && !scalars.empty())
    api.vkCmdPushConstants(work.commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           static_cast<uint32_t>(scalars.size()), scalars.data());
  api.vkCmdDispatch(work.commands, grid[0], grid[1], grid[2]);
}

}  // namespace opd::vk
