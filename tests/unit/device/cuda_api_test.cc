// The library's own declarations of CUDA's driver and compiler against NVIDIA's headers, where they are installed
// (cmake/cuda_headers.cmake finds them).
#include "device/cuda/cuda_api.h"

#include <gtest/gtest.h>

#include "device/cuda/cuda_compile.h"

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>
#endif

#if defined(CUDA_VERSION) && CUDA_VERSION >= 12040  // of cuFuncGetParamInfo
#include <cstring>

#include "unit/device/called_alike.h"

#ifdef cuEventElapsedTime  // by this name newer headers mean a newer function, which is called alike
#undef cuEventElapsedTime
extern "C" decltype(cuEventElapsedTime_v2) cuEventElapsedTime;
#endif

namespace opd::cuda {
namespace {

#define OPD_COMPARE(name, result, parameters) \
  static_assert(kCalledAlike<decltype(Api::name), decltype(&::name)>, #name);
OPD_CUDA_FUNCTIONS(OPD_COMPARE)
OPD_CUDA_NEW_FUNCTIONS(OPD_COMPARE)
#undef OPD_COMPARE
#define OPD_COMPARE(name, result, parameters) \
  static_assert(kCalledAlike<decltype(Nvrtc::name), decltype(&::name)>, #name);
OPD_NVRTC_FUNCTIONS(OPD_COMPARE)
#undef OPD_COMPARE

TEST(CudaDeclarations, HaveTheNumbersOfNvidiasHeader) {
  EXPECT_EQ(+kSuccess, CUDA_SUCCESS);
  EXPECT_EQ(+kInvalidValue, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(+kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(+kNotFound, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(+kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(+kMaxBlockX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  EXPECT_EQ(+kMaxBlockY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  EXPECT_EQ(+kMaxBlockZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  EXPECT_EQ(+kMaxSharedBytesPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  EXPECT_EQ(+kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  EXPECT_EQ(+kClockKhz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  EXPECT_EQ(+kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(+kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_EQ(+kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(+kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(+kOrderedMemory, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  EXPECT_EQ(+kNoTiming, static_cast<uint32_t>(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(+kMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(+kErrorLog, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(+kErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(+kNonBlocking, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(+kRelaxed, static_cast<uint32_t>(CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(+kPortable, static_cast<uint32_t>(CU_MEMHOSTALLOC_PORTABLE));
  EXPECT_EQ(+kCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(+kClusterSizes, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(+kProgrammatic, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
}

TEST(CudaDeclarations, HaveTheLayoutsOfNvidiasHeader) {
  EXPECT_EQ(sizeof(LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(LaunchConfig, grid), offsetof(CUlaunchConfig, gridDimX));
  EXPECT_EQ(offsetof(LaunchConfig, block), offsetof(CUlaunchConfig, blockDimX));
  EXPECT_EQ(offsetof(LaunchConfig, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(LaunchConfig, num_attributes), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  LaunchAttribute ours{};
  ours.value.sizes[0] = 1, ours.value.sizes[1] = 2, ours.value.sizes[2] = 3;
  CUlaunchAttributeValue theirs;
  static_assert(sizeof ours.value == sizeof theirs);
  std::memcpy(&theirs, &ours.value, sizeof theirs);
  EXPECT_EQ(theirs.clusterDim.x, 1u);
  EXPECT_EQ(theirs.clusterDim.y, 2u);
  EXPECT_EQ(theirs.clusterDim.z, 3u);
  ours.value.number = 7;
  std::memcpy(&theirs, &ours.value, sizeof theirs);
  EXPECT_EQ(theirs.cooperative, 7);
  EXPECT_EQ(theirs.programmaticStreamSerializationAllowed, 7);
}

}  // namespace
}  // namespace opd::cuda
#else
TEST(CudaDeclarations, HaveTheNumbersOfNvidiasHeader) {
  GTEST_SKIP() << "cuda.h and nvrtc.h of CUDA 12.4 or newer are not installed";
}
#endif
