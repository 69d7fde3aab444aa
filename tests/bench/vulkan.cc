// The launch of an empty kernel on vulkan:0, over the driver's own calls for the same.
#include <dlfcn.h>

#include <array>
#include <vector>

#include "device_kernels.h"

#if __has_include(<vulkan/vulkan_core.h>)
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>
#define OPDYNO_BENCH_VULKAN
#endif

namespace {

constexpr DLDevice kDevice{kDLVulkan, 0};

// nop() in blocks of one thread: void main() {} with that name.
constexpr uint32_t kSpirv[] = {0x07230203,
                               0x10300,
                               0,
                               5,
                               0,  // version 1.3, numbers below 5
                               2u << 16 | 17,
                               1,  // capability Shader
                               3u << 16 | 14,
                               0,
                               1,  // memory model
                               4u << 16 | 15,
                               5,
                               1,
                               0x00706F6E,  // entry point 1, "nop"
                               6u << 16 | 16,
                               1,
                               17,
                               1,
                               1,
                               1,  // a block of one thread
                               2u << 16 | 19,
                               2,  // void
                               3u << 16 | 33,
                               3,
                               2,  // a function without parameters
                               5u << 16 | 54,
                               2,
                               1,
                               0,
                               3,  // the function
                               2u << 16 | 248,
                               4,
                               1u << 16 | 253,
                               1u << 16 | 56};

bench::Sampler launches() {
  bench::need_device(kDevice);
  static const opdyno::Function kernel = [] {
    const std::string code = bench::raw(uint64_t{1}) + bench::text("nop") + bench::raw(uint32_t{0}) +
                             bench::raw(uint64_t{std::size(kSpirv)}) + bench::raw(kSpirv);
    const bench::KernelLibrary library("vulkan", "vulkan", code);
    return opdyno::Module::load(library.path.c_str()).function("nop", 1);
  }();
  return bench::timed_launches(kDevice, kernel, false);
}

const bench::AddRow launched("vulkan_launch", "ns", launches);

#ifdef OPDYNO_BENCH_VULKAN

#define FUNCTIONS(X)               \
  X(vkEnumeratePhysicalDevices)    \
  X(vkCreateDevice)                \
  X(vkGetDeviceQueue)              \
  X(vkCreateBuffer)                \
  X(vkAllocateMemory)              \
  X(vkGetBufferMemoryRequirements) \
  X(vkBindBufferMemory)            \
  X(vkCreateShaderModule)          \
  X(vkCreateDescriptorSetLayout)   \
  X(vkCreatePipelineLayout)        \
  X(vkCreateComputePipelines)      \
  X(vkCreateDescriptorPool)        \
  X(vkAllocateDescriptorSets)      \
  X(vkCreateCommandPool)           \
  X(vkAllocateCommandBuffers)      \
  X(vkCreateFence)                 \
  X(vkBeginCommandBuffer)          \
  X(vkEndCommandBuffer)            \
  X(vkUpdateDescriptorSets)        \
  X(vkCmdBindPipeline)             \
  X(vkCmdBindDescriptorSets)       \
  X(vkCmdPushConstants)            \
  X(vkCmdDispatch)                 \
  X(vkCmdPipelineBarrier)          \
  X(vkQueueSubmit)                 \
  X(vkWaitForFences)               \
  X(vkResetFences)

void need(VkResult result) {
  if (result != VK_SUCCESS) throw std::runtime_error("a function of Vulkan returned " + std::to_string(result));
}

// What a program that knows its one kernel does: for each launch it writes a set of descriptors, pushes the number, and
// records the dispatch and a barrier. As opdyno, it gives 64 launches to the queue together.
class Bare {
 public:
  static constexpr int64_t kTogether = 64;

  Bare() {
    make_device();
    make_pipeline();
    make_sets();
    make_commands();
  }
  Bare(const Bare &) = delete;

  void launch(int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const auto place = static_cast<size_t>(i % bench::kInFlight);
      const bool is_last = i + 1 == count;
      if (place % kTogether == 0) begin(place / kTogether);
      record(commands_[place / kTogether], sets_[place]);
      if (place % kTogether == kTogether - 1 || is_last) submit(place / kTogether);
      if (place == bench::kInFlight - 1 || is_last) wait(place / kTogether + 1);
    }
  }

 private:
  void make_device() {
    void *const library = dlopen("libvulkan.so.1", RTLD_NOW);
    const auto find = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
    VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO, nullptr, "", 0, "", 0, VK_API_VERSION_1_2};
    VkInstanceCreateInfo made{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, nullptr, 0, &application, 0, nullptr, 0, nullptr};
    VkInstance instance;
    need(reinterpret_cast<PFN_vkCreateInstance>(find(nullptr, "vkCreateInstance"))(&made, nullptr, &instance));
#define FIND(name) name = reinterpret_cast<PFN_##name>(find(instance, #name));
    FUNCTIONS(FIND)
#undef FIND
    uint32_t count = 1;
    VkPhysicalDevice physical;
    if (vkEnumeratePhysicalDevices(instance, &count, &physical) < 0) throw bench::Missing("Vulkan has no device");
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, 0, 1, &priority};
    VkDeviceCreateInfo info{
        VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, nullptr, 0, 1, &queue, 0, nullptr, 0, nullptr, nullptr};
    need(vkCreateDevice(physical, &info, nullptr, &device_));
    vkGetDeviceQueue(device_, 0, 0, &queue_);
    VkBufferCreateInfo buffer{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                              nullptr,
                              0,
                              64,
                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                              VK_SHARING_MODE_EXCLUSIVE,
                              0,
                              nullptr};
    need(vkCreateBuffer(device_, &buffer, nullptr, &buffer_));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device_, buffer_, &needs);
    VkMemoryAllocateInfo memory{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, needs.size,
                                static_cast<uint32_t>(__builtin_ctz(needs.memoryTypeBits))};
    VkDeviceMemory block;
    need(vkAllocateMemory(device_, &memory, nullptr, &block));
    need(vkBindBufferMemory(device_, buffer_, block, 0));
  }

  void make_pipeline() {
    VkShaderModuleCreateInfo code{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, nullptr, 0, sizeof kSpirv, kSpirv};
    VkShaderModule shader;
    need(vkCreateShaderModule(device_, &code, nullptr, &shader));
    VkDescriptorSetLayoutBinding binding{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, 0, 1, &binding};
    need(vkCreateDescriptorSetLayout(device_, &set, nullptr, &set_layout_));
    VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(int64_t)};
    VkPipelineLayoutCreateInfo layout{
        VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, nullptr, 0, 1, &set_layout_, 1, &range};
    need(vkCreatePipelineLayout(device_, &layout, nullptr, &layout_));
    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                     nullptr,
                                     0,
                                     {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, nullptr, 0,
                                      VK_SHADER_STAGE_COMPUTE_BIT, shader, "nop", nullptr},
                                     layout_,
                                     nullptr,
                                     -1};
    need(vkCreateComputePipelines(device_, nullptr, 1, &info, nullptr, &pipeline_));
  }

  void make_sets() {
    VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, bench::kInFlight};
    VkDescriptorPoolCreateInfo info{
        VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, bench::kInFlight, 1, &size};
    VkDescriptorPool pool;
    need(vkCreateDescriptorPool(device_, &info, nullptr, &pool));
    const std::vector<VkDescriptorSetLayout> layouts(bench::kInFlight, set_layout_);
    VkDescriptorSetAllocateInfo all{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, pool, bench::kInFlight,
                                    layouts.data()};
    need(vkAllocateDescriptorSets(device_, &all, sets_.data()));
  }

  void make_commands() {
    VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr,
                                 VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, 0};
    VkCommandPool pool;
    need(vkCreateCommandPool(device_, &info, nullptr, &pool));
    VkCommandBufferAllocateInfo buffers{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool,
                                        VK_COMMAND_BUFFER_LEVEL_PRIMARY, kBuffers};
    need(vkAllocateCommandBuffers(device_, &buffers, commands_.data()));
    for (VkFence &fence : fences_) {
      VkFenceCreateInfo made{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
      need(vkCreateFence(device_, &made, nullptr, &fence));
    }
  }

  void begin(size_t buffer) {
    VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr,
                                  VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, nullptr};
    need(vkBeginCommandBuffer(commands_[buffer], &info));
  }
  void record(VkCommandBuffer commands, VkDescriptorSet set) {
    const VkDescriptorBufferInfo part{buffer_, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, nullptr, set,   0,      0, 1,
                                     VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,      nullptr, &part, nullptr};
    vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
    constexpr VkAccessFlags kAll = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, kAll, kAll};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                         &barrier, 0, nullptr, 0, nullptr);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set, 0, nullptr);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    const int64_t number = 1;
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof number, &number);
    vkCmdDispatch(commands, 1, 1, 1);
  }
  void submit(size_t buffer) {
    need(vkEndCommandBuffer(commands_[buffer]));
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO, nullptr, 0, nullptr, nullptr, 1, &commands_[buffer], 0, nullptr};
    need(vkQueueSubmit(queue_, 1, &info, fences_[buffer]));
  }
  void wait(size_t buffers) {
    const auto count = static_cast<uint32_t>(buffers);
    need(vkWaitForFences(device_, count, fences_.data(), VK_TRUE, UINT64_MAX));
    need(vkResetFences(device_, count, fences_.data()));
  }

#define DECLARE(name) PFN_##name name = nullptr;
  FUNCTIONS(DECLARE)
#undef DECLARE
  static constexpr uint32_t kBuffers = bench::kInFlight / kTogether;
  VkDevice device_{};
  VkQueue queue_{};
  VkBuffer buffer_{};
  VkDescriptorSetLayout set_layout_{};
  VkPipelineLayout layout_{};
  VkPipeline pipeline_{};
  std::array<VkDescriptorSet, bench::kInFlight> sets_{};
  std::array<VkCommandBuffer, kBuffers> commands_{};
  std::array<VkFence, kBuffers> fences_{};
};

const bench::AddRow launched_bare("vulkan_launch_bare", "ns", [] {
  bench::need_device(kDevice);
  static auto *const bare = new Bare;  // the driver ends when the process does
  return bench::timed(1, [](int64_t n) { bare->launch(n); });
});

#endif

}  // namespace
