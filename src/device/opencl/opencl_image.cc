#include "device/opencl/opencl_image.h"

#include <algorithm>
#include <array>

#include "value/value.h"

namespace opd::cl {
namespace {

struct Channel {
  DLDataType dtype;
  cl_channel_type type;
};
constexpr Channel kChannels[] = {
    {{kDLFloat, 32, 1}, CL_FLOAT},         {{kDLFloat, 16, 1}, CL_HALF_FLOAT},    {{kDLInt, 8, 1}, CL_SIGNED_INT8},
    {{kDLInt, 16, 1}, CL_SIGNED_INT16},    {{kDLInt, 32, 1}, CL_SIGNED_INT32},    {{kDLUInt, 8, 1}, CL_UNSIGNED_INT8},
    {{kDLUInt, 16, 1}, CL_UNSIGNED_INT16}, {{kDLUInt, 32, 1}, CL_UNSIGNED_INT32},
};

cl_channel_type channel_of(DLDataType dtype, int32_t device) {
  std::string known;
  for (const Channel &channel : kChannels) {
    if (same(channel.dtype, dtype)) return channel.type;
    known += concat(known.empty() ? "" : ", ", dtype_name(channel.dtype));
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

constexpr uint32_t kUntilDone = 1;

}  // namespace

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

void read_image(const DeviceContext &device, cl_command_queue queue, const Place &from, size_t bytes, void *host,
                cl_event *event) {
  for_boxes(device, from, bytes, event, [&](const Box &box, size_t done, cl_event *last) {
    check(device.api().clEnqueueReadImage(queue, from.buffer->memory, kUntilDone, box.origin.data(), box.region.data(),
                                          0, 0, static_cast<char *>(host) + done, 0, nullptr, last),
          "clEnqueueReadImage");
  });
}

void write_image(const DeviceContext &device, cl_command_queue queue, const void *host, const Place &to, size_t bytes,
                 cl_event *event) {
  for_boxes(device, to, bytes, event, [&](const Box &box, size_t done, cl_event *last) {
    check(device.api().clEnqueueWriteImage(queue, to.buffer->memory, kUntilDone, box.origin.data(), box.region.data(),
                                           0, 0, static_cast<const char *>(host) + done, 0, nullptr, last),
          "clEnqueueWriteImage");
  });
}

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

}  // namespace opd::cl
