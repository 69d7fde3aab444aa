// OpenCL devices. Tensors in TVM's texture scopes have images.
#include <algorithm>
#include <array>
#include <charconv>

#include "device/backends.h"
#include "device/device.h"
#include "device/opencl/opencl_context.h"
#include "value/value.h"

namespace opd {
namespace cl {
namespace {

constexpr uint32_t kBlocking = 1;

// ---- images

constexpr std::pair<DLDataType, cl_channel_type> kChannels[] = {
    {{kDLFloat, 32, 1}, CL_FLOAT},         {{kDLFloat, 16, 1}, CL_HALF_FLOAT},    {{kDLInt, 8, 1}, CL_SIGNED_INT8},
    {{kDLInt, 16, 1}, CL_SIGNED_INT16},    {{kDLInt, 32, 1}, CL_SIGNED_INT32},    {{kDLUInt, 8, 1}, CL_UNSIGNED_INT8},
    {{kDLUInt, 16, 1}, CL_UNSIGNED_INT16}, {{kDLUInt, 32, 1}, CL_UNSIGNED_INT32},
};

cl_channel_type channel_of(DLDataType dtype, int32_t device) {
  std::string known;
  for (const auto &[of_channel, type] : kChannels) {
    if (same(of_channel, dtype)) return type;
    known += concat(known.empty() ? "" : ", ", dtype_name(of_channel));
  }
  fail(OPD_UNSUPPORTED, "an image of opencl:", device, " has channels of ", known, ", but the tensor's dtype is ",
       dtype_name(dtype));
}

using Sizes = std::array<size_t, 3>;  // columns, rows, layers

std::string image_text(const Sizes &sizes) {
  return concat(sizes[0], " x ", sizes[1], " pixels in ", sizes[2], sizes[2] == 1 ? " layer" : " layers");
}

// Consecutive pixels that form a box in an image.
struct Box {
  Sizes origin, region;
  size_t bytes = 0;
};

size_t row_rest(const ImageShape &image, size_t offset) { return image.row_bytes() - offset % image.row_bytes(); }

// The largest box that begins at the offset: whole layers, whole rows or a part of a row.
Box box_at(const ImageShape &image, size_t offset, size_t bytes) {
  const auto width = static_cast<size_t>(image.width), height = static_cast<size_t>(image.height);
  const size_t pixel = image.pixel_bytes(), row = image.row_bytes(), layer = row * height;
  Box box{{offset % row / pixel, offset / row % height, offset / layer}, {}};
  if (offset % layer == 0 && bytes >= layer) box.region = {width, height, bytes / layer};
  else if (offset % row == 0 && bytes >= row) box.region = {width, std::min(bytes / row, height - box.origin[1]), 1};
  else box.region = {std::min(bytes, row_rest(image, offset)) / pixel, 1, 1};
  box.bytes = box.region[0] * box.region[1] * box.region[2] * pixel;
  return box;
}

void check_pixels(const DeviceContext &device, const Place &place, size_t bytes) {
  if (!place.buffer->image) return;
  const size_t pixel = place.buffer->image.pixel_bytes();
  if (place.offset % pixel || bytes % pixel)
    fail(OPD_UNSUPPORTED, "the ", bytes, " bytes at byte ", place.offset, " of an image of opencl:", device.number(),
         " cannot be copied alone: its pixels have ", pixel, " bytes");
}

// Calls copy(box, done, event) for each box of the bytes in an image. `done`: number of bytes before the box. `event`:
// null except for the last box.
template <class Copy>
void for_boxes(const DeviceContext &device, const Place &in, size_t bytes, cl_event *event, const Copy &copy) {
  check_pixels(device, in, bytes);
  for (size_t done = 0; done < bytes;) {
    const Box box = box_at(in.buffer->image, in.offset + done, bytes - done);
    copy(box, done, done + box.bytes == bytes ? event : nullptr);
    done += box.bytes;
  }
}

void copy_between_images(const DeviceContext &device, cl_command_queue queue, const Place &from, const Place &to,
                         size_t bytes, cl_event *event) {
  check_pixels(device, from, bytes);
  check_pixels(device, to, bytes);
  const ImageShape &source = from.buffer->image, &target = to.buffer->image;
  for (size_t done = 0; done < bytes;) {
    Box read = box_at(source, from.offset + done, bytes - done), write = box_at(target, to.offset + done, bytes - done);
    if (read.region != write.region) {
      const size_t run =
          std::min({bytes - done, row_rest(source, from.offset + done), row_rest(target, to.offset + done)});
      read = box_at(source, from.offset + done, run), write = box_at(target, to.offset + done, run);
    }
    check(device.api().clEnqueueCopyImage(queue, from.buffer->memory, to.buffer->memory, read.origin.data(),
                                          write.origin.data(), read.region.data(), 0, nullptr,
                                          done + read.bytes == bytes ? event : nullptr),
          "clEnqueueCopyImage");
    done += read.bytes;
  }
}

// Returns null if there is no memory. Throws for a shape or dtype that the device does not support.
cl_mem create_image(const DeviceContext &device, const ImageShape &shape) {
  const cl_image_format format{CL_RGBA, channel_of(shape.dtype, device.number())};
  const Sizes sizes{static_cast<size_t>(shape.width), static_cast<size_t>(shape.height),
                    static_cast<size_t>(shape.layers)};
  const Sizes most{device.number_of<size_t>(CL_DEVICE_IMAGE2D_MAX_WIDTH),
                   device.number_of<size_t>(CL_DEVICE_IMAGE2D_MAX_HEIGHT),
                   device.number_of<size_t>(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE)};
  if (sizes[0] > most[0] || sizes[1] > most[1] || sizes[2] > most[2])
    fail(OPD_UNSUPPORTED, "an image of ", image_text(sizes), " is too large for opencl:", device.number(),
         ", which takes ", image_text(most));
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY;
  description.image_width = sizes[0], description.image_height = sizes[1];
  description.image_array_size = sizes[2];
  cl_int status = CL_SUCCESS;
  const cl_mem image =
      device.api().clCreateImage(device.context(), CL_MEM_READ_WRITE, &format, &description, nullptr, &status);
  if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY)
    return nullptr;
  if (status == CL_IMAGE_FORMAT_NOT_SUPPORTED)
    fail(OPD_UNSUPPORTED, "opencl:", device.number(), " has no images with four channels of ", dtype_name(shape.dtype));
  check(status, "clCreateImage");
  return image;
}

// The next functions copy bytes in the order of a tensor. `event`: receives the event of the last command; may be null.
// They throw unless whole pixels are copied. Copies to and from the host are complete on return.

void read_image(const DeviceContext &device, cl_command_queue queue, const Place &from, size_t bytes, void *host,
                cl_event *event) {
  for_boxes(device, from, bytes, event, [&](const Box &box, size_t done, cl_event *last) {
    check(device.api().clEnqueueReadImage(queue, from.buffer->memory, kBlocking, box.origin.data(), box.region.data(),
                                          0, 0, static_cast<char *>(host) + done, 0, nullptr, last),
          "clEnqueueReadImage");
  });
}

void write_image(const DeviceContext &device, cl_command_queue queue, const void *host, const Place &to, size_t bytes,
                 cl_event *event) {
  for_boxes(device, to, bytes, event, [&](const Box &box, size_t done, cl_event *last) {
    check(device.api().clEnqueueWriteImage(queue, to.buffer->memory, kBlocking, box.origin.data(), box.region.data(), 0,
                                           0, static_cast<const char *>(host) + done, 0, nullptr, last),
          "clEnqueueWriteImage");
  });
}

// Copies between two images, or between an image and a buffer.
void copy_image(const DeviceContext &device, cl_command_queue queue, const Place &from, const Place &to, size_t bytes,
                cl_event *event) {
  const Api &api = device.api();
  if (from.buffer->image && to.buffer->image) return copy_between_images(device, queue, from, to, bytes, event);
  const bool reads = static_cast<bool>(from.buffer->image);
  for_boxes(device, reads ? from : to, bytes, event, [&](const Box &box, size_t done, cl_event *last) {
    if (reads)
      check(api.clEnqueueCopyImageToBuffer(queue, from.buffer->memory, to.buffer->memory, box.origin.data(),
                                           box.region.data(), to.offset + done, 0, nullptr, last),
            "clEnqueueCopyImageToBuffer");
    else
      check(api.clEnqueueCopyBufferToImage(queue, from.buffer->memory, to.buffer->memory, from.offset + done,
                                           box.origin.data(), box.region.data(), 0, nullptr, last),
            "clEnqueueCopyBufferToImage");
  });
}

// ---- the kind

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
