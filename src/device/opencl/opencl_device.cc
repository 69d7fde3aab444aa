#include "device/opencl/opencl_device.h"

#include <charconv>

#include "device/opencl/opencl_context.h"
#include "device/opencl/opencl_image.h"
#include "device/opencl/opencl_program.h"
#include "device/opencl/opencl_work.h"

namespace opd {
namespace cl {
namespace {

class OpenClBackend final : public DeviceBackend {
 public:
  Value attr(int32_t id, opd_device_attr attr) override {
    if (attr == OPD_ATTR_EXIST) return Value(find(id) != nullptr);
    const DeviceContext &device = get(id);
    switch (attr) {
      case OPD_ATTR_MAX_THREADS_PER_BLOCK:
        return Value(static_cast<int64_t>(device.number_of<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE)));
      case OPD_ATTR_WARP_SIZE:
        return Value(1);  // OpenCL 1.2 has no such property; TVM's code generator assumes 1
      case OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK:
        return Value(static_cast<int64_t>(device.number_of<uint64_t>(CL_DEVICE_LOCAL_MEM_SIZE)));
      case OPD_ATTR_COMPUTE_VERSION:
        return Value(version_of(device));
      case OPD_ATTR_DEVICE_NAME:
        return Value(device.text(CL_DEVICE_NAME));
      case OPD_ATTR_MAX_CLOCK_RATE:
        return Value(int64_t{device.number_of<uint32_t>(CL_DEVICE_MAX_CLOCK_FREQUENCY)} * 1000);
      case OPD_ATTR_MULTI_PROCESSOR_COUNT:
        return Value(int64_t{device.number_of<uint32_t>(CL_DEVICE_MAX_COMPUTE_UNITS)});
      case OPD_ATTR_MAX_THREAD_DIMENSIONS:
        return dimensions_of(device);
      case OPD_ATTR_API_VERSION:
        return Value(api_version_of(device));
      case OPD_ATTR_DRIVER_VERSION:
        return Value(device.text(CL_DRIVER_VERSION));
      case OPD_ATTR_L2_CACHE_SIZE_BYTES:
        return Value(static_cast<int64_t>(device.number_of<uint64_t>(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE)));
      case OPD_ATTR_TOTAL_GLOBAL_MEMORY:
        return Value(static_cast<int64_t>(device.number_of<uint64_t>(CL_DEVICE_GLOBAL_MEM_SIZE)));
      case OPD_ATTR_TEXTURE_SPATIAL_LIMIT:
        return Value(static_cast<int64_t>(device.number_of<size_t>(CL_DEVICE_IMAGE2D_MAX_WIDTH)));
      default:
        return {};
    }
  }

  std::string absence(int32_t id) override {
    return devices().absence(Api::get(),
                             "the loader of OpenCL's drivers is here, but no driver that has a device (Debian: "
                             "pocl-opencl-icd for processors, or the vendor's)",
                             "OpenCL's drivers have", id);
  }
  bool is_started() const override { return Api::is_open(); }

  void *allocate(int32_t id, size_t bytes, size_t) override {
    const DeviceContext &device = get(id);
    const auto buffer = std::make_shared<OwnedMemory>();
    cl_int status = CL_SUCCESS;
    buffer->memory = device.api().clCreateBuffer(device.context(), CL_MEM_READ_WRITE, bytes, nullptr, &status);
    return status ? nullptr : buffers().add(buffer, bytes, id);
  }
  bool has_images(int32_t id) override { return get(id).number_of<uint32_t>(CL_DEVICE_IMAGE_SUPPORT) != 0; }
  void *allocate_image(int32_t id, const ImageShape &shape) override {
    const auto image = std::make_shared<OwnedMemory>();
    image->image = shape, image->memory = create_image(get(id), shape);
    return image->memory ? buffers().add(image, shape.bytes(), id) : nullptr;
  }
  ImageShape image_at(int32_t id, const void *address) noexcept override {
    try {
      return buffers().find(address, 0, id).buffer->image;
    } catch (const Exception &) { return {}; }
  }
  void deallocate(int32_t, void *data, size_t, size_t) noexcept override { buffers().remove(data); }

  void copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes, void *stream) override {
    enqueue_copy(from, from_device, to, to_device, bytes, stream, nullptr);
  }
  // For a copy between two devices, the times are those of its second part.
  std::unique_ptr<PendingWork> copy_timed(const void *from, DLDevice from_device, void *to, DLDevice to_device,
                                          size_t bytes, void *stream) override {
    const DLDevice device = to_device.device_type == kDLOpenCL ? to_device : from_device;
    auto work = std::make_unique<OpenClWork>(get(device.device_id));
    enqueue_copy(from, from_device, to, to_device, bytes, stream, work->place());
    if (from_device.device_type != to_device.device_type) work->set_blocking();
    return work;
  }

  void enqueue_copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes, void *stream,
                    cl_event *event) {
    const bool reads = from_device.device_type == kDLOpenCL, writes = to_device.device_type == kDLOpenCL;
    if (reads && writes && from_device.device_id != to_device.device_id) {  // each device has its own context
      std::vector<char> stage(bytes);
      copy(from, from_device, stage.data(), kHost, bytes, nullptr);
      return enqueue_copy(stage.data(), kHost, to, to_device, bytes, current_stream(to_device), event);
    }
    const DeviceContext &device = get(reads ? from_device.device_id : to_device.device_id);
    const Api &api = device.api();
    const cl_command_queue queue = device.queue(stream);
    const Place source = reads ? buffers().find(from, bytes, device.number()) : Place{};
    const Place target = writes ? buffers().find(to, bytes, device.number()) : Place{};
    constexpr uint32_t kBlocking = 1;
    const bool from_image = reads && source.buffer->image, to_image = writes && target.buffer->image;
    if (from_image || to_image) {
      if (!writes) read_image(device, queue, source, bytes, to, event);
      else if (!reads) write_image(device, queue, from, target, bytes, event);
      else copy_image(device, queue, source, target, bytes, event);
    } else if (!writes) {
      check(
          api.clEnqueueReadBuffer(queue, source.buffer->memory, kBlocking, source.offset, bytes, to, 0, nullptr, event),
          "clEnqueueReadBuffer");
    } else if (!reads) {
      check(api.clEnqueueWriteBuffer(queue, target.buffer->memory, kBlocking, target.offset, bytes, from, 0, nullptr,
                                     event),
            "clEnqueueWriteBuffer");
    } else {
      check(api.clEnqueueCopyBuffer(queue, source.buffer->memory, target.buffer->memory, source.offset, target.offset,
                                    bytes, 0, nullptr, event),
            "clEnqueueCopyBuffer");
    }
  }

  bool is_asynchronous() const override { return true; }
  void sync(int32_t id) override { wait_for_all_streams({kDLOpenCL, id}); }
  void sync_stream(int32_t id, void *stream) override {
    const DeviceContext &device = get(id);
    check(device.api().clFinish(device.queue(stream)), "clFinish");
  }
  void *create_stream(int32_t id) override { return get(id).make_queue(); }
  void free_stream(int32_t, void *stream) noexcept override {
    Api::get().release(Api::get().clReleaseCommandQueue, static_cast<cl_command_queue>(stream));
  }

  std::string counters_absence(int32_t) override { return "OpenCL has no standard functions for counters"; }
  std::unique_ptr<DeviceTimer> start_timer(int32_t id, void *stream) override {
    return std::make_unique<OpenClTimer>(get(id), stream);
  }

  std::unique_ptr<DeviceProgram> build(int32_t id, const DeviceCode &code) override {
    return build_program(get(id), code);
  }

 private:
  using Devices = DriverDevices<const DeviceContext>;

  static const Devices &devices() {
    static const Devices &made = Devices::make(Api::get(), [](Devices &devices) {
      for (cl_device_id device : list_devices(Api::get()))
        devices.list.push_back(std::make_unique<DeviceContext>(device, static_cast<int32_t>(devices.list.size())));
    });
    return made;
  }
  static const DeviceContext *find(int32_t id) { return devices().find(id); }
  static const DeviceContext &get(int32_t id) { return devices().get(Api::get(), "opencl", id); }

  // Version numbers from text such as "OpenCL 3.0 PoCL 3.1".
  static std::string version_of(const DeviceContext &device) {
    const std::string text = device.text(CL_DEVICE_VERSION);
    const size_t begin = text.find(' ') + 1;
    return text.substr(begin, text.find(' ', begin) - begin);
  }
  static int64_t api_version_of(const DeviceContext &device) {  // 300 for OpenCL 3.0
    const std::string version = version_of(device);
    const size_t dot = version.find('.');
    int64_t major = 0, minor = 0;
    std::from_chars(version.data(), version.data() + version.size(), major);
    if (dot != std::string::npos) std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
    return major * 100 + minor * 10;
  }
  static Value dimensions_of(const DeviceContext &device) {
    size_t sizes[3] = {};
    check(device.api().clGetDeviceInfo(device.device(), CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, nullptr),
          "clGetDeviceInfo");
    const int64_t dims[] = {static_cast<int64_t>(sizes[0]), static_cast<int64_t>(sizes[1]),
                            static_cast<int64_t>(sizes[2])};
    return Value(Shape::make(dims));
  }
};

}  // namespace
}  // namespace cl

DeviceBackend &opencl_backend() {
  static auto *backend = new cl::OpenClBackend;
  return *backend;
}

}  // namespace opd
