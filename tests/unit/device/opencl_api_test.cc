// The library's own declarations of OpenCL against Khronos's header, where that is installed (opencl-c-headers).
#include "device/opencl/opencl_api.h"

#include <gtest/gtest.h>

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue
#include <CL/cl.h>

#include "unit/device/called_alike.h"

namespace opd::cl {
namespace {

#define OPD_COMPARE(name, result, parameters) \
  static_assert(kCalledAlike<decltype(Api::name), decltype(&::name)>, #name);
OPD_OPENCL_FUNCTIONS(OPD_COMPARE)
OPD_OPENCL_NEW_FUNCTIONS(OPD_COMPARE)
#undef OPD_COMPARE

TEST(OpenClDeclarations, HaveTheNumbersOfKhronossHeader) {
  EXPECT_EQ(+kSuccess, CL_SUCCESS);
  EXPECT_EQ(+kMemoryAllocationFailure, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(+kOutOfResources, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(+kOutOfHostMemory, CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(+kImageFormatNotSupported, CL_IMAGE_FORMAT_NOT_SUPPORTED);
  EXPECT_EQ(+kInvalidKernelName, CL_INVALID_KERNEL_NAME);
  EXPECT_EQ(+kCpu, static_cast<uint64_t>(CL_DEVICE_TYPE_CPU));
  EXPECT_EQ(+kGpu, static_cast<uint64_t>(CL_DEVICE_TYPE_GPU));
  EXPECT_EQ(+kAccelerator, static_cast<uint64_t>(CL_DEVICE_TYPE_ACCELERATOR));
  EXPECT_EQ(+kMaxComputeUnits, static_cast<uint32_t>(CL_DEVICE_MAX_COMPUTE_UNITS));
  EXPECT_EQ(+kMaxWorkGroupSize, static_cast<uint32_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE));
  EXPECT_EQ(+kMaxWorkItemSizes, static_cast<uint32_t>(CL_DEVICE_MAX_WORK_ITEM_SIZES));
  EXPECT_EQ(+kMaxClockMhz, static_cast<uint32_t>(CL_DEVICE_MAX_CLOCK_FREQUENCY));
  EXPECT_EQ(+kImageMaxWidth, static_cast<uint32_t>(CL_DEVICE_IMAGE2D_MAX_WIDTH));
  EXPECT_EQ(+kImageMaxHeight, static_cast<uint32_t>(CL_DEVICE_IMAGE2D_MAX_HEIGHT));
  EXPECT_EQ(+kImageMaxLayers, static_cast<uint32_t>(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE));
  EXPECT_EQ(+kHasImages, static_cast<uint32_t>(CL_DEVICE_IMAGE_SUPPORT));
  EXPECT_EQ(+kMemoryAlignBits, static_cast<uint32_t>(CL_DEVICE_MEM_BASE_ADDR_ALIGN));
  EXPECT_EQ(+kGlobalCacheBytes, static_cast<uint32_t>(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE));
  EXPECT_EQ(+kGlobalBytes, static_cast<uint32_t>(CL_DEVICE_GLOBAL_MEM_SIZE));
  EXPECT_EQ(+kLocalBytes, static_cast<uint32_t>(CL_DEVICE_LOCAL_MEM_SIZE));
  EXPECT_EQ(+kTimerResolution, static_cast<uint32_t>(CL_DEVICE_PROFILING_TIMER_RESOLUTION));
  EXPECT_EQ(+kName, static_cast<uint32_t>(CL_DEVICE_NAME));
  EXPECT_EQ(+kDriverVersion, static_cast<uint32_t>(CL_DRIVER_VERSION));
  EXPECT_EQ(+kVersion, static_cast<uint32_t>(CL_DEVICE_VERSION));
  EXPECT_EQ(+kBuildLog, static_cast<uint32_t>(CL_PROGRAM_BUILD_LOG));
  EXPECT_EQ(+kRegion, static_cast<uint32_t>(CL_BUFFER_CREATE_TYPE_REGION));
  EXPECT_EQ(+kReadWrite, static_cast<uint64_t>(CL_MEM_READ_WRITE));
  EXPECT_EQ(sizeof(Region), sizeof(cl_buffer_region));
}

TEST(OpenClDeclarations, OfImagesAreThoseOfKhronossHeader) {
  EXPECT_EQ(+kRgba, static_cast<uint32_t>(CL_RGBA));
  EXPECT_EQ(+kLayeredImage, static_cast<uint32_t>(CL_MEM_OBJECT_IMAGE2D_ARRAY));
  EXPECT_EQ(+kSigned8, static_cast<uint32_t>(CL_SIGNED_INT8));
  EXPECT_EQ(+kSigned16, static_cast<uint32_t>(CL_SIGNED_INT16));
  EXPECT_EQ(+kSigned32, static_cast<uint32_t>(CL_SIGNED_INT32));
  EXPECT_EQ(+kUnsigned8, static_cast<uint32_t>(CL_UNSIGNED_INT8));
  EXPECT_EQ(+kUnsigned16, static_cast<uint32_t>(CL_UNSIGNED_INT16));
  EXPECT_EQ(+kUnsigned32, static_cast<uint32_t>(CL_UNSIGNED_INT32));
  EXPECT_EQ(+kHalfFloat, static_cast<uint32_t>(CL_HALF_FLOAT));
  EXPECT_EQ(+kFloat, static_cast<uint32_t>(CL_FLOAT));
  EXPECT_EQ(sizeof(ImageFormat), sizeof(cl_image_format));
  EXPECT_EQ(offsetof(ImageFormat, type), offsetof(cl_image_format, image_channel_data_type));
  EXPECT_EQ(sizeof(ImageDescription), sizeof(cl_image_desc));
  EXPECT_EQ(offsetof(ImageDescription, height), offsetof(cl_image_desc, image_height));
  EXPECT_EQ(offsetof(ImageDescription, layers), offsetof(cl_image_desc, image_array_size));
  EXPECT_EQ(offsetof(ImageDescription, row_pitch), offsetof(cl_image_desc, image_row_pitch));
  EXPECT_EQ(offsetof(ImageDescription, num_mip_levels), offsetof(cl_image_desc, num_mip_levels));
  EXPECT_EQ(offsetof(ImageDescription, buffer), offsetof(cl_image_desc, mem_object));
}

TEST(OpenClErrors, HaveTheNamesOfTheSpecification) {
  EXPECT_EQ(status_name(CL_BUILD_PROGRAM_FAILURE), "CL_BUILD_PROGRAM_FAILURE (-11)");
  EXPECT_EQ(status_name(CL_INVALID_WORK_GROUP_SIZE), "CL_INVALID_WORK_GROUP_SIZE (-54)");
  EXPECT_EQ(status_name(CL_MISALIGNED_SUB_BUFFER_OFFSET), "CL_MISALIGNED_SUB_BUFFER_OFFSET (-13)");
  EXPECT_EQ(status_name(-9999), "error -9999");
}

}  // namespace
}  // namespace opd::cl
#else
TEST(OpenClDeclarations, HaveTheNumbersOfKhronossHeader) { GTEST_SKIP() << "CL/cl.h is not installed"; }
#endif
