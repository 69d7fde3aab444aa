// Images of OpenCL devices, for tensors in TVM's texture scopes.
#pragma once
#include "device/opencl/opencl_context.h"
#include "device/opencl/opencl_memory.h"

namespace opd::cl {

// Null if memory is short. Throws for a shape or dtype that the device does not support.
cl_mem create_image(const DeviceContext &device, const ImageShape &shape);

// Copy bytes in the order of a tensor. `event`: receives the event of the last command; may be null. Throw unless whole
// pixels are copied. Copies to and from the host are complete on return.
void read_image(const DeviceContext &device, cl_command_queue queue, const Place &from, size_t bytes, void *host,
                cl_event *event);
void write_image(const DeviceContext &device, cl_command_queue queue, const void *host, const Place &to, size_t bytes,
                 cl_event *event);
void copy_image(const DeviceContext &device, cl_command_queue queue, const Place &from, const Place &to, size_t bytes,
                cl_event *event);  // one side or both are images

}  // namespace opd::cl
