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
  for (DescriptorPool *pool : pools_) api.destroy(api.vkDestroyDescriptorPool, context_.device(), pool);
  api.destroy(api.vkDestroyPipeline, context_.device(), pipeline_);
  api.destroy(api.vkDestroyPipelineLayout, context_.device(), layout_);
  api.destroy(api.vkDestroyDescriptorSetLayout, context_.device(), set_layout_);
}

void KernelPipeline::make_layout() {
  const Api &api = context_.api();
  std::vector<SetBinding> bindings;
  for (uint32_t i = 0; i < num_bindings(); ++i) bindings.push_back({i, kind_of(i), 1, kComputeStage, nullptr});
  SetLayoutInfo set;
  set.count = num_bindings(), set.bindings = bindings.data();
  check(api.vkCreateDescriptorSetLayout(context_.device(), &set, nullptr, &set_layout_), "vkCreateDescriptorSetLayout");
  const PushRange range{kComputeStage, 0, static_cast<uint32_t>(form_.num_scalars * kSlotBytes)};
  PipelineLayoutInfo layout;
  layout.set_count = 1, layout.sets = &set_layout_;
  layout.range_count = form_.has_uniform || form_.num_scalars == 0 ? 0 : 1, layout.ranges = &range;
  check(api.vkCreatePipelineLayout(context_.device(), &layout, nullptr, &layout_), "vkCreatePipelineLayout");
}

void KernelPipeline::compile(std::span<const uint32_t> words, const std::string &name) {
  const Api &api = context_.api();
  ShaderInfo shader;
  shader.bytes = words.size_bytes(), shader.code = words.data();
  ComputePipelineInfo info;
  info.stage.stage = kComputeStage, info.stage.name = name.c_str();
  info.layout = layout_;
  check(api.vkCreateShaderModule(context_.device(), &shader, nullptr, &info.stage.shader), "vkCreateShaderModule");
  const Result result = api.vkCreateComputePipelines(context_.device(), nullptr, 1, &info, nullptr, &pipeline_);
  api.destroy(api.vkDestroyShaderModule, context_.device(), info.stage.shader);
  if (result)
    fail(is_out_of_memory(result) ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED, "the driver of vulkan:", context_.number(),
         " cannot compile kernel ", name, ": vkCreateComputePipelines gave ", result_name(result));
}

void KernelPipeline::add_bindings() {
  const Api &api = context_.api();
  std::vector<PoolSize> sizes;
  if (form_.num_buffers) sizes.push_back({kStorageBuffer, form_.num_buffers * kSetsOfPool});
  if (form_.has_uniform) sizes.push_back({kUniformBuffer, kSetsOfPool});
  pools_.reserve(pools_.size() + 1);
  free_.reserve((pools_.size() + 1) * kSetsOfPool);
  DescriptorPoolInfo info;
  info.max_sets = kSetsOfPool;
  info.size_count = static_cast<uint32_t>(sizes.size()), info.sizes = sizes.data();
  DescriptorPool *pool = nullptr;
  check(api.vkCreateDescriptorPool(context_.device(), &info, nullptr, &pool), "vkCreateDescriptorPool");
  pools_.push_back(pool);
  for (uint32_t i = 0; i < kSetsOfPool; ++i) {
    Binding binding;
    SetInfo set;
    set.pool = pool, set.count = 1, set.layouts = &set_layout_;
    check(api.vkAllocateDescriptorSets(context_.device(), &set, &binding.set), "vkAllocateDescriptorSets");
    if (form_.has_uniform) {
      binding.uniform = DeviceBuffer::make(context_, form_.num_scalars * kSlotBytes, DeviceBuffer::Use::kScalars);
      if (!binding.uniform) fail(OPD_OUT_OF_MEMORY, "vulkan:", context_.number(), " has no memory for scalars");
    }
    free_.push_back(std::move(binding));
  }
}

// It goes back when the work that keeps it has ended, which is under the device's queue_guard(), too.
std::shared_ptr<KernelPipeline::Binding> KernelPipeline::take_binding() {
  if (free_.empty()) add_bindings();
  auto *taken = new Binding(std::move(free_.back()));
  free_.pop_back();
  return {taken, [pipeline = shared_from_this()](Binding *binding) {
            pipeline->free_.push_back(std::move(*binding));
            delete binding;
          }};
}

void KernelPipeline::fill(const Binding &binding, std::span<const BufferPart> buffers, std::span<const char> scalars) {
  std::vector<SetWrite> writes(num_bindings());
  BufferPart uniform{};
  for (uint32_t i = 0; i < writes.size(); ++i) {
    writes[i].set = binding.set, writes[i].binding = i, writes[i].count = 1, writes[i].kind = kind_of(i);
    writes[i].buffers = i < buffers.size() ? &buffers[i] : &uniform;
  }
  if (form_.has_uniform) {
    std::memcpy(binding.uniform->host(), scalars.data(), scalars.size());
    uniform = {binding.uniform->handle(), 0, scalars.size()};
  }
  context_.api().vkUpdateDescriptorSets(context_.device(), static_cast<uint32_t>(writes.size()), writes.data(), 0,
                                        nullptr);
}

void KernelPipeline::record(Stream::Work &work, std::span<const BufferPart> buffers, std::span<const char> scalars,
                            const std::array<uint32_t, 3> &grid) {
  const Api &api = context_.api();
  if (num_bindings()) {
    const auto binding = take_binding();
    work.kept.push_back(binding);
    fill(*binding, buffers, scalars);
    api.vkCmdBindDescriptorSets(work.commands, kComputePoint, layout_, 0, 1, &binding->set, 0, nullptr);
  } else {
    work.kept.push_back(shared_from_this());
  }
  api.vkCmdBindPipeline(work.commands, kComputePoint, pipeline_);
  if (!form_.has_uniform && !scalars.empty())
    api.vkCmdPushConstants(work.commands, layout_, kComputeStage, 0, static_cast<uint32_t>(scalars.size()),
                           scalars.data());
  api.vkCmdDispatch(work.commands, grid[0], grid[1], grid[2]);
}

}  // namespace opd::vk
