// The kind of Vulkan devices: their memory, copies, streams, timers, counters and programs.
#include "device/backends.h"
#include "device/device.h"
#include "device/vulkan/vulkan_work.h"

namespace opd {
namespace vk {
namespace {

struct Device {
  DeviceContext context;
  Stream main;  // the default stream

  Device(const DeviceFacts &facts, int32_t number) : context(facts, number), main(context) {}
  Stream &stream(void *given) { return given ? *static_cast<Stream *>(given) : main; }
};

std::string version_text(uint32_t version) {
  return concat(VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version), ".", VK_API_VERSION_PATCH(version));
}

// Each vendor encodes the driver's version number differently, so the driver's text is preferred if there is one.
std::string driver_version_of(const DeviceFacts &facts) {
  const std::string text = facts.properties12.driverInfo;
  return text.empty() ? version_text(facts.properties.driverVersion) : text;
}

uint64_t memory_of(const DeviceContext &context) {
  const int32_t type = context.memory_type(~0u, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  return type < 0 ? 0 : context.heap_bytes(static_cast<uint32_t>(type));
}

Value whole(uint64_t number) { return Value(static_cast<int64_t>(number)); }

class VulkanBackend final : public DeviceBackend {
 public:
  Value attr(int32_t id, opd_device_attr attr) override {
    if (attr == OPD_ATTR_EXIST) return Value(find(id) != nullptr);
    const DeviceContext &context = get(id).context;
    const DeviceFacts &facts = context.facts();
    const VkPhysicalDeviceLimits &limits = context.limits();
    switch (attr) {
      case OPD_ATTR_MAX_THREADS_PER_BLOCK:
        return whole(limits.maxComputeWorkGroupInvocations);
      case OPD_ATTR_WARP_SIZE:
        return whole(facts.properties11.subgroupSize);
      case OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK:
        return whole(limits.maxComputeSharedMemorySize);
      case OPD_ATTR_COMPUTE_VERSION:
        return Value(version_text(facts.properties.apiVersion));
      case OPD_ATTR_DEVICE_NAME:
        return Value(std::string(facts.properties.deviceName));
      case OPD_ATTR_MAX_THREAD_DIMENSIONS: {
        const int64_t sizes[] = {limits.maxComputeWorkGroupSize[0], limits.maxComputeWorkGroupSize[1],
                                 limits.maxComputeWorkGroupSize[2]};
        return Value(Shape::make(sizes));
      }
      case OPD_ATTR_API_VERSION:  // 130 for Vulkan 1.3
        return whole(VK_API_VERSION_MAJOR(facts.properties.apiVersion) * 100 +
                     VK_API_VERSION_MINOR(facts.properties.apiVersion) * 10);
      case OPD_ATTR_DRIVER_VERSION:
        return Value(driver_version_of(facts));
      case OPD_ATTR_TOTAL_GLOBAL_MEMORY:
        return whole(memory_of(context));
      case OPD_ATTR_TEXTURE_SPATIAL_LIMIT:
        return whole(limits.maxImageDimension2D);
      default:
        return {};  // Vulkan does not report clock rates, processors and caches
    }
  }

  std::string absence(int32_t id) override {
    return devices().absence(Api::get(), no_driver(), "Vulkan's drivers have", id);
  }
  bool is_started() const override { return Api::is_open(); }

  void *allocate(int32_t id, size_t bytes, size_t) override {
    Device &device = get(id);
    auto buffer = DeviceBuffer::make(device.context, bytes, DeviceBuffer::Use::kTensor);
    if (!buffer) {  // finished work may still hold memory
      sync(id);
      buffer = DeviceBuffer::make(device.context, bytes, DeviceBuffer::Use::kTensor);
    }
    return buffer ? buffers().add(std::move(buffer), bytes, id) : nullptr;
  }
  void deallocate(int32_t, void *data, size_t, size_t) noexcept override { buffers().remove(data); }

  void copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes, void *stream) override {
    give_copy(from, from_device, to, to_device, bytes, stream, nullptr);
  }
  // If a copy goes through the host, the times are those of its second part.
  std::unique_ptr<PendingWork> copy_timed(const void *from, DLDevice from_device, void *to, DLDevice to_device,
                                          size_t bytes, void *stream) override {
    Device &device = get((to_device.device_type == kDLVulkan ? to_device : from_device).device_id);
    auto work = VulkanWork::make(device.context, device.main);
    const uint64_t number =
        give_copy(from, from_device, to, to_device, bytes, stream, work ? work->queries() : nullptr);
    if (work) work->set_end(device.stream(stream), number);
    return work;
  }

  bool is_asynchronous() const override { return true; }
  void sync(int32_t id) override { wait_for_all_streams({kDLVulkan, id}); }
  void sync_stream(int32_t id, void *stream) override { get(id).stream(stream).sync(); }
  void *create_stream(int32_t id) override { return new Stream(get(id).context); }
  // In a child of fork() the stream is not freed: another thread may have been using it.
  void free_stream(int32_t, void *stream) noexcept override {
    if (!Api::get().is_inherited()) delete static_cast<Stream *>(stream);
  }

  std::unique_ptr<DeviceTimer> start_timer(int32_t id, void *stream) override {
    Device &device = get(id);
    return VulkanTimer::start(device.context, device.main, device.stream(stream));
  }
  std::unique_ptr<DeviceCounterSet> open_counters(int32_t id, std::span<const std::string>) override {
    return std::make_unique<VulkanCounterSet>(get(id).context);  // it has one counter, without a name
  }
  std::string counters_absence(int32_t id) override {
    Device *const device = find(id);
    if (!device) return absence(id);
    return device->context.counts_invocations() ? "" : "the device lacks the feature pipelineStatisticsQuery";
  }

  std::unique_ptr<DeviceProgram> build(int32_t id, const DeviceCode &code) override {
    Device &device = get(id);
    return build_program(device.context, device.main, code);
  }

 private:
  using Devices = DriverDevices<Device>;

  static uint64_t give_copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes,
                            void *stream, Stream::Queries queries) {
    const bool reads = from_device.device_type == kDLVulkan, writes = to_device.device_type == kDLVulkan;
    Device &device = get(writes ? to_device.device_id : from_device.device_id);
    Device &first = get(reads ? from_device.device_id : to_device.device_id);
    const Place source = reads ? buffers().find(from, bytes, first.context.number()) : Place{};
    const Place target = writes ? buffers().find(to, bytes, device.context.number()) : Place{};
    if (!writes) return device.stream(stream).read(source, to, bytes, queries);
    if (!reads) return device.stream(stream).write(from, target, bytes, queries);
    // A device cannot access the buffers of another one, and Vulkan cannot copy between overlapping parts of a buffer.
    const bool overlaps = source.buffer == target.buffer && source.offset < target.offset + bytes &&
                          target.offset < source.offset + bytes;
    if (&first == &device && !overlaps) return device.stream(stream).copy(source, target, bytes, queries);
    std::vector<char> stage(bytes);
    first.stream(&first == &device ? stream : nullptr).read(source, stage.data(), bytes, nullptr);
    return device.stream(stream).write(stage.data(), target, bytes, queries);
  }

  static const Devices &devices() {
    static const Devices &made = Devices::make(Api::get(), [](Devices &devices) {
      for (const DeviceFacts &facts : list_devices(Api::get())) {
        if (facts.unsupported.empty())
          devices.list.push_back(std::make_unique<Device>(facts, static_cast<int32_t>(devices.list.size())));
        else
          devices.failure =
              concat("\"", facts.properties.deviceName, "\" lacks what opdyno needs: ", facts.unsupported);
      }
    });
    return made;
  }
  static Device *find(int32_t id) { return devices().find(id); }
  static Device &get(int32_t id) { return devices().get(Api::get(), "vulkan", id); }
};

}  // namespace
}  // namespace vk

DeviceBackend &vulkan_backend() {
  static auto *backend = new vk::VulkanBackend;
  return *backend;
}

}  // namespace opd
