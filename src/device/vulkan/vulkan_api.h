// The part of Vulkan 1.2 that the library uses, declared here so that no header is needed to build; a test compares it
// with Khronos's header. The loader (libvulkan.so.1) is opened at the first use of a Vulkan device.
// Members that are not used have no names: they are parts of arrays called `unused`.
// Source: Vulkan 1.3 - A Specification.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "device/driver.h"

namespace opd::vk {

struct Instance;  // VkInstance points at one, and so on
struct PhysicalDevice;
struct LogicalDevice;
struct Queue;
struct DeviceMemory;
struct Buffer;
struct CommandPool;
struct CommandBuffer;
struct Semaphore;
struct ShaderModule;
struct SetLayout;
struct PipelineLayout;
struct PipelineCache;
struct Pipeline;
struct DescriptorPool;
struct DescriptorSet;
struct QueryPool;

using Result = int32_t;
enum : Result {
  kSuccess = 0,
  kTimeout = 2,
  kOutOfHostMemory = -1,
  kOutOfDeviceMemory = -2,
  kIncompatibleDriver = -9,
  kTooManyObjects = -10,
};

enum DeviceType : uint32_t { kOther, kIntegrated, kDiscrete, kVirtual, kProcessor };
enum : uint32_t { kQueueCompute = 2 };
enum : uint32_t { kDeviceLocal = 1, kHostVisible = 2, kHostCoherent = 4, kHostCached = 8 };  // of memory
enum : uint32_t { kTransferSource = 1, kTransferTarget = 2, kUniform = 16, kStorage = 32 };  // of buffers
enum : uint32_t { kResettable = 2 };  // command buffers of a pool
enum : uint32_t { kOnce = 1 };        // a command buffer's use
enum : uint32_t { kStageBottom = 0x2000, kStageAll = 0x10000, kStageHost = 0x4000 };
enum : uint32_t { kHostRead = 0x2000, kMemoryRead = 0x8000, kMemoryWrite = 0x10000 };
enum : uint32_t { kUniformBuffer = 6, kStorageBuffer = 7 };  // descriptors
enum : uint32_t { kComputeStage = 0x20 };
enum : uint32_t { kComputePoint = 1 };
enum : int32_t { kTimeline = 1 };                      // semaphores
enum : uint32_t { kStatistics = 1, kTimestamps = 2 };  // queries
enum : uint32_t { kComputeInvocations = 0x400 };       // of the statistics
enum : uint32_t { kResults64 = 1 };
constexpr uint64_t kWholeSize = ~uint64_t{0};

constexpr uint32_t version(uint32_t major, uint32_t minor) { return major << 22 | minor << 12; }
constexpr uint32_t major_of(uint32_t version) { return version >> 22 & 0x7F; }
constexpr uint32_t minor_of(uint32_t version) { return version >> 12 & 0x3FF; }
constexpr uint32_t patch_of(uint32_t version) { return version & 0xFFF; }

// Features are flags in an order that Vulkan fixes.
enum Feature : uint32_t { kPipelineStatistics = 24, kFloat64 = 39, kInt64 = 40, kInt16 = 41, kFeatureCount = 55 };
enum Feature11 : uint32_t {
  kStorage16 = 0,
  kUniform16 = 1,
  kPush16 = 2,
  kStoragePointers = 7,
  kPointers = 8,
  kFeature11Count = 12
};
enum Feature12 : uint32_t {
  kStorage8 = 2,
  kUniform8 = 3,
  kPush8 = 4,
  kInt64Atomics = 5,
  kFloat16 = 7,
  kInt8 = 8,
  kTimelines = 37,
  kMemoryModel = 41,
  kMemoryModelScope = 42,
  kFeature12Count = 47
};
struct Features11 {
  uint32_t type = 49;
  void *next = nullptr;
  uint32_t flags[kFeature11Count] = {};
};
struct Features12 {
  uint32_t type = 51;
  void *next = nullptr;
  uint32_t flags[kFeature12Count] = {};
};
struct Features {
  uint32_t type = 1000059000;
  void *next = nullptr;
  uint32_t flags[kFeatureCount] = {};
};

struct Limits {
  uint32_t unused1, max_image_2d, unused2[4];
  uint32_t max_uniform_bytes, max_storage_bytes, max_push_bytes, unused3[10];
  uint32_t max_stage_storage_buffers, unused4[3];
  uint32_t max_stage_resources, unused5[30];
  uint32_t max_shared_bytes, max_group_count[3], max_group_items, max_group_size[3], unused6[15];
  uint64_t unused7[2];
  uint64_t storage_alignment;
  uint32_t unused8[22];
  float timestamp_ns;
  uint32_t unused9[19];
};
struct Properties11 {
  uint32_t type = 50;
  void *next = nullptr;
  uint8_t unused1[48] = {};
  uint32_t subgroup_size = 0, subgroup_stages = 0, subgroup_operations = 0, unused2[7] = {};
  uint64_t max_memory_bytes = 0;
};
struct Properties12 {
  uint32_t type = 52;
  void *next = nullptr;
  uint32_t driver_id = 0;
  char driver_name[256] = {}, driver_info[256] = {};
  uint8_t unused[204] = {};
};
struct Properties {
  uint32_t type = 1000059001;
  void *next = nullptr;
  uint32_t api_version = 0, driver_version = 0, vendor = 0, device = 0, device_type = 0;
  char name[256] = {};
  uint8_t cache_id[16] = {};
  Limits limits = {};
  uint32_t unused[5] = {};
};
struct QueueFamily {
  uint32_t flags, count, timestamp_bits, unused[3];
};
struct MemoryType {
  uint32_t flags, heap;
};
struct MemoryHeap {
  uint64_t bytes;
  uint32_t flags;
};
struct MemoryProperties {
  uint32_t type_count;
  MemoryType types[32];
  uint32_t heap_count;
  MemoryHeap heaps[16];
};

struct ApplicationInfo {
  uint32_t type = 0;
  const void *next = nullptr;
  const char *application = nullptr;
  uint32_t application_version = 0;
  const char *engine = nullptr;
  uint32_t engine_version = 0, api_version = 0;
};
struct InstanceInfo {
  uint32_t type = 1;
  const void *next = nullptr;
  uint32_t flags = 0;
  const ApplicationInfo *application = nullptr;
  uint32_t layer_count = 0;
  const char *const *layers = nullptr;
  uint32_t extension_count = 0;
  const char *const *extensions = nullptr;
};
struct QueueInfo {
  uint32_t type = 2;
  const void *next = nullptr;
  uint32_t flags = 0, family = 0, count = 0;
  const float *priorities = nullptr;
};
struct DeviceInfo {
  uint32_t type = 3;
  const void *next = nullptr;
  uint32_t flags = 0, queue_count = 0;
  const QueueInfo *queues = nullptr;
  uint32_t layer_count = 0;
  const char *const *layers = nullptr;
  uint32_t extension_count = 0;
  const char *const *extensions = nullptr;
  const void *features = nullptr;
};

struct BufferInfo {
  uint32_t type = 12;
  const void *next = nullptr;
  uint32_t flags = 0;
  uint64_t bytes = 0;
  uint32_t usage = 0, sharing = 0, family_count = 0;
  const uint32_t *families = nullptr;
};
struct MemoryRequirements {
  uint64_t bytes, alignment;
  uint32_t types;  // a bit for each type of memory that may be used
};
struct MemoryInfo {
  uint32_t type = 5;
  const void *next = nullptr;
  uint64_t bytes = 0;
  uint32_t memory_type = 0;
};
struct BufferCopy {
  uint64_t from, to, bytes;
};

struct CommandPoolInfo {
  uint32_t type = 39;
  const void *next = nullptr;
  uint32_t flags = 0, family = 0;
};
struct CommandBufferInfo {
  uint32_t type = 40;
  const void *next = nullptr;
  CommandPool *pool = nullptr;
  uint32_t level = 0, count = 0;
};
struct BeginInfo {
  uint32_t type = 42;
  const void *next = nullptr;
  uint32_t flags = 0;
  const void *inheritance = nullptr;
};
struct MemoryBarrier {
  uint32_t type = 46;
  const void *next = nullptr;
  uint32_t source = 0, target = 0;  // kinds of access
};

struct SemaphoreType {
  uint32_t type = 1000207002;
  const void *next = nullptr;
  int32_t kind = 0;
  uint64_t value = 0;
};
struct SemaphoreInfo {
  uint32_t type = 9;
  const void *next = nullptr;
  uint32_t flags = 0;
};
struct TimelineInfo {
  uint32_t type = 1000207003;
  const void *next = nullptr;
  uint32_t wait_count = 0;
  const uint64_t *wait_values = nullptr;
  uint32_t signal_count = 0;
  const uint64_t *signal_values = nullptr;
};
struct SubmitInfo {
  uint32_t type = 4;
  const void *next = nullptr;
  uint32_t wait_count = 0;
  Semaphore *const *waits = nullptr;
  const uint32_t *wait_stages = nullptr;
  uint32_t command_count = 0;
  CommandBuffer *const *commands = nullptr;
  uint32_t signal_count = 0;
  Semaphore *const *signals = nullptr;
};
struct WaitInfo {
  uint32_t type = 1000207004;
  const void *next = nullptr;
  uint32_t flags = 0, count = 0;
  Semaphore *const *semaphores = nullptr;
  const uint64_t *values = nullptr;
};

struct ShaderInfo {
  uint32_t type = 16;
  const void *next = nullptr;
  uint32_t flags = 0;
  size_t bytes = 0;
  const uint32_t *code = nullptr;
};
struct SetBinding {
  uint32_t binding, kind, count, stages;
  const void *samplers;
};
struct SetLayoutInfo {
  uint32_t type = 32;
  const void *next = nullptr;
  uint32_t flags = 0, count = 0;
  const SetBinding *bindings = nullptr;
};
struct PushRange {
  uint32_t stages, offset, bytes;
};
struct PipelineLayoutInfo {
  uint32_t type = 30;
  const void *next = nullptr;
  uint32_t flags = 0, set_count = 0;
  SetLayout *const *sets = nullptr;
  uint32_t range_count = 0;
  const PushRange *ranges = nullptr;
};
struct StageInfo {
  uint32_t type = 18;
  const void *next = nullptr;
  uint32_t flags = 0, stage = 0;
  ShaderModule *shader = nullptr;
  const char *name = nullptr;
  const void *constants = nullptr;
};
struct ComputePipelineInfo {
  uint32_t type = 29;
  const void *next = nullptr;
  uint32_t flags = 0;
  StageInfo stage;
  PipelineLayout *layout = nullptr;
  Pipeline *base = nullptr;
  int32_t base_index = 0;
};
struct PoolSize {
  uint32_t kind, count;
};
struct DescriptorPoolInfo {
  uint32_t type = 33;
  const void *next = nullptr;
  uint32_t flags = 0, max_sets = 0, size_count = 0;
  const PoolSize *sizes = nullptr;
};
struct SetInfo {
  uint32_t type = 34;
  const void *next = nullptr;
  DescriptorPool *pool = nullptr;
  uint32_t count = 0;
  SetLayout *const *layouts = nullptr;
};
struct BufferPart {
  Buffer *buffer;
  uint64_t offset, bytes;
};
struct SetWrite {
  uint32_t type = 35;
  const void *next = nullptr;
  DescriptorSet *set = nullptr;
  uint32_t binding = 0, element = 0, count = 0, kind = 0;
  const void *images = nullptr;
  const BufferPart *buffers = nullptr;
  const void *texels = nullptr;
};

struct QueryPoolInfo {
  uint32_t type = 11;
  const void *next = nullptr;
  uint32_t flags = 0, kind = 0, count = 0, statistics = 0;
};

struct CalibratedTimeInfo {
  uint32_t type = 1000184000;
  const void *next = nullptr;
  uint32_t domain = 0;
};
enum : uint32_t { kDeviceDomain = 0 };  // of times: that of timestamp queries
struct ExtensionProperties {
  char name[256];
  uint32_t version;
};
inline constexpr const char *kCalibratedTimes = "VK_EXT_calibrated_timestamps";

// Every function of the loader that is used: the X-macro's lines are name, result, parameters. `Allocator`: none is
// given.
using Allocator = const void *;
#define OPD_VULKAN_FUNCTIONS(X)                                                                                        \
  X(vkEnumeratePhysicalDevices, Result, (Instance *, uint32_t *, PhysicalDevice **))                                   \
  X(vkGetPhysicalDeviceProperties2, void, (PhysicalDevice *, Properties *))                                            \
  X(vkGetPhysicalDeviceFeatures2, void, (PhysicalDevice *, Features *))                                                \
  X(vkGetPhysicalDeviceMemoryProperties, void, (PhysicalDevice *, MemoryProperties *))                                 \
  X(vkGetPhysicalDeviceQueueFamilyProperties, void, (PhysicalDevice *, uint32_t *, QueueFamily *))                     \
  X(vkEnumerateDeviceExtensionProperties, Result, (PhysicalDevice *, const char *, uint32_t *, ExtensionProperties *)) \
  X(vkCreateDevice, Result, (PhysicalDevice *, const DeviceInfo *, Allocator, LogicalDevice **))                       \
  X(vkGetDeviceQueue, void, (LogicalDevice *, uint32_t, uint32_t, Queue **))                                           \
  X(vkQueueSubmit, Result, (Queue *, uint32_t, const SubmitInfo *, void *))                                            \
  X(vkCreateBuffer, Result, (LogicalDevice *, const BufferInfo *, Allocator, Buffer **))                               \
  X(vkDestroyBuffer, void, (LogicalDevice *, Buffer *, Allocator))                                                     \
  X(vkGetBufferMemoryRequirements, void, (LogicalDevice *, Buffer *, MemoryRequirements *))                            \
  X(vkAllocateMemory, Result, (LogicalDevice *, const MemoryInfo *, Allocator, DeviceMemory **))                       \
  X(vkFreeMemory, void, (LogicalDevice *, DeviceMemory *, Allocator))                                                  \
  X(vkBindBufferMemory, Result, (LogicalDevice *, Buffer *, DeviceMemory *, uint64_t))                                 \
  X(vkMapMemory, Result, (LogicalDevice *, DeviceMemory *, uint64_t, uint64_t, uint32_t, void **))                     \
  X(vkCreateCommandPool, Result, (LogicalDevice *, const CommandPoolInfo *, Allocator, CommandPool **))                \
  X(vkDestroyCommandPool, void, (LogicalDevice *, CommandPool *, Allocator))                                           \
  X(vkAllocateCommandBuffers, Result, (LogicalDevice *, const CommandBufferInfo *, CommandBuffer **))                  \
  X(vkBeginCommandBuffer, Result, (CommandBuffer *, const BeginInfo *))                                                \
  X(vkEndCommandBuffer, Result, (CommandBuffer *))                                                                     \
  X(vkCmdPipelineBarrier, void,                                                                                        \
    (CommandBuffer *, uint32_t, uint32_t, uint32_t, uint32_t, const MemoryBarrier *, uint32_t, const void *, uint32_t, \
     const void *))                                                                                                    \
  X(vkCmdCopyBuffer, void, (CommandBuffer *, Buffer *, Buffer *, uint32_t, const BufferCopy *))                        \
  X(vkCmdBindPipeline, void, (CommandBuffer *, uint32_t, Pipeline *))                                                  \
  X(vkCmdBindDescriptorSets, void,                                                                                     \
    (CommandBuffer *, uint32_t, PipelineLayout *, uint32_t, uint32_t, DescriptorSet *const *, uint32_t,                \
     const uint32_t *))                                                                                                \
  X(vkCmdPushConstants, void, (CommandBuffer *, PipelineLayout *, uint32_t, uint32_t, uint32_t, const void *))         \
  X(vkCmdDispatch, void, (CommandBuffer *, uint32_t, uint32_t, uint32_t))                                              \
  X(vkCreateSemaphore, Result, (LogicalDevice *, const SemaphoreInfo *, Allocator, Semaphore **))                      \
  X(vkDestroySemaphore, void, (LogicalDevice *, Semaphore *, Allocator))                                               \
  X(vkWaitSemaphores, Result, (LogicalDevice *, const WaitInfo *, uint64_t))                                           \
  X(vkGetSemaphoreCounterValue, Result, (LogicalDevice *, Semaphore *, uint64_t *))                                    \
  X(vkCreateShaderModule, Result, (LogicalDevice *, const ShaderInfo *, Allocator, ShaderModule **))                   \
  X(vkDestroyShaderModule, void, (LogicalDevice *, ShaderModule *, Allocator))                                         \
  X(vkCreateDescriptorSetLayout, Result, (LogicalDevice *, const SetLayoutInfo *, Allocator, SetLayout **))            \
  X(vkDestroyDescriptorSetLayout, void, (LogicalDevice *, SetLayout *, Allocator))                                     \
  X(vkCreatePipelineLayout, Result, (LogicalDevice *, const PipelineLayoutInfo *, Allocator, PipelineLayout **))       \
  X(vkDestroyPipelineLayout, void, (LogicalDevice *, PipelineLayout *, Allocator))                                     \
  X(vkCreateComputePipelines, Result,                                                                                  \
    (LogicalDevice *, PipelineCache *, uint32_t, const ComputePipelineInfo *, Allocator, Pipeline **))                 \
  X(vkDestroyPipeline, void, (LogicalDevice *, Pipeline *, Allocator))                                                 \
  X(vkCreateDescriptorPool, Result, (LogicalDevice *, const DescriptorPoolInfo *, Allocator, DescriptorPool **))       \
  X(vkDestroyDescriptorPool, void, (LogicalDevice *, DescriptorPool *, Allocator))                                     \
  X(vkAllocateDescriptorSets, Result, (LogicalDevice *, const SetInfo *, DescriptorSet **))                            \
  X(vkCreateQueryPool, Result, (LogicalDevice *, const QueryPoolInfo *, Allocator, QueryPool **))                      \
  X(vkCmdResetQueryPool, void, (CommandBuffer *, QueryPool *, uint32_t, uint32_t))                                     \
  X(vkCmdBeginQuery, void, (CommandBuffer *, QueryPool *, uint32_t, uint32_t))                                         \
  X(vkCmdEndQuery, void, (CommandBuffer *, QueryPool *, uint32_t))                                                     \
  X(vkCmdWriteTimestamp, void, (CommandBuffer *, uint32_t, QueryPool *, uint32_t))                                     \
  X(vkGetQueryPoolResults, Result,                                                                                     \
    (LogicalDevice *, QueryPool *, uint32_t, uint32_t, size_t, void *, uint64_t, uint32_t))                            \
  X(vkUpdateDescriptorSets, void, (LogicalDevice *, uint32_t, const SetWrite *, uint32_t, const void *))

// Those of extensions, which a loader may lack; null there.
#define OPD_VULKAN_EXTENSION_FUNCTIONS(X)                                                               \
  X(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT, Result, (PhysicalDevice *, uint32_t *, uint32_t *)) \
  X(vkGetCalibratedTimestampsEXT, Result,                                                               \
    (LogicalDevice *, uint32_t, const CalibratedTimeInfo *, uint64_t *, uint64_t *))

struct Api : Driver<Api> {
#define OPD_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  OPD_VULKAN_FUNCTIONS(OPD_DECLARE)
  OPD_VULKAN_EXTENSION_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE
  Instance *instance = nullptr;

  void open();
  // Ends an object of a device. A child of fork() leaves it: the driver's locks may be held there.
  template <class T>
  void destroy(void (*function)(LogicalDevice *, T *, Allocator), LogicalDevice *device, T *object) const {
    if (object && !is_inherited()) function(device, object, nullptr);
  }
};

std::string no_driver();  // why there is no device
bool is_out_of_memory(Result result);
std::string result_name(Result result);           // "VK_ERROR_DEVICE_LOST (-4)"
void check(Result result, const char *function);  // throws; OPD_OUT_OF_MEMORY if that is what it says

}  // namespace opd::vk
