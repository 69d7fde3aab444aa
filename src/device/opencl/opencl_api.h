// The part of OpenCL 1.2 that the library uses, declared here so that no header is needed to build; a test compares it
// with Khronos's header. The loader (libOpenCL.so.1) is opened at the first use of an OpenCL device.
// Source: The OpenCL Specification, 3.0.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "device/driver.h"

namespace opd::cl {

struct Platform;  // cl_platform_id points at one, and so on
struct Device;
struct Context;
struct Queue;
struct Memory;
struct Program;
struct Kernel;
struct Event;
using Status = int32_t;

enum : Status {
  kSuccess = 0,
  kMemoryAllocationFailure = -4,
  kOutOfResources = -5,
  kOutOfHostMemory = -6,
  kImageFormatNotSupported = -10,
  kInvalidKernelName = -46,
};

enum DeviceType : uint64_t { kCpu = 1 << 1, kGpu = 1 << 2, kAccelerator = 1 << 3 };

enum DeviceInfo : uint32_t {
  kMaxComputeUnits = 0x1002,
  kMaxWorkGroupSize = 0x1004,
  kMaxWorkItemSizes = 0x1005,
  kMaxClockMhz = 0x100C,
  kImageMaxWidth = 0x1011,
  kImageMaxHeight = 0x1012,
  kHasImages = 0x1016,
  kMemoryAlignBits = 0x1019,
  kGlobalCacheBytes = 0x101E,
  kGlobalBytes = 0x101F,
  kLocalBytes = 0x1023,
  kTimerResolution = 0x1025,
  kName = 0x102B,
  kVendor = 0x102C,
  kDriverVersion = 0x102D,
  kVersion = 0x102F,
  kImageMaxLayers = 0x1041,
};

enum : uint32_t { kBinarySizes = 0x1165, kBinaries = 0x1166, kBuildLog = 0x1183, kRegion = 0x1220 };
enum : uint64_t { kReadWrite = 1 << 0 };
enum : uint64_t { kQueueProfiling = 1 << 1 };
enum EventTime : uint32_t { kQueued = 0x1280, kStarted = 0x1282, kEnded = 0x1283 };

struct Region {
  size_t origin, size;
};

enum : uint32_t { kRgba = 0x10B5, kLayeredImage = 0x10F3 };
enum ChannelType : uint32_t {
  kSigned8 = 0x10D7,
  kSigned16 = 0x10D8,
  kSigned32 = 0x10D9,
  kUnsigned8 = 0x10DA,
  kUnsigned16 = 0x10DB,
  kUnsigned32 = 0x10DC,
  kHalfFloat = 0x10DD,
  kFloat = 0x10DE,
};
struct ImageFormat {
  uint32_t order, type;
};
struct ImageDescription {
  uint32_t type;
  size_t width, height, depth, layers, row_pitch, slice_pitch;
  uint32_t num_mip_levels, num_samples;
  Memory *buffer;
};

// Every function of the loader that is used: the X-macro's lines are name, result, parameters.
#define OPD_OPENCL_FUNCTIONS(X)                                                                                        \
  X(clGetPlatformIDs, Status, (uint32_t, Platform **, uint32_t *))                                                     \
  X(clGetDeviceIDs, Status, (Platform *, uint64_t, uint32_t, Device **, uint32_t *))                                   \
  X(clGetDeviceInfo, Status, (Device *, uint32_t, size_t, void *, size_t *))                                           \
  X(clCreateContext, Context *,                                                                                        \
    (const intptr_t *, uint32_t, Device *const *, void (*)(const char *, const void *, size_t, void *), void *,        \
     Status *))                                                                                                        \
  X(clCreateCommandQueue, Queue *, (Context *, Device *, uint64_t, Status *))                                          \
  X(clReleaseCommandQueue, Status, (Queue *))                                                                          \
  X(clFlush, Status, (Queue *))                                                                                        \
  X(clFinish, Status, (Queue *))                                                                                       \
  X(clCreateBuffer, Memory *, (Context *, uint64_t, size_t, void *, Status *))                                         \
  X(clCreateSubBuffer, Memory *, (Memory *, uint64_t, uint32_t, const void *, Status *))                               \
  X(clCreateImage, Memory *, (Context *, uint64_t, const ImageFormat *, const ImageDescription *, void *, Status *))   \
  X(clReleaseMemObject, Status, (Memory *))                                                                            \
  X(clEnqueueReadBuffer, Status,                                                                                       \
    (Queue *, Memory *, uint32_t, size_t, size_t, void *, uint32_t, Event *const *, Event **))                         \
  X(clEnqueueWriteBuffer, Status,                                                                                      \
    (Queue *, Memory *, uint32_t, size_t, size_t, const void *, uint32_t, Event *const *, Event **))                   \
  X(clEnqueueCopyBuffer, Status,                                                                                       \
    (Queue *, Memory *, Memory *, size_t, size_t, size_t, uint32_t, Event *const *, Event **))                         \
  X(clEnqueueReadImage, Status,                                                                                        \
    (Queue *, Memory *, uint32_t, const size_t *, const size_t *, size_t, size_t, void *, uint32_t, Event *const *,    \
     Event **))                                                                                                        \
  X(clEnqueueWriteImage, Status,                                                                                       \
    (Queue *, Memory *, uint32_t, const size_t *, const size_t *, size_t, size_t, const void *, uint32_t,              \
     Event *const *, Event **))                                                                                        \
  X(clEnqueueCopyImage, Status,                                                                                        \
    (Queue *, Memory *, Memory *, const size_t *, const size_t *, const size_t *, uint32_t, Event *const *, Event **)) \
  X(clEnqueueCopyImageToBuffer, Status,                                                                                \
    (Queue *, Memory *, Memory *, const size_t *, const size_t *, size_t, uint32_t, Event *const *, Event **))         \
  X(clEnqueueCopyBufferToImage, Status,                                                                                \
    (Queue *, Memory *, Memory *, size_t, const size_t *, const size_t *, uint32_t, Event *const *, Event **))         \
  X(clCreateProgramWithSource, Program *, (Context *, uint32_t, const char **, const size_t *, Status *))              \
  X(clCreateProgramWithBinary, Program *,                                                                              \
    (Context *, uint32_t, Device *const *, const size_t *, const unsigned char *const *, Status *, Status *))          \
  X(clGetProgramInfo, Status, (Program *, uint32_t, size_t, void *, size_t *))                                         \
  X(clBuildProgram, Status, (Program *, uint32_t, Device *const *, const char *, void (*)(Program *, void *), void *)) \
  X(clGetProgramBuildInfo, Status, (Program *, Device *, uint32_t, size_t, void *, size_t *))                          \
  X(clReleaseProgram, Status, (Program *))                                                                             \
  X(clCreateKernel, Kernel *, (Program *, const char *, Status *))                                                     \
  X(clReleaseKernel, Status, (Kernel *))                                                                               \
  X(clSetKernelArg, Status, (Kernel *, uint32_t, size_t, const void *))                                                \
  X(clEnqueueNDRangeKernel, Status,                                                                                    \
    (Queue *, Kernel *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, Event *const *, Event **)) \
  X(clEnqueueMarkerWithWaitList, Status, (Queue *, uint32_t, Event *const *, Event **))                                \
  X(clWaitForEvents, Status, (uint32_t, Event *const *))                                                               \
  X(clGetEventProfilingInfo, Status, (Event *, uint32_t, size_t, void *, size_t *))                                    \
  X(clReleaseEvent, Status, (Event *))

// Those that older loaders lack; null there. Drivers that are older than the loader may crash in them.
#define OPD_OPENCL_NEW_FUNCTIONS(X) \
  X(clGetDeviceAndHostTimer, Status, (Device *, uint64_t *, uint64_t *)) /* of OpenCL 2.1 */

struct Api : Driver<Api> {
#define OPD_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  OPD_OPENCL_FUNCTIONS(OPD_DECLARE)
  OPD_OPENCL_NEW_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE

  void open();
  // Ends a reference to an object of the driver. A child of fork() leaves it: the driver's locks may be held there.
  template <class T>
  void release(Status (*function)(T *), T *object) const {
    if (object && !is_inherited()) function(object);
  }
};

std::string status_name(Status status);           // "CL_OUT_OF_RESOURCES (-5)"
void check(Status status, const char *function);  // throws; OPD_OUT_OF_MEMORY if that is what it says

}  // namespace opd::cl
