// Stands between the library and Vulkan's driver: passes calls on, and reports those that the specification forbids.
// Drivers on processors forgive many of them. Work is done at once, but the library is not told so before it asks.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "device/vulkan/vulkan_api.h"

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
#define OPD_RESTORE(name, result, parameters) api.name = real_.name;
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
    Features features;
    Features11 features11;
    Features12 features12;
    uint32_t num_extensions;
  };
  std::vector<Made> devices;    // what was asked of those that were made
  std::vector<uint64_t> bound;  // the bytes of each part of a buffer that a kernel was given

 private:
  static constexpr Result kLost = -4;
  using Use = std::set<const void *>;
  struct Commands {
    enum State { kInitial, kRecording, kExecutable, kPending };
    CommandPool *pool = nullptr;
    State state = kInitial;
    bool is_ordered = false, is_read = false, is_seen = false, is_spoilt = false;
    const void *pipeline = nullptr, *layout = nullptr;
    DescriptorSet *set = nullptr;
    uint32_t pushed = 0;
    const QueryPool *query = nullptr;  // that is open
    Use uses = {};
    std::string text = {};
  };
  struct Pending {
    Semaphore *semaphore;
    uint64_t value;
    CommandBuffer *commands;
  };
  struct Set {
    SetLayout *layout;
    std::map<uint32_t, BufferPart> parts;
  };
  struct Pool {
    uint32_t sets = 0;
    std::map<uint32_t, uint32_t> left;  // by kind of descriptor
  };
  struct Layout {
    std::vector<SetBinding> bindings;
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
  Result made(Result result, const char *kind, T **object) {
    EXPECT_EQ(result, kSuccess) << kind;
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
  Commands &recorded(CommandBuffer *buffer) {
    EXPECT_EQ(commands_[buffer].state, Commands::kRecording);
    return commands_[buffer];
  }
  void note_command(Commands &commands, const std::string &text) {
    EXPECT_TRUE(commands.is_ordered) << text << " may begin before the command ahead of it has ended";
    commands.is_ordered = false;
    commands.text += text + ";";
  }
  void use(Commands &commands, Buffer *buffer) {
    expect_alive(buffer, "buffer");
    EXPECT_NE(memory_of_[buffer], nullptr) << "a buffer without memory";
    commands.uses.insert({buffer, memory_of_[buffer]});
  }
  void tell(Semaphore *semaphore, uint64_t value) {
    std::erase_if(pending_, [&](const Pending &each) {
      if (each.semaphore != semaphore || each.value > value) return false;
      commands_[each.commands].state = Commands::kExecutable;
      return true;
    });
    told_[semaphore] = std::max(told_[semaphore], value);
  }
  template <class T>
  static const T &next_of(const void *next, uint32_t type) {
    static const T none{};
    if (!next || static_cast<const T *>(next)->type != type) return ADD_FAILURE() << "no struct of type " << type, none;
    return *static_cast<const T *>(next);
  }

  void put_between(Api &api);

  const Api real_;
  int64_t calls_ = 0, fail_from_ = 0;
  std::string failed_;
  std::map<const void *, std::string> objects_;
  std::map<Buffer *, BufferInfo> buffers_;
  std::map<Buffer *, DeviceMemory *> memory_of_;
  std::map<DeviceMemory *, uint64_t> memories_;
  std::set<DeviceMemory *> mapped_;
  std::map<CommandBuffer *, Commands> commands_;
  std::map<Semaphore *, uint64_t> told_, reached_;
  std::vector<Pending> pending_;
  std::map<const void *, Layout> layouts_;
  std::map<DescriptorPool *, Pool> pools_;
  std::map<DescriptorSet *, Set> sets_;
  std::map<Pipeline *, PipelineLayout *> pipelines_;
  std::map<QueryPool *, uint32_t> queries_, kinds_;
  std::set<std::pair<QueryPool *, uint32_t>> reset_;
  std::vector<std::string> submissions_;
};

inline void CheckedVulkan::put_between(Api &api) {
#define CHECKED(name)         \
  CheckedVulkan &c = *here(); \
  if (c.fails(#name)) return kLost

  api.vkCreateDevice = [](PhysicalDevice *physical, const DeviceInfo *info, Allocator, LogicalDevice **out) {
    CHECKED(vkCreateDevice);
    EXPECT_EQ(info->queue_count, 1u);
    EXPECT_EQ(info->queues[0].type, 2u);
    EXPECT_EQ(info->queues[0].family, c.family);
    EXPECT_EQ(info->queues[0].count, 1u);
    EXPECT_EQ(info->queues[0].priorities[0], 1.f);
    const auto &features = next_of<Features>(info->next, 1000059000);
    const auto &features11 = next_of<Features11>(features.next, 49);
    const auto &features12 = next_of<Features12>(features11.next, 51);
    EXPECT_EQ(features12.flags[kTimelines], 1u);
    EXPECT_EQ(features12.next, nullptr);
    c.devices.push_back({features, features11, features12, info->extension_count});
    for (uint32_t i = 0; i < info->extension_count; ++i) EXPECT_STREQ(info->extensions[i], kCalibratedTimes);
    return c.real_.vkCreateDevice(physical, info, nullptr, out);
  };
  api.vkGetDeviceQueue = [](LogicalDevice *device, uint32_t family, uint32_t number, Queue **out) {
    EXPECT_EQ(family, here()->family);
    EXPECT_EQ(number, 0u) << "it has one queue";
    here()->real_.vkGetDeviceQueue(device, family, number, out);
  };

  // ---- memory
  api.vkCreateBuffer = [](LogicalDevice *device, const BufferInfo *info, Allocator, Buffer **out) {
    CHECKED(vkCreateBuffer);
    EXPECT_GT(info->bytes, 0u);
    const Result result = c.made(c.real_.vkCreateBuffer(device, info, nullptr, out), "buffer", out);
    c.buffers_[*out] = *info, c.memory_of_[*out] = nullptr;
    return result;
  };
  api.vkDestroyBuffer = [](LogicalDevice *device, Buffer *buffer, Allocator) {
    here()->ended(buffer, "buffer");
    here()->real_.vkDestroyBuffer(device, buffer, nullptr);
  };
  api.vkAllocateMemory = [](LogicalDevice *device, const MemoryInfo *info, Allocator, DeviceMemory **out) {
    CHECKED(vkAllocateMemory);
    const Result result = c.made(c.real_.vkAllocateMemory(device, info, nullptr, out), "memory", out);
    c.memories_[*out] = info->bytes;
    return result;
  };
  api.vkFreeMemory = [](LogicalDevice *device, DeviceMemory *memory, Allocator) {
    here()->ended(memory, "memory");
    here()->mapped_.erase(memory);
    here()->real_.vkFreeMemory(device, memory, nullptr);
  };
  api.vkBindBufferMemory = [](LogicalDevice *device, Buffer *buffer, DeviceMemory *memory, uint64_t offset) {
    CHECKED(vkBindBufferMemory);
    MemoryRequirements needs{};
    c.real_.vkGetBufferMemoryRequirements(device, buffer, &needs);
    EXPECT_GE(c.memories_[memory], needs.bytes + offset);
    EXPECT_EQ(offset % needs.alignment, 0u);
    c.memory_of_[buffer] = memory;
    return c.real_.vkBindBufferMemory(device, buffer, memory, offset);
  };
  api.vkMapMemory = [](LogicalDevice *device, DeviceMemory *memory, uint64_t offset, uint64_t bytes, uint32_t flags,
                       void **out) {
    CHECKED(vkMapMemory);
    EXPECT_EQ(offset, 0u);
    EXPECT_EQ(bytes, kWholeSize);
    EXPECT_EQ(flags, 0u);
    c.mapped_.insert(memory);
    return c.real_.vkMapMemory(device, memory, offset, bytes, flags, out);
  };

  // ---- commands
  api.vkCreateCommandPool = [](LogicalDevice *device, const CommandPoolInfo *info, Allocator, CommandPool **out) {
    CHECKED(vkCreateCommandPool);
    EXPECT_EQ(info->flags, +kResettable) << "its buffers are used again one by one";
    EXPECT_EQ(info->family, c.family);
    return c.made(c.real_.vkCreateCommandPool(device, info, nullptr, out), "command pool", out);
  };
  api.vkDestroyCommandPool = [](LogicalDevice *device, CommandPool *pool, Allocator) {
    here()->ended(pool, "command pool");
    std::erase_if(here()->commands_, [&](const auto &each) { return each.second.pool == pool; });
    here()->real_.vkDestroyCommandPool(device, pool, nullptr);
  };
  api.vkAllocateCommandBuffers = [](LogicalDevice *device, const CommandBufferInfo *info, CommandBuffer **out) {
    CHECKED(vkAllocateCommandBuffers);
    c.expect_alive(info->pool, "command pool");
    EXPECT_EQ(info->count, 1u);
    EXPECT_EQ(info->level, 0u);
    const Result result = c.real_.vkAllocateCommandBuffers(device, info, out);
    c.commands_[*out] = {info->pool};
    return result;
  };
  api.vkBeginCommandBuffer = [](CommandBuffer *commands, const BeginInfo *info) {
    CHECKED(vkBeginCommandBuffer);
    EXPECT_EQ(info->flags, +kOnce);
    EXPECT_NE(c.commands_[commands].state, Commands::kPending) << "commands that may run are changed";
    c.commands_[commands] = {c.commands_[commands].pool, Commands::kRecording};
    return c.real_.vkBeginCommandBuffer(commands, info);
  };
  api.vkEndCommandBuffer = [](CommandBuffer *commands) {
    CHECKED(vkEndCommandBuffer);
    Commands &own = c.recorded(commands);
    own.state = Commands::kExecutable;
    EXPECT_TRUE(!own.is_read || own.is_seen) << "the host may not see what was copied for it";
    EXPECT_EQ(own.query, nullptr) << "a query is still open";
    return c.real_.vkEndCommandBuffer(commands);
  };
  api.vkCmdPipelineBarrier = [](CommandBuffer *commands, uint32_t from, uint32_t to, uint32_t flags, uint32_t count,
                                const MemoryBarrier *barriers, uint32_t of_buffers, const void *, uint32_t of_images,
                                const void *) {
    Commands &own = here()->recorded(commands);
    EXPECT_EQ(from, +kStageAll);
    EXPECT_EQ(flags, 0u);
    EXPECT_EQ(of_buffers + of_images, 0u);
    ASSERT_EQ(count, 1u);
    EXPECT_EQ(barriers->source, kMemoryRead | kMemoryWrite);
    EXPECT_EQ(barriers->target, to == kStageHost ? kHostRead : kMemoryRead | kMemoryWrite);
    (to == kStageHost ? own.is_seen : own.is_ordered) = true;
    EXPECT_TRUE(to == kStageHost || to == kStageAll);
    here()->real_.vkCmdPipelineBarrier(commands, from, to, flags, count, barriers, 0, nullptr, 0, nullptr);
  };
  api.vkCmdCopyBuffer = [](CommandBuffer *commands, Buffer *from, Buffer *to, uint32_t count, const BufferCopy *part) {
    CheckedVulkan &c = *here();
    Commands &own = c.recorded(commands);
    ASSERT_EQ(count, 1u);
    c.note_command(own, "copy " + std::to_string(part->bytes));
    c.use(own, from), c.use(own, to);
    EXPECT_TRUE(c.buffers_[from].usage & kTransferSource);
    EXPECT_TRUE(c.buffers_[to].usage & kTransferTarget);
    EXPECT_LE(part->from + part->bytes, c.buffers_[from].bytes);
    EXPECT_LE(part->to + part->bytes, c.buffers_[to].bytes);
    if (c.mapped_.contains(c.memory_of_[to])) own.is_read = true, own.is_seen = false;
    c.real_.vkCmdCopyBuffer(commands, from, to, count, part);
  };
  api.vkQueueSubmit = [](Queue *queue, uint32_t count, const SubmitInfo *info, void *fence) {
    CHECKED(vkQueueSubmit);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(info->wait_count, 0u);
    EXPECT_EQ(info->command_count, 1u);
    EXPECT_EQ(info->signal_count, 1u);
    const auto &timeline = next_of<TimelineInfo>(info->next, 1000207003);
    EXPECT_EQ(timeline.signal_count, 1u);
    c.expect_alive(*info->signals, "semaphore");
    Commands &own = c.commands_[*info->commands];
    EXPECT_EQ(own.state, Commands::kExecutable);
    EXPECT_FALSE(own.is_spoilt) << "what the commands use was changed or destroyed";
    own.state = Commands::kPending;
    EXPECT_EQ(*timeline.signal_values, c.reached_[*info->signals] + 1) << "each work has the next number";
    c.reached_[*info->signals] = *timeline.signal_values;
    c.pending_.push_back({*info->signals, *timeline.signal_values, *info->commands});
    c.submissions_.push_back(own.text);
    return c.real_.vkQueueSubmit(queue, count, info, fence);
  };
  api.vkCreateSemaphore = [](LogicalDevice *device, const SemaphoreInfo *info, Allocator, Semaphore **out) {
    CHECKED(vkCreateSemaphore);
    const auto &type = next_of<SemaphoreType>(info->next, 1000207002);
    EXPECT_EQ(type.kind, +kTimeline);
    EXPECT_EQ(type.value, 0u);
    const Result result = c.made(c.real_.vkCreateSemaphore(device, info, nullptr, out), "semaphore", out);
    c.told_[*out] = c.reached_[*out] = 0;
    return result;
  };
  api.vkDestroySemaphore = [](LogicalDevice *device, Semaphore *semaphore, Allocator) {
    here()->ended(semaphore, "semaphore");
    here()->real_.vkDestroySemaphore(device, semaphore, nullptr);
  };
  // Waits also if it is to fail, so that no work is left that uses what is destroyed afterwards.
  api.vkWaitSemaphores = [](LogicalDevice *device, const WaitInfo *info, uint64_t ns) {
    EXPECT_EQ(info->count, 1u);
    EXPECT_EQ(info->flags, 0u);
    EXPECT_EQ(ns, ~uint64_t{0});
    EXPECT_LE(*info->values, here()->reached_[*info->semaphores]) << "nothing raises the counter so far";
    const Result result = here()->real_.vkWaitSemaphores(device, info, ns);
    here()->tell(*info->semaphores, *info->values);
    CHECKED(vkWaitSemaphores);
    return result;
  };
  api.vkGetSemaphoreCounterValue = [](LogicalDevice *device, Semaphore *semaphore, uint64_t *out) {
    CHECKED(vkGetSemaphoreCounterValue);
    WaitInfo info;
    info.count = 1, info.semaphores = &semaphore, info.values = &c.reached_[semaphore];
    const Result result = c.real_.vkWaitSemaphores(device, &info, ~uint64_t{0});
    if (!c.is_slow) c.tell(semaphore, c.reached_[semaphore]);
    *out = c.told_[semaphore];
    return result;
  };

  // ---- kernels
  api.vkCreateShaderModule = [](LogicalDevice *device, const ShaderInfo *info, Allocator, ShaderModule **out) {
    CHECKED(vkCreateShaderModule);
    EXPECT_EQ(info->bytes % 4, 0u);
    EXPECT_EQ(info->code[0], 0x07230203u);
    return c.made(c.real_.vkCreateShaderModule(device, info, nullptr, out), "shader module", out);
  };
  api.vkDestroyShaderModule = [](LogicalDevice *device, ShaderModule *shader, Allocator) {
    here()->ended(shader, "shader module");
    here()->real_.vkDestroyShaderModule(device, shader, nullptr);
  };
  api.vkCreateDescriptorSetLayout = [](LogicalDevice *device, const SetLayoutInfo *info, Allocator, SetLayout **out) {
    CHECKED(vkCreateDescriptorSetLayout);
    const Result result =
        c.made(c.real_.vkCreateDescriptorSetLayout(device, info, nullptr, out), "layout of a set", out);
    Layout &layout = c.layouts_[*out] = {};
    for (uint32_t i = 0; i < info->count; ++i) {
      layout.bindings.push_back(info->bindings[i]);
      EXPECT_EQ(info->bindings[i].binding, i);
      EXPECT_EQ(info->bindings[i].count, 1u);
      EXPECT_EQ(info->bindings[i].stages, +kComputeStage);
    }
    return result;
  };
  api.vkDestroyDescriptorSetLayout = [](LogicalDevice *device, SetLayout *layout, Allocator) {
    here()->ended(layout, "layout of a set");
    here()->real_.vkDestroyDescriptorSetLayout(device, layout, nullptr);
  };
  api.vkCreatePipelineLayout = [](LogicalDevice *device, const PipelineLayoutInfo *info, Allocator,
                                  PipelineLayout **out) {
    CHECKED(vkCreatePipelineLayout);
    EXPECT_EQ(info->set_count, 1u);
    EXPECT_LE(info->range_count, 1u);
    const Result result = c.made(c.real_.vkCreatePipelineLayout(device, info, nullptr, out), "layout", out);
    c.layouts_[*out] = c.layouts_[*info->sets];
    if (info->range_count) {
      EXPECT_EQ(info->ranges->stages, +kComputeStage);
      EXPECT_EQ(info->ranges->offset, 0u);
      EXPECT_GT(info->ranges->bytes, 0u);
      c.layouts_[*out].push_bytes = info->ranges->bytes;
    }
    return result;
  };
  api.vkDestroyPipelineLayout = [](LogicalDevice *device, PipelineLayout *layout, Allocator) {
    here()->ended(layout, "layout");
    here()->real_.vkDestroyPipelineLayout(device, layout, nullptr);
  };
  api.vkCreateComputePipelines = [](LogicalDevice *device, PipelineCache *cache, uint32_t count,
                                    const ComputePipelineInfo *info, Allocator, Pipeline **out) {
    CHECKED(vkCreateComputePipelines);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(info->stage.stage, +kComputeStage);
    c.expect_alive(info->stage.shader, "shader module");
    c.expect_alive(info->layout, "layout");
    const Result result =
        c.made(c.real_.vkCreateComputePipelines(device, cache, count, info, nullptr, out), "pipeline", out);
    c.pipelines_[*out] = info->layout;
    return result;
  };
  api.vkDestroyPipeline = [](LogicalDevice *device, Pipeline *pipeline, Allocator) {
    here()->ended(pipeline, "pipeline");
    here()->real_.vkDestroyPipeline(device, pipeline, nullptr);
  };
  api.vkCreateDescriptorPool = [](LogicalDevice *device, const DescriptorPoolInfo *info, Allocator,
                                  DescriptorPool **out) {
    CHECKED(vkCreateDescriptorPool);
    EXPECT_GT(info->max_sets, 0u);
    const Result result = c.made(c.real_.vkCreateDescriptorPool(device, info, nullptr, out), "pool of sets", out);
    Pool &pool = c.pools_[*out] = {};
    pool.sets = info->max_sets;
    for (uint32_t i = 0; i < info->size_count; ++i) {
      EXPECT_GT(info->sizes[i].count, 0u);
      pool.left[info->sizes[i].kind] += info->sizes[i].count;
    }
    return result;
  };
  api.vkDestroyDescriptorPool = [](LogicalDevice *device, DescriptorPool *pool, Allocator) {
    here()->ended(pool, "pool of sets");
    here()->real_.vkDestroyDescriptorPool(device, pool, nullptr);
  };
  api.vkAllocateDescriptorSets = [](LogicalDevice *device, const SetInfo *info, DescriptorSet **out) {
    CHECKED(vkAllocateDescriptorSets);
    EXPECT_EQ(info->count, 1u);
    c.expect_alive(*info->layouts, "layout of a set");
    Pool &pool = c.pools_[info->pool];
    EXPECT_GT(pool.sets, 0u) << "the pool has no more";
    --pool.sets;
    for (const SetBinding &binding : c.layouts_[*info->layouts].bindings) {
      EXPECT_GT(pool.left[binding.kind], 0u) << "the pool has no more of kind " << binding.kind;
      --pool.left[binding.kind];
    }
    const Result result = c.real_.vkAllocateDescriptorSets(device, info, out);
    c.sets_[*out] = {*info->layouts, {}};
    return result;
  };
  api.vkUpdateDescriptorSets = [](LogicalDevice *device, uint32_t count, const SetWrite *writes, uint32_t copies,
                                  const void *) {
    CheckedVulkan &c = *here();
    EXPECT_EQ(copies, 0u);
    for (uint32_t i = 0; i < count; ++i) {
      const SetWrite &write = writes[i];
      c.spoil(write.set, "set");
      Set &set = c.sets_[write.set];
      const auto &bindings = c.layouts_[set.layout].bindings;
      ASSERT_LT(write.binding, bindings.size());
      EXPECT_EQ(write.kind, bindings[write.binding].kind);
      EXPECT_EQ(write.count, 1u);
      EXPECT_EQ(write.element, 0u);
      const BufferPart &part = *write.buffers;
      c.expect_alive(part.buffer, "buffer");
      EXPECT_TRUE(c.buffers_[part.buffer].usage & (write.kind == kStorageBuffer ? kStorage : kUniform));
      EXPECT_GT(part.bytes, 0u);
      EXPECT_LE(part.offset + part.bytes, c.buffers_[part.buffer].bytes);
      set.parts[write.binding] = part;
      c.bound.push_back(part.bytes);
    }
    c.real_.vkUpdateDescriptorSets(device, count, writes, 0, nullptr);
  };
  api.vkCmdBindPipeline = [](CommandBuffer *commands, uint32_t point, Pipeline *pipeline) {
    Commands &own = here()->recorded(commands);
    EXPECT_EQ(point, +kComputePoint);
    here()->expect_alive(pipeline, "pipeline");
    own.pipeline = here()->pipelines_[pipeline];
    own.uses.insert(pipeline);
    here()->real_.vkCmdBindPipeline(commands, point, pipeline);
  };
  api.vkCmdBindDescriptorSets = [](CommandBuffer *commands, uint32_t point, PipelineLayout *layout, uint32_t first,
                                   uint32_t count, DescriptorSet *const *sets, uint32_t offsets, const uint32_t *) {
    CheckedVulkan &c = *here();
    Commands &own = c.recorded(commands);
    EXPECT_EQ(point, +kComputePoint);
    EXPECT_EQ(first, 0u);
    EXPECT_EQ(offsets, 0u);
    ASSERT_EQ(count, 1u);
    own.layout = layout, own.set = *sets;
    own.uses.insert(*sets);
    for (const auto &[binding, part] : c.sets_[*sets].parts) c.use(own, part.buffer);
    c.real_.vkCmdBindDescriptorSets(commands, point, layout, first, count, sets, 0, nullptr);
  };
  api.vkCmdPushConstants = [](CommandBuffer *commands, PipelineLayout *layout, uint32_t stages, uint32_t offset,
                              uint32_t bytes, const void *values) {
    Commands &own = here()->recorded(commands);
    EXPECT_EQ(stages, +kComputeStage);
    EXPECT_EQ(offset, 0u);
    EXPECT_EQ(bytes, here()->layouts_[layout].push_bytes);
    own.pushed = bytes;
    here()->real_.vkCmdPushConstants(commands, layout, stages, offset, bytes, values);
  };
  api.vkCmdDispatch = [](CommandBuffer *commands, uint32_t x, uint32_t y, uint32_t z) {
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
  api.vkCreateQueryPool = [](LogicalDevice *device, const QueryPoolInfo *info, Allocator, QueryPool **out) {
    CHECKED(vkCreateQueryPool);
    EXPECT_TRUE(info->kind == kTimestamps || info->kind == kStatistics);
    EXPECT_EQ(info->statistics, info->kind == kStatistics ? +kComputeInvocations : 0u);
    EXPECT_TRUE(info->kind == kTimestamps || c.devices.back().features.flags[kPipelineStatistics]);
    const Result result = c.real_.vkCreateQueryPool(device, info, nullptr, out);
    c.queries_[*out] = info->count, c.kinds_[*out] = info->kind;
    return result;
  };
  api.vkCmdResetQueryPool = [](CommandBuffer *commands, QueryPool *pool, uint32_t first, uint32_t count) {
    EXPECT_LE(first + count, here()->queries_[pool]);
    for (uint32_t i = 0; i < count; ++i) here()->reset_.insert({pool, first + i});
    here()->real_.vkCmdResetQueryPool(commands, pool, first, count);
  };
  api.vkCmdWriteTimestamp = [](CommandBuffer *commands, uint32_t stage, QueryPool *pool, uint32_t query) {
    EXPECT_EQ(stage, +kStageBottom);
    EXPECT_EQ(here()->kinds_[pool], +kTimestamps);
    EXPECT_EQ(here()->reset_.erase({pool, query}), 1u) << "a query is reset before it is written";
    here()->recorded(commands).text += "time;";
    here()->real_.vkCmdWriteTimestamp(commands, stage, pool, query);
  };
  api.vkCmdBeginQuery = [](CommandBuffer *commands, QueryPool *pool, uint32_t query, uint32_t flags) {
    EXPECT_EQ(flags, 0u);
    EXPECT_EQ(here()->kinds_[pool], +kStatistics);
    EXPECT_EQ(here()->reset_.erase({pool, query}), 1u) << "a query is reset before it begins";
    Commands &own = here()->recorded(commands);
    EXPECT_EQ(own.query, nullptr) << "no two queries of a kind are open";
    own.query = pool, own.text += "count(";
    here()->real_.vkCmdBeginQuery(commands, pool, query, flags);
  };
  api.vkCmdEndQuery = [](CommandBuffer *commands, QueryPool *pool, uint32_t query) {
    Commands &own = here()->recorded(commands);
    EXPECT_EQ(own.query, pool) << "a query ends in the commands in which it began";
    own.query = nullptr, own.text += ");";
    here()->real_.vkCmdEndQuery(commands, pool, query);
  };
  api.vkGetQueryPoolResults = [](LogicalDevice *device, QueryPool *pool, uint32_t first, uint32_t count, size_t bytes,
                                 void *out, uint64_t stride, uint32_t flags) {
    CHECKED(vkGetQueryPoolResults);
    EXPECT_EQ(flags, +kResults64);
    EXPECT_EQ(stride, 8u);
    EXPECT_EQ(bytes, count * stride);
    return c.real_.vkGetQueryPoolResults(device, pool, first, count, bytes, out, stride, flags);
  };
#undef CHECKED
}

}  // namespace opd::vk
