// The part of CUDA's driver API that the library uses. It is declared here so that a build needs no header; a test
// compares it with NVIDIA's header. The driver (libcuda.so.1) is opened at the first use of a CUDA device.
// Source: NVIDIA, CUDA Driver API.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/driver.h"

namespace opd::cuda {

struct Context;  // CUcontext is a pointer to it; the other handles are alike
struct Stream;
struct Module;
struct Function;
struct Event;
struct Graph;
struct GraphExec;
using Device = int32_t;
using Address = uint64_t;
using Status = int32_t;

enum : Status {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotFound = 500,
};

enum DeviceAttribute : uint32_t {
  kMaxThreadsPerBlock = 1,
  kMaxBlockX = 2,
  kMaxBlockY = 3,
  kMaxBlockZ = 4,
  kMaxSharedBytesPerBlock = 8,
  kWarpSize = 10,
  kClockKhz = 13,
  kMultiprocessorCount = 16,
  kL2Bytes = 38,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kOrderedMemory = 115,
};

enum : uint32_t { kMaxDynamicSharedBytes = 8 };         // function attribute
enum : uint32_t { kErrorLog = 5, kErrorLogBytes = 6 };  // options for loading a module
enum : uint32_t { kNonBlocking = 1 };                   // stream flag: does not wait for the default stream
enum : uint32_t { kNoTiming = 2 };                      // event flag: has no time
enum : uint32_t { kRelaxed = 2 };                       // capture mode: refuses no call in advance
enum : uint32_t { kPortable = 1 };                      // host memory flag: valid in all contexts
enum : uint32_t { kCooperative = 2, kClusterSizes = 4, kProgrammatic = 6 };  // launch attributes

struct LaunchAttribute {
  uint32_t id;
  char pad[4];
  union {
    char bytes[64];
    int32_t number;
    uint32_t sizes[3];
  } value;
};
struct LaunchConfig {
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  Stream *stream;
  LaunchAttribute *attributes;
  uint32_t num_attributes;
};

// The functions of the driver that the library uses, by symbol. The X-macro's lines are name, result, parameters.
#define OPD_CUDA_FUNCTIONS(X)                                                              \
  X(cuInit, Status, (uint32_t))                                                            \
  X(cuDriverGetVersion, Status, (int *))                                                   \
  X(cuGetErrorName, Status, (Status, const char **))                                       \
  X(cuGetErrorString, Status, (Status, const char **))                                     \
  X(cuDeviceGetCount, Status, (int *))                                                     \
  X(cuDeviceGet, Status, (Device *, int))                                                  \
  X(cuDeviceGetName, Status, (char *, int, Device))                                        \
  X(cuDeviceTotalMem_v2, Status, (size_t *, Device))                                       \
  X(cuDeviceGetAttribute, Status, (int *, uint32_t, Device))                               \
  X(cuDevicePrimaryCtxRetain, Status, (Context **, Device))                                \
  X(cuCtxGetCurrent, Status, (Context **))                                                 \
  X(cuCtxPushCurrent_v2, Status, (Context *))                                              \
  X(cuCtxPopCurrent_v2, Status, (Context **))                                              \
  X(cuCtxSynchronize, Status, ())                                                          \
  X(cuMemGetInfo_v2, Status, (size_t *, size_t *))                                         \
  X(cuMemAlloc_v2, Status, (Address *, size_t))                                            \
  X(cuMemFree_v2, Status, (Address))                                                       \
  X(cuMemHostAlloc, Status, (void **, size_t, uint32_t))                                   \
  X(cuMemFreeHost, Status, (void *))                                                       \
  X(cuMemcpyHtoDAsync_v2, Status, (Address, const void *, size_t, Stream *))               \
  X(cuMemcpyDtoHAsync_v2, Status, (void *, Address, size_t, Stream *))                     \
  X(cuMemcpyDtoDAsync_v2, Status, (Address, Address, size_t, Stream *))                    \
  X(cuMemcpyPeerAsync, Status, (Address, Context *, Address, Context *, size_t, Stream *)) \
  X(cuStreamCreate, Status, (Stream **, uint32_t))                                         \
  X(cuStreamDestroy_v2, Status, (Stream *))                                                \
  X(cuStreamSynchronize, Status, (Stream *))                                               \
  X(cuStreamWaitEvent, Status, (Stream *, Event *, uint32_t))                              \
  X(cuEventCreate, Status, (Event **, uint32_t))                                           \
  X(cuEventDestroy_v2, Status, (Event *))                                                  \
  X(cuEventRecord, Status, (Event *, Stream *))                                            \
  X(cuEventSynchronize, Status, (Event *))                                                 \
  X(cuEventElapsedTime, Status, (float *, Event *, Event *))                               \
  X(cuModuleLoadDataEx, Status, (Module **, const void *, uint32_t, uint32_t *, void **))  \
  X(cuModuleUnload, Status, (Module *))                                                    \
  X(cuModuleGetFunction, Status, (Function **, Module *, const char *))                    \
  X(cuFuncGetAttribute, Status, (int *, uint32_t, Function *))                             \
  X(cuFuncSetAttribute, Status, (Function *, uint32_t, int))                               \
  X(cuLaunchKernel, Status,                                                                \
    (Function *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, Stream *, void **, void **))

// Functions that older drivers lack. They are null there.
#define OPD_CUDA_NEW_FUNCTIONS(X)                                                                           \
  X(cuDeviceGetPCIBusId, Status, (char *, int, Device))                               /* since CUDA 4.1 */  \
  X(cuMemAllocAsync, Status, (Address *, size_t, Stream *))                           /* since CUDA 11.2 */ \
  X(cuMemFreeAsync, Status, (Address, Stream *))                                      /* since CUDA 11.2 */ \
  X(cuStreamBeginCapture_v2, Status, (Stream *, uint32_t))                            /* since CUDA 10.1 */ \
  X(cuStreamEndCapture, Status, (Stream *, Graph **))                                 /* since CUDA 10.0 */ \
  X(cuGraphInstantiateWithFlags, Status, (GraphExec **, Graph *, unsigned long long)) /* since CUDA 11.4 */ \
  X(cuGraphLaunch, Status, (GraphExec *, Stream *))                                   /* since CUDA 10.0 */ \
  X(cuGraphDestroy, Status, (Graph *))                                                /* since CUDA 10.0 */ \
  X(cuGraphExecDestroy, Status, (GraphExec *))                                        /* since CUDA 10.0 */ \
  X(cuLaunchKernelEx, Status, (const LaunchConfig *, Function *, void **, void **))   /* since CUDA 11.8 */ \
  X(cuFuncGetParamInfo, Status, (Function *, size_t, size_t *, size_t *))             /* since CUDA 12.4 */

struct Api : Driver<Api> {
#define OPD_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  OPD_CUDA_FUNCTIONS(OPD_DECLARE)
  OPD_CUDA_NEW_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE
  int32_t version = 0;  // CUDA version of the driver, such as 12020 for 12.2

  void open();  // opens and starts the driver

  std::string status_name(Status status) const;           // "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device …"
  void check(Status status, const char *function) const;  // throws; OPD_OUT_OF_MEMORY if the status means that
};

// Directories of CUDA toolkits, in addition to those that the loader searches: from CUDA_HOME, CUDA_PATH, and
// /usr/local/cuda.
std::vector<std::string> toolkits();
// Opens a library that the loader finds, or that lies in one of these folders of a toolkit, such as "/lib64/". Null if
// there is none.
void *open_of_toolkits(const std::string &name, std::initializer_list<const char *> folders);

}  // namespace opd::cuda
