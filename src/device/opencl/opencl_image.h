// Images of OpenCL devices: tensors of TVM's texture scopes.
#pragma once
#include "device/opencl/opencl_context.h"
#include "device/opencl/opencl_memory.h"

namespace opd::cl {

// Null without memory; throws for a shape or dtype that the device does not offer.
cl_mem create_image(const DeviceContext &device, const ImageShape &shape);

// Copies of bytes in the order that a tensor has them. `event`: of the last command; null: none is wanted. Throw unless
// whole pixels are copied. Those with the host are complete when they return.
void read_image(const DeviceContext &device, cl_command_queue queue, const Place &from, size_t bytes, void *host,
                cl_event *event);
void write_image(const DeviceContext &device, cl_command_queue queue, const void *host, const Place &to, size_t bytes,
                 cl_event *event);
void copy_image(const DeviceContext &device, cl_command_queue queue, const Place &from, const Place &to, size_t bytes,
                cl_event *event);  // one side or both

}  // namespace opd::cl
