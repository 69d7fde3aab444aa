// The library's own declarations of NVML against NVIDIA's header, where that is installed (tools/lib.sh).
#include "profiler/nvml.h"

#include <gtest/gtest.h>

#if __has_include(<nvml.h>)
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "unit/device/called_alike.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace opd::nvml {
namespace {

#define OPD_COMPARE(name, result, parameters) \
  static_assert(kCalledAlike<decltype(Api::name), decltype(&::name)>, #name);
OPD_NVML_FUNCTIONS(OPD_COMPARE)
#undef OPD_COMPARE

TEST(NvmlDeclarations, HaveTheNumbersOfNvidiasHeader) {
  EXPECT_EQ(+kSuccess, NVML_SUCCESS);
  EXPECT_EQ(+kNotSupported, NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(+kSmClock, static_cast<uint32_t>(NVML_CLOCK_SM));
  EXPECT_EQ(+kMemoryClock, static_cast<uint32_t>(NVML_CLOCK_MEM));
  EXPECT_EQ(+kGpuSensor, static_cast<uint32_t>(NVML_TEMPERATURE_GPU));
  EXPECT_EQ(sizeof(Utilization), sizeof(nvmlUtilization_t));
  EXPECT_EQ(offsetof(Utilization, memory), offsetof(nvmlUtilization_t, memory));
}

}  // namespace
}  // namespace opd::nvml
#else
TEST(NvmlDeclarations, HaveTheNumbersOfNvidiasHeader) { GTEST_SKIP() << "nvml.h is not installed"; }
#endif
