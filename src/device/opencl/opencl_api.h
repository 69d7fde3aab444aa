// The functions of OpenCL 1.2 that the library uses. The loader (libOpenCL.so.1) is opened at the first use of an
// OpenCL device.
// Source: The OpenCL Specification, 3.0.
#pragma once
#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // declares clCreateCommandQueue
#include <CL/cl.h>

#include <string>

#include "device/driver.h"

namespace opd::cl {

// The functions of the loader that are used.
// clang-format off
#define OPD_OPENCL_FUNCTIONS(X) \
  X(clGetPlatformIDs) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) X(clCreateCommandQueue) \
  X(clReleaseCommandQueue) X(clFlush) X(clFinish) X(clCreateBuffer) X(clCreateSubBuffer) X(clCreateImage) \
  X(clReleaseMemObject) X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueReadImage) \
  X(clEnqueueWriteImage) X(clEnqueueCopyImage) X(clEnqueueCopyImageToBuffer) X(clEnqueueCopyBufferToImage) \
  X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clGetProgramInfo) X(clBuildProgram) \
  X(clGetProgramBuildInfo) X(clReleaseProgram) X(clCreateKernel) X(clReleaseKernel) X(clSetKernelArg) \
  X(clEnqueueNDRangeKernel) X(clEnqueueMarkerWithWaitList) X(clWaitForEvents) X(clGetEventProfilingInfo) \
  X(clReleaseEvent)
// clang-format on

// Functions that older loaders lack. They are null there. If a driver is older than the loader, they may crash.
#define OPD_OPENCL_NEW_FUNCTIONS(X) X(clGetDeviceAndHostTimer)  // since OpenCL 2.1

struct Api : Driver<Api> {
#define OPD_DECLARE(name) decltype(&::name) name = nullptr;
  OPD_OPENCL_FUNCTIONS(OPD_DECLARE)
  OPD_OPENCL_NEW_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE

  void open();
  // Releases a reference to a driver object. Does nothing in a child of fork(): the driver's locks may be held there.
  template <class T>
  void release(cl_int (*function)(T), T object) const {
    if (object && !is_inherited()) function(object);
  }
};

std::string status_name(cl_int status);           // "CL_OUT_OF_RESOURCES (-5)"
void check(cl_int status, const char *function);  // throws; OPD_OUT_OF_MEMORY if the status means that

}  // namespace opd::cl
