// Kernels in SPIR-V, as TVM stores them.
#include <algorithm>
#include <cstring>
#include <map>

#include "base/bytes.h"
#include "base/signals.h"
#include "device/vulkan/vulkan_spirv.h"
#include "device/vulkan/vulkan_work.h"
#include "value/value.h"

namespace opd::vk {
namespace {

struct Shader {
  bool has_uniform = false;  // the scalars are in a uniform buffer
  std::vector<uint32_t> words;
};
using Shaders = std::map<std::string, Shader, std::less<>>;

Shader read_shader_bytes(ByteReader &reader) {
  constexpr uint32_t kHasUniform = 1;
  Shader shader;
  const auto flags = reader.read<uint32_t>("the flags of a kernel");
  if (flags > kHasUniform) reader.bad("the flags of a kernel", concat("are ", flags, "; only 1 is supported"));
  shader.has_uniform = flags & kHasUniform;
  const auto count = reader.read_count(sizeof(uint32_t), "the words of a kernel");
  const Bytes words = reader.take(count * sizeof(uint32_t), "the words of a kernel");
  shader.words.resize(count);
  if (count) std::memcpy(shader.words.data(), words.data(), words.size());
  return shader;
}

// Newer releases of TVM write the size of a kernel's bytes before them. Older ones write flags there, which are at most
// 1, and the lower half of the number of words. Read as a size, that is at most 1 or at least 4 GB.
bool has_size(ByteReader reader) {
  const auto size = reader.read<uint64_t>("a kernel");
  return size >= sizeof(uint32_t) + sizeof(uint64_t) && size <= reader.remaining();
}

Shaders read_shaders(const DeviceCode &code) {
  const std::string what = concat(code.origin, ": the kernels for Vulkan");
  ByteReader reader(as_bytes(code.code), what.c_str());
  Shaders shaders;
  for (auto left = reader.read_count(20, "the number of kernels"); left > 0; --left) {
    const std::string name(reader.read_string("a kernel's name"));
    Shader shader;
    if (has_size(reader)) {
      const auto size = reader.read<uint64_t>("the size of a kernel");
      const size_t begin = reader.offset();
      ByteReader inner(reader.take(size, "a kernel"), what.c_str(), begin);
      shader = read_shader_bytes(inner);
      if (!inner.at_end()) inner.bad("the end of a kernel", concat("is followed by ", inner.remaining(), " bytes"));
    } else {
      shader = read_shader_bytes(reader);
    }
    if (!shaders.emplace(name, std::move(shader)).second) reader.bad("a kernel's name", "is there a second time");
  }
  if (!reader.at_end()) reader.bad("the end of the kernels", concat("is followed by ", reader.remaining(), " bytes"));
  return shaders;
}

constexpr size_t kSlotBytes = 8;  // size of a scalar of any dtype

constexpr uint32_t kSetsOfPool = 16;

struct PipelineForm {
  uint32_t num_buffers = 0, num_scalars = 0;
  bool has_uniform = false;  // scalars are in a uniform buffer, the last binding; else they are push constants
};

// A kernel that the driver has compiled for one form of arguments. Its launches take turns in using its sets of
// bindings.
class KernelPipeline : public std::enable_shared_from_this<KernelPipeline> {
 public:
  // Compiles the kernel. Throws.
  static std::shared_ptr<KernelPipeline> make(const DeviceContext &context, std::span<const uint32_t> words,
                                              const std::string &name, const PipelineForm &form) {
    const KeptSignalHandlers kept;
    const std::shared_ptr<KernelPipeline> made(new KernelPipeline(context, form));
    made->make_layout();
    made->compile(words, name);
    return made;
  }
  ~KernelPipeline() {
    const Api &api = context_.api();
    for (VkDescriptorPool pool : pools_) api.destroy(api.vkDestroyDescriptorPool, context_.device(), pool);
    api.destroy(api.vkDestroyPipeline, context_.device(), pipeline_);
    api.destroy(api.vkDestroyPipelineLayout, context_.device(), layout_);
    api.destroy(api.vkDestroyDescriptorSetLayout, context_.device(), set_layout_);
  }
  KernelPipeline(const KernelPipeline &) = delete;

  // Adds a launch to the work, which keeps the objects that it needs. Call it under the device's queue_guard().
  // `scalars` has one slot for each scalar.
  void record(Stream::Work &work, std::span<const VkDescriptorBufferInfo> buffers, std::span<const char> scalars,
              const std::array<uint32_t, 3> &grid) {
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

 private:
  struct Binding {
    VkDescriptorSet set = nullptr;
    std::shared_ptr<DeviceBuffer> uniform;
  };
  KernelPipeline(const DeviceContext &context, const PipelineForm &form) : context_(context), form_(form) {}
  void make_layout() {
    const Api &api = context_.api();
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (uint32_t i = 0; i < num_bindings(); ++i)
      bindings.push_back({i, kind_of(i), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    auto set = structure<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
    set.bindingCount = num_bindings(), set.pBindings = bindings.data();
    check(api.vkCreateDescriptorSetLayout(context_.device(), &set, nullptr, &set_layout_),
          "vkCreateDescriptorSetLayout");
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                    static_cast<uint32_t>(form_.num_scalars * kSlotBytes)};
    auto layout = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    layout.setLayoutCount = 1, layout.pSetLayouts = &set_layout_;
    layout.pushConstantRangeCount = form_.has_uniform || form_.num_scalars == 0 ? 0 : 1,
    layout.pPushConstantRanges = &range;
    check(api.vkCreatePipelineLayout(context_.device(), &layout, nullptr, &layout_), "vkCreatePipelineLayout");
  }
  void compile(std::span<const uint32_t> words, const std::string &name) {
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
           " cannot compile kernel ", name, ": vkCreateComputePipelines returned ", result_name(result));
  }
  uint32_t num_bindings() const { return form_.num_buffers + (form_.has_uniform ? 1 : 0); }
  VkDescriptorType kind_of(uint32_t binding) const {
    return binding < form_.num_buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
  }
  // The binding is returned when the work that holds it has ended. That also happens under the device's queue_guard().
  std::shared_ptr<Binding> take_binding() {
    if (free_.empty()) add_bindings();
    auto *taken = new Binding(std::move(free_.back()));
    free_.pop_back();
    return {taken, [pipeline = shared_from_this()](Binding *binding) {
              pipeline->free_.push_back(std::move(*binding));
              delete binding;
            }};
  }
  void add_bindings() {
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
  void fill(const Binding &binding, std::span<const VkDescriptorBufferInfo> buffers, std::span<const char> scalars) {
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

  const DeviceContext &context_;
  const PipelineForm form_;
  VkDescriptorSetLayout set_layout_ = nullptr;
  VkPipelineLayout layout_ = nullptr;
  VkPipeline pipeline_ = nullptr;
  // Guarded by the device's queue_guard().
  std::vector<VkDescriptorPool> pools_;
  std::vector<Binding> free_;  // has room for all bindings
};

class VulkanKernel final : public DeviceKernel {
 public:
  VulkanKernel(DeviceContext &context, Stream &main, const Shader &shader, ShaderFacts facts, std::string name)
      : context_(context), main_(main), shader_(shader), facts_(std::move(facts)), name_(std::move(name)) {}

  void launch(void *stream, const KernelLaunch &launch) override {
    check_launch(context_.api(), name_);
    give(stream_of(stream), launch, nullptr);
  }
  std::unique_ptr<PendingWork> launch_timed(void *stream, const KernelLaunch &launch) override {
    check_launch(context_.api(), name_);
    auto work = VulkanWork::make(context_, main_);
    const uint64_t number = give(stream_of(stream), launch, work ? work->queries() : nullptr);
    if (work) work->set_end(stream_of(stream), number);
    return work;
  }

 private:
  Stream &stream_of(void *stream) const { return stream ? *static_cast<Stream *>(stream) : main_; }

  uint64_t give(Stream &stream, const KernelLaunch &launch, Stream::Queries queries) {
    check_sizes(launch);
    KernelPipeline &pipeline = pipeline_for(launch);
    std::vector<Place> places;  // the work keeps their buffers
    std::vector<VkDescriptorBufferInfo> parts;
    std::vector<char> scalars;
    for (size_t i = 0; i < launch.args.size(); ++i) {
      const KernelArg &arg = launch.args[i];
      if (arg.is_address) {
        places.push_back(place_of(i, *static_cast<void *const *>(arg.value)));
        const Place &place = places.back();
        parts.push_back({place.buffer->handle(), place.offset, place.bytes - place.offset});
      } else {
        scalars.resize(scalars.size() + kSlotBytes);
        std::memcpy(scalars.data() + scalars.size() - kSlotBytes, arg.value, arg.size);
      }
    }
    const auto tally = VulkanCounters::present(context_);  // null: not counted
    auto counted = tally ? std::make_unique<CountedLaunch>(context_) : nullptr;
    const auto record = [&](Stream::Work &work) {
      {
        const CountedLaunch::Scope scope(counted.get(), work.commands);
        pipeline.record(work, parts, scalars, launch.grid);
      }
      for (Place &place : places) work.kept.push_back(std::move(place.buffer));
    };
    const Mark mark{queries ? *queries : DeviceContext::TimeQueries{}, queries != nullptr, queries != nullptr};
    const uint64_t number = stream.submit(record, queries || counted ? &mark : nullptr);
    if (counted) {
      counted->set_end(stream, number);
      tally->launches.push_back(std::move(counted));
    }
    return number;
  }

  void check_sizes(const KernelLaunch &launch) const {
    for (size_t i = 0; i < 3; ++i)
      if (launch.grid[i] > context_.limits().maxComputeWorkGroupCount[i]) [[unlikely]]
        fail(OPD_INVALID_ARGUMENT, "kernel ", name_, " cannot be launched with ", sizes_text(launch.grid),
             " blocks: vulkan:", context_.number(), " has at most ",
             sizes_text({context_.limits().maxComputeWorkGroupCount[0], context_.limits().maxComputeWorkGroupCount[1],
                         context_.limits().maxComputeWorkGroupCount[2]}));
    if (facts_.block[0] && launch.block != facts_.block) [[unlikely]]
      fail(OPD_INVALID_ARGUMENT, "kernel ", name_, " was compiled for blocks of ", sizes_text(facts_.block),
           " threads, but is launched with ", sizes_text(launch.block));
    if (launch.dynamic_shared_bytes) [[unlikely]]
      fail(OPD_UNSUPPORTED, "kernel ", name_, " is launched with ", launch.dynamic_shared_bytes,
           " bytes of shared memory; on Vulkan its size is part of the code");
  }

  Place place_of(size_t i, const void *address) const {
    if (!address)
      fail(OPD_INVALID_ARGUMENT, "argument ", i, " of kernel ", name_, " is not a tensor; on Vulkan it must be one");
    Place place = buffers().find(address, 0, context_.number());
    const size_t bytes = place.bytes - place.offset;
    check_part_begin("vulkan", context_.number(), name_, i, place.offset,
                     context_.limits().minStorageBufferOffsetAlignment);
    if (bytes == 0 || bytes > context_.limits().maxStorageBufferRange) [[unlikely]]
      fail(OPD_INVALID_ARGUMENT, "argument ", i, " of kernel ", name_, " has ", bytes,
           " bytes of its buffer; vulkan:", context_.number(), " allows 1 to ", context_.limits().maxStorageBufferRange,
           " bytes of each buffer");
    return place;
  }

  KernelPipeline &pipeline_for(const KernelLaunch &launch) {
    if (KernelPipeline *const made = made_.load(std::memory_order_acquire)) [[likely]]
      return *made;
    const std::scoped_lock lock(guard_);
    if (!pipeline_) {
      const PipelineForm form = form_of(launch.args);
      check_form(form);
      pipeline_ = KernelPipeline::make(context_, shader_.words, name_, form);
      made_.store(pipeline_.get(), std::memory_order_release);
    }
    return *pipeline_;
  }

  // The kernel's description determines the arguments of all launches, so the first launch has the form of all.
  PipelineForm form_of(std::span<const KernelArg> args) const {
    PipelineForm form;
    for (const KernelArg &arg : args) ++(arg.is_address ? form.num_buffers : form.num_scalars);
    form.has_uniform = shader_.has_uniform && form.num_scalars > 0;
    return form;
  }

  void check_form(const PipelineForm &form) const {
    const VkPhysicalDeviceLimits &limits = context_.limits();
    const uint64_t bytes = form.num_scalars * kSlotBytes;
    if (bytes > (form.has_uniform ? limits.maxUniformBufferRange : limits.maxPushConstantsSize))
      fail(OPD_UNSUPPORTED, "kernel ", name_, " has ", counted(form.num_scalars, "scalar"), " of ", kSlotBytes,
           " bytes; vulkan:", context_.number(), " takes ",
           form.has_uniform ? limits.maxUniformBufferRange : limits.maxPushConstantsSize, " bytes");
    if (form.num_buffers > limits.maxPerStageDescriptorStorageBuffers ||
        form.num_buffers >= limits.maxPerStageResources)
      fail(OPD_UNSUPPORTED, "kernel ", name_, " has ", counted(form.num_buffers, "tensor"),
           "; vulkan:", context_.number(), " takes ",
           std::min(limits.maxPerStageDescriptorStorageBuffers, limits.maxPerStageResources - 1));
    for (const uint32_t binding : facts_.storage)
      if (binding >= form.num_buffers)
        fail(OPD_BAD_FORMAT, "kernel ", name_, " uses tensor ", binding, ", but has ", form.num_buffers);
    for (const uint32_t binding : facts_.uniform)
      if (!form.has_uniform || binding != form.num_buffers)
        fail(OPD_BAD_FORMAT, "kernel ", name_, " uses a block of scalars as binding ", binding, ", where it has ",
             form.has_uniform ? concat("one as ", form.num_buffers) : "none");
    if (facts_.has_push_constants && (form.has_uniform || facts_.last_push_offset + kSlotBytes > bytes))
      fail(OPD_BAD_FORMAT, "kernel ", name_, " uses pushed scalars up to offset ", facts_.last_push_offset,
           ", but has ", form.has_uniform ? 0 : bytes, " bytes of them");
  }

  DeviceContext &context_;
  Stream &main_;
  const Shader &shader_;  // owned by the program
  const ShaderFacts facts_;
  const std::string name_;
  ForkMutex guard_{LockRank::kDeviceKernel};
  std::shared_ptr<KernelPipeline> pipeline_;
  std::atomic<KernelPipeline *> made_{nullptr};
};

class VulkanProgram final : public DeviceProgram {
 public:
  VulkanProgram(DeviceContext &context, Stream &main, const DeviceCode &code)
      : context_(context), main_(main), origin_(code.origin), shaders_(read_shaders(code)) {}

  std::unique_ptr<DeviceKernel> find(const std::string &name) override {
    const auto found = shaders_.find(name);
    if (found == shaders_.end()) fail(OPD_NOT_FOUND, "the program for Vulkan in ", origin_, " has no kernel ", name);
    const std::string what = concat("kernel ", name, " of ", origin_);
    ShaderFacts facts = read_shader(found->second.words, name, what);
    check_device(facts, what);
    return std::make_unique<VulkanKernel>(context_, main_, found->second, std::move(facts), name);
  }

 private:
  void check_device(const ShaderFacts &facts, const std::string &what) const {
    const VkPhysicalDeviceLimits &limits = context_.limits();
    if (facts.version > context_.spirv_version())
      fail(OPD_UNSUPPORTED, what, " is SPIR-V ", facts.version >> 16, ".", facts.version >> 8 & 0xFF,
           "; vulkan:", context_.number(), " reads up to ", context_.spirv_version() >> 16, ".",
           context_.spirv_version() >> 8 & 0xFF);
    for (const uint32_t capability : facts.capabilities)
      if (const std::string lacking = context_.lacks_capability(capability); !lacking.empty())
        fail(OPD_UNSUPPORTED, what, " needs the SPIR-V capability ", lacking, ", which vulkan:", context_.number(),
             " does not have here");
    uint64_t threads = 1;
    for (size_t i = 0; i < 3; ++i) {
      threads *= facts.block[i];  // no overflow: the first size that is too large fails
      if (facts.block[i] > limits.maxComputeWorkGroupSize[i] || threads > limits.maxComputeWorkGroupInvocations)
        fail(OPD_UNSUPPORTED, what, " has blocks of ", sizes_text(facts.block), " threads; vulkan:", context_.number(),
             " takes ", limits.maxComputeWorkGroupInvocations);
    }
  }

  DeviceContext &context_;
  Stream &main_;
  const std::string origin_;
  const Shaders shaders_;
};

}  // namespace

std::unique_ptr<DeviceProgram> build_program(DeviceContext &context, Stream &main, const DeviceCode &code) {
  if (code.format != "vulkan")
    fail(OPD_UNSUPPORTED, "the Vulkan code in ", code.origin, " has the format \"", code.format,
         "\"; this build reads \"vulkan\", which is SPIR-V");
  return std::make_unique<VulkanProgram>(context, main, code);
}

}  // namespace opd::vk
