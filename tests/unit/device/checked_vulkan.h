// Stands between the library and Vulkan's driver: passes calls on, and reports those that the specification forbids.
// Drivers on processors forgive many of them. Work is done at once, but the library is not told so before it asks.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "device/vulkan/vulkan_context.h"

namespace opd::vk {

class CheckedVulkan {
 public:
  /** While it lives, the process's calls go through it; one at a time. */
  CheckedVulkan() : real_(Api::get()) {
    here() = this;
    put_between(const_cast<Api &>(Api::get()));
  }
  ~CheckedVulkan() {
    Api &api = const_cast<Api &>(Api::get());
#define OPD_RESTORE(name) api.name = real_.name;
    OPD_VULKAN_FUNCTIONS(OPD_RESTORE)
    OPD_VULKAN_EXTENSION_FUNCTIONS(OPD_RESTORE)
#undef OPD_RESTORE
    here() = nullptr;
  }
  CheckedVulkan(const CheckedVulkan &) = delete;

  /** What is alive, by kind. Pools of queries live as long as the process. */
  std::map<std::string, size_t> alive() const {
    std::map<std::string, size_t> counts;
    for (const auto &[object, kind] : objects_) ++counts[kind];
    return counts;
  }
  /** The commands of each submission, with ";" after each, since the last time. */
  std::vector<std::string> submissions() { return std::exchange(submissions_, {}); }
  /** The nth call that can fail, from now on, does and all after it; 0: none does. */
  void fail_from(int64_t nth) { calls_ = 0, fail_from_ = nth; }
  int64_t calls() const { return calls_; }
  const std::string &failed() const { return failed_; }  // the first one
  /** Whether the library is not told that work has ended, unless it waits for it. */
  bool is_slow = false;
  uint32_t family = 0;
  struct Made {
    VkPhysicalDeviceFeatures features;
    VkPhysicalDeviceVulkan11Features features11;
    VkPhysicalDeviceVulkan12Features features12;
    uint32_t num_extensions;
  };
  std::vector<Made> devices;    // what was asked of those that were made
  std::vector<uint64_t> bound;  // the bytes of each part of a buffer that a kernel was given

 private:
  static constexpr VkResult kLost = VK_ERROR_DEVICE_LOST;
  using Use = std::set<const void *>;
  struct Commands {
    enum State { kInitial, kRecording, kExecutable, kPending };
    VkCommandPool pool = nullptr;
    State state = kInitial;
    bool is_ordered = false, is_read = false, is_seen = false, is_spoilt = false;
    const void *pipeline = nullptr, *layout = nullptr;
    VkDescriptorSet set = nullptr;
    uint32_t pushed = 0;
    VkQueryPool query = nullptr;  // that is open
    Use uses = {};
    std::string text = {};
  };
  struct Pending {
    VkSemaphore semaphore;
    uint64_t value;
    VkCommandBuffer commands;
  };
  struct Set {
    VkDescriptorSetLayout layout;
    std::map<uint32_t, VkDescriptorBufferInfo> parts;
  };
  struct Pool {
    uint32_t sets = 0;
    std::map<VkDescriptorType, uint32_t> left;  // by kind of descriptor
  };
  struct Layout {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    uint32_t push_bytes = 0;
  };

  static CheckedVulkan *&here() {
    static CheckedVulkan *checked = nullptr;
    return checked;
  }
  bool fails(const char *name) {
    if (++calls_ < fail_from_ || !fail_from_) return false;
    if (calls_ == fail_from_) failed_ = name;
    return true;
  }
  template <class T>
  VkResult made(VkResult result, const char *kind, T *object) {
    EXPECT_EQ(result, VK_SUCCESS) << kind;
    objects_[*object] = kind;
    return result;
  }
  void ended(const void *object, const char *kind) {
    EXPECT_EQ(objects_[object], kind) << "it is destroyed twice, or never was one";
    spoil(object, kind);
    objects_.erase(object);
  }
  // Commands that use the object cannot be given any more, and none that may run uses it.
  void spoil(const void *object, const char *kind) {
    for (auto &[buffer, commands] : commands_) {
      if (!commands.uses.contains(object)) continue;
      EXPECT_NE(commands.state, Commands::kPending) << "work that may run uses the " << kind;
      commands.is_spoilt = true;
    }
  }
  void expect_alive(const void *object, const char *kind) { EXPECT_EQ(objects_[object], kind); }
  Commands &recorded(VkCommandBuffer buffer) {
    EXPECT_EQ(commands_[buffer].state, Commands::kRecording);
    return commands_[buffer];
  }
  void note_command(Commands &commands, const std::string &text) {
    EXPECT_TRUE(commands.is_ordered) << text << " may begin before the command ahead of it has ended";
    commands.is_ordered = false;
    commands.text += text + ";";
  }
  void use(Commands &commands, VkBuffer buffer) {
    expect_alive(buffer, "buffer");
    EXPECT_NE(memory_of_[buffer], nullptr) << "a buffer without memory";
    commands.uses.insert({buffer, memory_of_[buffer]});
  }
  void tell(VkSemaphore semaphore, uint64_t value) {
    std::erase_if(pending_, [&](const Pending &each) {
      if (each.semaphore != semaphore || each.value > value) return false;
      commands_[each.commands].state = Commands::kExecutable;
      return true;
    });
    told_[semaphore] = std::max(told_[semaphore], value);
  }
  template <class T>
  static const T &next_of(const void *next, VkStructureType type) {
    static const T none{};
    if (!next || static_cast<const T *>(next)->sType != type)
      return ADD_FAILURE() << "no struct of type " << type, none;
    return *static_cast<const T *>(next);
  }

  void put_between(Api &api);

  const Api real_;
  int64_t calls_ = 0, fail_from_ = 0;
  std::string failed_;
  std::map<const void *, std::string> objects_;
  std::map<VkBuffer, VkBufferCreateInfo> buffers_;
  std::map<VkBuffer, VkDeviceMemory> memory_of_;
  std::map<VkDeviceMemory, uint64_t> memories_;
  std::set<VkDeviceMemory> mapped_;
  std::map<VkCommandBuffer, Commands> commands_;
  std::map<VkSemaphore, uint64_t> told_, reached_;
  std::vector<Pending> pending_;
  std::map<const void *, Layout> layouts_;
  std::map<VkDescriptorPool, Pool> pools_;
  std::map<VkDescriptorSet, Set> sets_;
  std::map<VkPipeline, VkPipelineLayout> pipelines_;
  std::map<VkQueryPool, uint32_t> queries_;
  std::map<VkQueryPool, VkQueryType> kinds_;
  std::set<std::pair<VkQueryPool, uint32_t>> reset_;
  std::vector<std::string> submissions_;
};

inline void CheckedVulkan::put_between(Api &api) {
#define CHECKED(name)         \
  CheckedVulkan &c = *here(); \
  if (c.fails(#name)) return kLost

  api.vkCreateDevice = [](VkPhysicalDevice physical, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *,
                          VkDevice *out) {
    CHECKED(vkCreateDevice);
    EXPECT_EQ(info->queueCreateInfoCount, 1u);
    EXPECT_EQ(info->pQueueCreateInfos[0].sType, VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
    EXPECT_EQ(info->pQueueCreateInfos[0].queueFamilyIndex, c.family);
    EXPECT_EQ(info->pQueueCreateInfos[0].queueCount, 1u);
    EXPECT_EQ(info->pQueueCreateInfos[0].pQueuePriorities[0], 1.f);
    const auto &features =
        next_of<VkPhysicalDeviceFeatures2>(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    const auto &features11 = next_of<VkPhysicalDeviceVulkan11Features>(
        features.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    const auto &features12 = next_of<VkPhysicalDeviceVulkan12Features>(
        features11.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    EXPECT_EQ(features12.timelineSemaphore, 1u);
    EXPECT_EQ(features12.pNext, nullptr);
    c.devices.push_back({features.features, features11, features12, info->enabledExtensionCount});
    for (uint32_t i = 0; i < info->enabledExtensionCount; ++i)
      EXPECT_STREQ(info->ppEnabledExtensionNames[i], VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    return c.real_.vkCreateDevice(physical, info, nullptr, out);
  };
  api.vkGetDeviceQueue = [](VkDevice device, uint32_t family, uint32_t number, VkQueue *out) {
    EXPECT_EQ(family, here()->family);
    EXPECT_EQ(number, 0u) << "it has one queue";
    here()->real_.vkGetDeviceQueue(device, family, number, out);
  };

  // ---- memory
  api.vkCreateBuffer = [](VkDevice device, const VkBufferCreateInfo *info, const VkAllocationCallbacks *,
                          VkBuffer *out) {
    CHECKED(vkCreateBuffer);
    EXPECT_GT(info->size, 0u);
    const VkResult result = c.made(c.real_.vkCreateBuffer(device, info, nullptr, out), "buffer", out);
    c.buffers_[*out] = *info, c.memory_of_[*out] = nullptr;
    return result;
  };
  api.vkDestroyBuffer = [](VkDevice device, VkBuffer buffer, const VkAllocationCallbacks *) {
    here()->ended(buffer, "buffer");
    here()->real_.vkDestroyBuffer(device, buffer, nullptr);
  };
  api.vkAllocateMemory = [](VkDevice device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *,
                            VkDeviceMemory *out) {
    CHECKED(vkAllocateMemory);
    const VkResult result = c.made(c.real_.vkAllocateMemory(device, info, nullptr, out), "memory", out);
    c.memories_[*out] = info->allocationSize;
    return result;
  };
  api.vkFreeMemory = [](VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks *) {
    here()->ended(memory, "memory");
    here()->mapped_.erase(memory);
    here()->real_.vkFreeMemory(device, memory, nullptr);
  };
  api.vkBindBufferMemory = [](VkDevice device, VkBuffer buffer, VkDeviceMemory memory, uint64_t offset) {
    CHECKED(vkBindBufferMemory);
    VkMemoryRequirements needs{};
    c.real_.vkGetBufferMemoryRequirements(device, buffer, &needs);
    EXPECT_GE(c.memories_[memory], needs.size + offset);
    EXPECT_EQ(offset % needs.alignment, 0u);
    c.memory_of_[buffer] = memory;
    return c.real_.vkBindBufferMemory(device, buffer, memory, offset);
  };
  api.vkMapMemory = [](VkDevice device, VkDeviceMemory memory, uint64_t offset, uint64_t bytes, uint32_t flags,
                       void **out) {
    CHECKED(vkMapMemory);
    EXPECT_EQ(offset, 0u);
    EXPECT_EQ(bytes, VK_WHOLE_SIZE);
    EXPECT_EQ(flags, 0u);
    c.mapped_.insert(memory);
    return c.real_.vkMapMemory(device, memory, offset, bytes, flags, out);
  };

  // ---- commands
  api.vkCreateCommandPool = [](VkDevice device, const VkCommandPoolCreateInfo *info, const VkAllocationCallbacks *,
                               VkCommandPool *out) {
    CHECKED(vkCreateCommandPool);
    EXPECT_EQ(info->flags, VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT) << "its buffers are used again one by one";
    EXPECT_EQ(info->queueFamilyIndex, c.family);
    return c.made(c.real_.vkCreateCommandPool(device, info, nullptr, out), "command pool", out);
  };
  api.vkDestroyCommandPool = [](VkDevice device, VkCommandPool pool, const VkAllocationCallbacks *) {
    here()->ended(pool, "command pool");
    std::erase_if(here()->commands_, [&](const auto &each) { return each.second.pool == pool; });
    here()->real_.vkDestroyCommandPool(device, pool, nullptr);
  };
  api.vkAllocateCommandBuffers = [](VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *out) {
    CHECKED(vkAllocateCommandBuffers);
    c.expect_alive(info->commandPool, "command pool");
    EXPECT_EQ(info->commandBufferCount, 1u);
    EXPECT_EQ(info->level, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    const VkResult result = c.real_.vkAllocateCommandBuffers(device, info, out);
    c.commands_[*out] = {info->commandPool};
    return result;
  };
  api.vkBeginCommandBuffer = [](VkCommandBuffer commands, const VkCommandBufferBeginInfo *info) {
    CHECKED(vkBeginCommandBuffer);
    EXPECT_EQ(info->flags, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    EXPECT_NE(c.commands_[commands].state, Commands::kPending) << "commands that may run are changed";
    c.commands_[commands] = {c.commands_[commands].pool, Commands::kRecording};
    return c.real_.vkBeginCommandBuffer(commands, info);
  };
  api.vkEndCommandBuffer = [](VkCommandBuffer commands) {
    CHECKED(vkEndCommandBuffer);
    Commands &own = c.recorded(commands);
    own.state = Commands::kExecutable;
    EXPECT_TRUE(!own.is_read || own.is_seen) << "the host may not see what was copied for it";
    EXPECT_EQ(own.query, nullptr) << "a query is still open";
    return c.real_.vkEndCommandBuffer(commands);
  };
  api.vkCmdPipelineBarrier = [](VkCommandBuffer commands, uint32_t from, uint32_t to, uint32_t flags, uint32_t count,
                                const VkMemoryBarrier *barriers, uint32_t of_buffers, auto, uint32_t of_images, auto) {
    Commands &own = here()->recorded(commands);
    EXPECT_EQ(from, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    EXPECT_EQ(flags, 0u);
    EXPECT_EQ(of_buffers + of_images, 0u);
    ASSERT_EQ(count, 1u);
    EXPECT_EQ(barriers->srcAccessMask, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
    EXPECT_EQ(barriers->dstAccessMask, to == VK_PIPELINE_STAGE_HOST_BIT
                                           ? VK_ACCESS_HOST_READ_BIT
                                           : VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
    (to == VK_PIPELINE_STAGE_HOST_BIT ? own.is_seen : own.is_ordered) = true;
    EXPECT_TRUE(to == VK_PIPELINE_STAGE_HOST_BIT || to == VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    here()->real_.vkCmdPipelineBarrier(commands, from, to, flags, count, barriers, 0, nullptr, 0, nullptr);
  };
  api.vkCmdCopyBuffer = [](VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count,
                           const VkBufferCopy *part) {
    CheckedVulkan &c = *here();
    Commands &own = c.recorded(commands);
    ASSERT_EQ(count, 1u);
    c.note_command(own, "copy " + std::to_string(part->size));
    c.use(own, from), c.use(own, to);
    EXPECT_TRUE(c.buffers_[from].usage & VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    EXPECT_TRUE(c.buffers_[to].usage & VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    EXPECT_LE(part->srcOffset + part->size, c.buffers_[from].size);
    EXPECT_LE(part->dstOffset + part->size, c.buffers_[to].size);
    if (c.mapped_.contains(c.memory_of_[to])) own.is_read = true, own.is_seen = false;
    c.real_.vkCmdCopyBuffer(commands, from, to, count, part);
  };
  api.vkQueueSubmit = [](VkQueue queue, uint32_t count, const VkSubmitInfo *info, VkFence fence) {
    CHECKED(vkQueueSubmit);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(info->waitSemaphoreCount, 0u);
    EXPECT_EQ(info->commandBufferCount, 1u);
    EXPECT_EQ(info->signalSemaphoreCount, 1u);
    const auto &timeline =
        next_of<VkTimelineSemaphoreSubmitInfo>(info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    EXPECT_EQ(timeline.signalSemaphoreValueCount, 1u);
    c.expect_alive(*info->pSignalSemaphores, "semaphore");
    Commands &own = c.commands_[*info->pCommandBuffers];
    EXPECT_EQ(own.state, Commands::kExecutable);
    EXPECT_FALSE(own.is_spoilt) << "what the commands use was changed or destroyed";
    own.state = Commands::kPending;
    EXPECT_EQ(*timeline.pSignalSemaphoreValues, c.reached_[*info->pSignalSemaphores] + 1)
        << "each work has the next number";
    c.reached_[*info->pSignalSemaphores] = *timeline.pSignalSemaphoreValues;
    c.pending_.push_back({*info->pSignalSemaphores, *timeline.pSignalSemaphoreValues, *info->pCommandBuffers});
    c.submissions_.push_back(own.text);
    return c.real_.vkQueueSubmit(queue, count, info, fence);
  };
  api.vkCreateSemaphore = [](VkDevice device, const VkSemaphoreCreateInfo *info, const VkAllocationCallbacks *,
                             VkSemaphore *out) {
    CHECKED(vkCreateSemaphore);
    const auto &type = next_of<VkSemaphoreTypeCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    EXPECT_EQ(type.semaphoreType, VK_SEMAPHORE_TYPE_TIMELINE);
    EXPECT_EQ(type.initialValue, 0u);
    const VkResult result = c.made(c.real_.vkCreateSemaphore(device, info, nullptr, out), "semaphore", out);
    c.told_[*out] = c.reached_[*out] = 0;
    return result;
  };
  api.vkDestroySemaphore = [](VkDevice device, VkSemaphore semaphore, const VkAllocationCallbacks *) {
    here()->ended(semaphore, "semaphore");
    here()->real_.vkDestroySemaphore(device, semaphore, nullptr);
  };
  // Waits also if it is to fail, so that no work is left that uses what is destroyed afterwards.
  api.vkWaitSemaphores = [](VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t ns) {
    EXPECT_EQ(info->semaphoreCount, 1u);
    EXPECT_EQ(info->flags, 0u);
    EXPECT_EQ(ns, ~uint64_t{0});
    EXPECT_LE(*info->pValues, here()->reached_[*info->pSemaphores]) << "nothing raises the counter so far";
    const VkResult result = here()->real_.vkWaitSemaphores(device, info, ns);
    here()->tell(*info->pSemaphores, *info->pValues);
    CHECKED(vkWaitSemaphores);
    return result;
  };
  api.vkGetSemaphoreCounterValue = [](VkDevice device, VkSemaphore semaphore, uint64_t *out) {
    CHECKED(vkGetSemaphoreCounterValue);
    auto info = structure<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
    info.semaphoreCount = 1, info.pSemaphores = &semaphore, info.pValues = &c.reached_[semaphore];
    const VkResult result = c.real_.vkWaitSemaphores(device, &info, ~uint64_t{0});
    if (!c.is_slow) c.tell(semaphore, c.reached_[semaphore]);
    *out = c.told_[semaphore];
    return result;
  };

  // ---- kernels
  api.vkCreateShaderModule = [](VkDevice device, const VkShaderModuleCreateInfo *info, const VkAllocationCallbacks *,
                                VkShaderModule *out) {
    CHECKED(vkCreateShaderModule);
    EXPECT_EQ(info->codeSize % 4, 0u);
    EXPECT_EQ(info->pCode[0], 0x07230203u);
    return c.made(c.real_.vkCreateShaderModule(device, info, nullptr, out), "shader module", out);
  };
  api.vkDestroyShaderModule = [](VkDevice device, VkShaderModule shader, const VkAllocationCallbacks *) {
    here()->ended(shader, "shader module");
    here()->real_.vkDestroyShaderModule(device, shader, nullptr);
  };
  api.vkCreateDescriptorSetLayout = [](VkDevice device, const VkDescriptorSetLayoutCreateInfo *info,
                                       const VkAllocationCallbacks *, VkDescriptorSetLayout *out) {
    CHECKED(vkCreateDescriptorSetLayout);
    const VkResult result =
        c.made(c.real_.vkCreateDescriptorSetLayout(device, info, nullptr, out), "layout of a set", out);
    Layout &layout = c.layouts_[*out] = {};
    for (uint32_t i = 0; i < info->bindingCount; ++i) {
      layout.bindings.push_back(info->pBindings[i]);
      EXPECT_EQ(info->pBindings[i].binding, i);
      EXPECT_EQ(info->pBindings[i].descriptorCount, 1u);
      EXPECT_EQ(info->pBindings[i].stageFlags, VK_SHADER_STAGE_COMPUTE_BIT);
    }
    return result;
  };
  api.vkDestroyDescriptorSetLayout = [](VkDevice device, VkDescriptorSetLayout layout, const VkAllocationCallbacks *) {
    here()->ended(layout, "layout of a set");
    here()->real_.vkDestroyDescriptorSetLayout(device, layout, nullptr);
  };
  api.vkCreatePipelineLayout = [](VkDevice device, const VkPipelineLayoutCreateInfo *info,
                                  const VkAllocationCallbacks *, VkPipelineLayout *out) {
    CHECKED(vkCreatePipelineLayout);
    EXPECT_EQ(info->setLayoutCount, 1u);
    EXPECT_LE(info->pushConstantRangeCount, 1u);
    const VkResult result = c.made(c.real_.vkCreatePipelineLayout(device, info, nullptr, out), "layout", out);
    c.layouts_[*out] = c.layouts_[*info->pSetLayouts];
    if (info->pushConstantRangeCount) {
      EXPECT_EQ(info->pPushConstantRanges->stageFlags, VK_SHADER_STAGE_COMPUTE_BIT);
      EXPECT_EQ(info->pPushConstantRanges->offset, 0u);
      EXPECT_GT(info->pPushConstantRanges->size, 0u);
      c.layouts_[*out].push_bytes = info->pPushConstantRanges->size;
    }
    return result;
  };
  api.vkDestroyPipelineLayout = [](VkDevice device, VkPipelineLayout layout, const VkAllocationCallbacks *) {
    here()->ended(layout, "layout");
    here()->real_.vkDestroyPipelineLayout(device, layout, nullptr);
  };
  api.vkCreateComputePipelines = [](VkDevice device, VkPipelineCache cache, uint32_t count,
                                    const VkComputePipelineCreateInfo *info, const VkAllocationCallbacks *,
                                    VkPipeline *out) {
    CHECKED(vkCreateComputePipelines);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(info->stage.stage, VK_SHADER_STAGE_COMPUTE_BIT);
    c.expect_alive(info->stage.module, "shader module");
    c.expect_alive(info->layout, "layout");
    const VkResult result =
        c.made(c.real_.vkCreateComputePipelines(device, cache, count, info, nullptr, out), "pipeline", out);
    c.pipelines_[*out] = info->layout;
    return result;
  };
  api.vkDestroyPipeline = [](VkDevice device, VkPipeline pipeline, const VkAllocationCallbacks *) {
    here()->ended(pipeline, "pipeline");
    here()->real_.vkDestroyPipeline(device, pipeline, nullptr);
  };
  api.vkCreateDescriptorPool = [](VkDevice device, const VkDescriptorPoolCreateInfo *info,
                                  const VkAllocationCallbacks *, VkDescriptorPool *out) {
    CHECKED(vkCreateDescriptorPool);
    EXPECT_GT(info->maxSets, 0u);
    const VkResult result = c.made(c.real_.vkCreateDescriptorPool(device, info, nullptr, out), "pool of sets", out);
    Pool &pool = c.pools_[*out] = {};
    pool.sets = info->maxSets;
    for (uint32_t i = 0; i < info->poolSizeCount; ++i) {
      EXPECT_GT(info->pPoolSizes[i].descriptorCount, 0u);
      pool.left[info->pPoolSizes[i].type] += info->pPoolSizes[i].descriptorCount;
    }
    return result;
  };
  api.vkDestroyDescriptorPool = [](VkDevice device, VkDescriptorPool pool, const VkAllocationCallbacks *) {
    here()->ended(pool, "pool of sets");
    here()->real_.vkDestroyDescriptorPool(device, pool, nullptr);
  };
  api.vkAllocateDescriptorSets = [](VkDevice device, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *out) {
    CHECKED(vkAllocateDescriptorSets);
    EXPECT_EQ(info->descriptorSetCount, 1u);
    c.expect_alive(*info->pSetLayouts, "layout of a set");
    Pool &pool = c.pools_[info->descriptorPool];
    EXPECT_GT(pool.sets, 0u) << "the pool has no more";
    --pool.sets;
    for (const VkDescriptorSetLayoutBinding &binding : c.layouts_[*info->pSetLayouts].bindings) {
      EXPECT_GT(pool.left[binding.descriptorType], 0u) << "the pool has no more of kind " << binding.descriptorType;
      --pool.left[binding.descriptorType];
    }
    const VkResult result = c.real_.vkAllocateDescriptorSets(device, info, out);
    c.sets_[*out] = {*info->pSetLayouts, {}};
    return result;
  };
  api.vkUpdateDescriptorSets = [](VkDevice device, uint32_t count, const VkWriteDescriptorSet *writes, uint32_t copies,
                                  auto) {
    CheckedVulkan &c = *here();
    EXPECT_EQ(copies, 0u);
    for (uint32_t i = 0; i < count; ++i) {
      const VkWriteDescriptorSet &write = writes[i];
      c.spoil(write.dstSet, "set");
      Set &set = c.sets_[write.dstSet];
      const auto &bindings = c.layouts_[set.layout].bindings;
      ASSERT_LT(write.dstBinding, bindings.size());
      EXPECT_EQ(write.descriptorType, bindings[write.dstBinding].descriptorType);
      EXPECT_EQ(write.descriptorCount, 1u);
      EXPECT_EQ(write.dstArrayElement, 0u);
      const VkDescriptorBufferInfo &part = *write.pBufferInfo;
      c.expect_alive(part.buffer, "buffer");
      EXPECT_TRUE(c.buffers_[part.buffer].usage &
                  (write.descriptorType == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ? VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
                                                                             : VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT));
      EXPECT_GT(part.range, 0u);
      EXPECT_LE(part.offset + part.range, c.buffers_[part.buffer].size);
      set.parts[write.dstBinding] = part;
      c.bound.push_back(part.range);
    }
    c.real_.vkUpdateDescriptorSets(device, count, writes, 0, nullptr);
  };
  api.vkCmdBindPipeline = [](VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
    Commands &own = here()->recorded(commands);
    EXPECT_EQ(point, VK_PIPELINE_BIND_POINT_COMPUTE);
    here()->expect_alive(pipeline, "pipeline");
    own.pipeline = here()->pipelines_[pipeline];
    own.uses.insert(pipeline);
    here()->real_.vkCmdBindPipeline(commands, point, pipeline);
  };
  api.vkCmdBindDescriptorSets = [](VkCommandBuffer commands, VkPipelineBindPoint point, VkPipelineLayout layout,
                                   uint32_t first, uint32_t count, const VkDescriptorSet *sets, uint32_t offsets,
                                   const uint32_t *) {
    CheckedVulkan &c = *here();
    Commands &own = c.recorded(commands);
    EXPECT_EQ(point, VK_PIPELINE_BIND_POINT_COMPUTE);
    EXPECT_EQ(first, 0u);
    EXPECT_EQ(offsets, 0u);
    ASSERT_EQ(count, 1u);
    own.layout = layout, own.set = *sets;
    own.uses.insert(*sets);
    for (const auto &[binding, part] : c.sets_[*sets].parts) c.use(own, part.buffer);
    c.real_.vkCmdBindDescriptorSets(commands, point, layout, first, count, sets, 0, nullptr);
  };
  api.vkCmdPushConstants = [](VkCommandBuffer commands, VkPipelineLayout layout, uint32_t stages, uint32_t offset,
                              uint32_t bytes, const void *values) {
    Commands &own = here()->recorded(commands);
    EXPECT_EQ(stages, VK_SHADER_STAGE_COMPUTE_BIT);
    EXPECT_EQ(offset, 0u);
    EXPECT_EQ(bytes, here()->layouts_[layout].push_bytes);
    own.pushed = bytes;
    here()->real_.vkCmdPushConstants(commands, layout, stages, offset, bytes, values);
  };
  api.vkCmdDispatch = [](VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
    CheckedVulkan &c = *here();
    Commands &own = c.recorded(commands);
    c.note_command(own, "dispatch " + std::to_string(x) + " " + std::to_string(y) + " " + std::to_string(z));
    ASSERT_NE(own.pipeline, nullptr) << "no pipeline is bound";
    const Layout &layout = c.layouts_[own.pipeline];
    if (!layout.bindings.empty()) {
      EXPECT_EQ(own.layout, own.pipeline);
      ASSERT_NE(own.set, nullptr) << "no set is bound";
      EXPECT_EQ(c.sets_[own.set].parts.size(), layout.bindings.size()) << "a binding has no buffer";
    }
    EXPECT_EQ(own.pushed, layout.push_bytes);
    own.pipeline = own.layout = own.set = nullptr, own.pushed = 0;
    c.real_.vkCmdDispatch(commands, x, y, z);
  };

  // ---- times and counts
  api.vkCreateQueryPool = [](VkDevice device, const VkQueryPoolCreateInfo *info, const VkAllocationCallbacks *,
                             VkQueryPool *out) {
    CHECKED(vkCreateQueryPool);
    EXPECT_TRUE(info->queryType == VK_QUERY_TYPE_TIMESTAMP || info->queryType == VK_QUERY_TYPE_PIPELINE_STATISTICS);
    EXPECT_EQ(info->pipelineStatistics, info->queryType == VK_QUERY_TYPE_PIPELINE_STATISTICS
                                            ? VkFlags{VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT}
                                            : 0u);
    EXPECT_TRUE(info->queryType == VK_QUERY_TYPE_TIMESTAMP || c.devices.back().features.pipelineStatisticsQuery);
    const VkResult result = c.real_.vkCreateQueryPool(device, info, nullptr, out);
    c.queries_[*out] = info->queryCount, c.kinds_[*out] = info->queryType;
    return result;
  };
  api.vkCmdResetQueryPool = [](VkCommandBuffer commands, VkQueryPool pool, uint32_t first, uint32_t count) {
    EXPECT_LE(first + count, here()->queries_[pool]);
    for (uint32_t i = 0; i < count; ++i) here()->reset_.insert({pool, first + i});
    here()->real_.vkCmdResetQueryPool(commands, pool, first, count);
  };
  api.vkCmdWriteTimestamp = [](VkCommandBuffer commands, VkPipelineStageFlagBits stage, VkQueryPool pool,
                               uint32_t query) {
    EXPECT_EQ(stage, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    EXPECT_EQ(here()->kinds_[pool], VK_QUERY_TYPE_TIMESTAMP);
    EXPECT_EQ(here()->reset_.erase({pool, query}), 1u) << "a query is reset before it is written";
    here()->recorded(commands).text += "time;";
    here()->real_.vkCmdWriteTimestamp(commands, stage, pool, query);
  };
  api.vkCmdBeginQuery = [](VkCommandBuffer commands, VkQueryPool pool, uint32_t query, uint32_t flags) {
    EXPECT_EQ(flags, 0u);
    EXPECT_EQ(here()->kinds_[pool], VK_QUERY_TYPE_PIPELINE_STATISTICS);
    EXPECT_EQ(here()->reset_.erase({pool, query}), 1u) << "a query is reset before it begins";
    Commands &own = here()->recorded(commands);
    EXPECT_EQ(own.query, nullptr) << "no two queries of a kind are open";
    own.query = pool, own.text += "count(";
    here()->real_.vkCmdBeginQuery(commands, pool, query, flags);
  };
  api.vkCmdEndQuery = [](VkCommandBuffer commands, VkQueryPool pool, uint32_t query) {
    Commands &own = here()->recorded(commands);
    EXPECT_EQ(own.query, pool) << "a query ends in the commands in which it began";
    own.query = nullptr, own.text += ");";
    here()->real_.vkCmdEndQuery(commands, pool, query);
  };
  api.vkGetQueryPoolResults = [](VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count, size_t bytes,
                                 void *out, uint64_t stride, uint32_t flags) {
    CHECKED(vkGetQueryPoolResults);
    EXPECT_EQ(flags, VK_QUERY_RESULT_64_BIT);
    EXPECT_EQ(stride, 8u);
    EXPECT_EQ(bytes, count * stride);
    return c.real_.vkGetQueryPoolResults(device, pool, first, count, bytes, out, stride, flags);
  };
#undef CHECKED
}

}  // namespace opd::vk
