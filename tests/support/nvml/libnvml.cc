// NVML with two GPUs whose values a test sets (support/nvml/values.h), compiled against NVIDIA's header: so its
// functions are called as NVML's are.
#include <nvml.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "support/nvml/values.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

NvmlValues values;

// A handle is the number of the GPU plus 1.
nvmlDevice_t handle_of(unsigned gpu) { return reinterpret_cast<nvmlDevice_t>(uintptr_t{gpu} + 1); }
NvmlValues::Gpu *gpu_of(nvmlDevice_t device) {
  const auto number = reinterpret_cast<uintptr_t>(device);
  return number >= 1 && number <= NvmlValues::kGpus ? &values.gpus[number - 1] : nullptr;
}
template <class T, class U>
nvmlReturn_t give(nvmlDevice_t device, std::atomic<T> NvmlValues::Gpu::*member, U *out) {
  NvmlValues::Gpu *const gpu = gpu_of(device);
  if (!gpu || !out) return NVML_ERROR_INVALID_ARGUMENT;
  ++values.readings;
  if (const int status = values.failure.load()) return static_cast<nvmlReturn_t>(status);
  if ((gpu->*member).load() == NvmlValues::kNotSupported) return NVML_ERROR_NOT_SUPPORTED;
  *out = static_cast<U>((gpu->*member).load());
  return NVML_SUCCESS;
}

}  // namespace

EXPORT NvmlValues *nvml_values() { return &values; }

EXPORT nvmlReturn_t nvmlInit_v2() {
  return std::getenv("NVML_WITHOUT_DRIVER") ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_SUCCESS;
}
EXPORT const char *nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}
EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
  *count = std::getenv("NVML_WITHOUT_GPU") ? 0 : NvmlValues::kGpus;
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
  if (index >= NvmlValues::kGpus) return NVML_ERROR_INVALID_ARGUMENT;
  *device = handle_of(index);
  return NVML_SUCCESS;
}
// In the order of their places, which is the opposite of that of the recording CUDA driver.
EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *place, nvmlDevice_t *device) {
  static const char *const places[NvmlValues::kGpus] = {"0000:3f:00.0", "0000:40:00.0"};
  for (unsigned i = 0; i < NvmlValues::kGpus; ++i)
    if (!std::strcmp(place, places[i])) return *device = handle_of(i), NVML_SUCCESS;
  return NVML_ERROR_NOT_FOUND;
}
EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index) {
  *index = static_cast<unsigned>(reinterpret_cast<uintptr_t>(device) - 1);
  return gpu_of(device) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power) {
  return give(device, &NvmlValues::Gpu::power_mw, power);
}
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *temp) {
  return sensor == NVML_TEMPERATURE_GPU ? give(device, &NvmlValues::Gpu::degrees, temp) : NVML_ERROR_INVALID_ARGUMENT;
}
EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock) {
  if (type != NVML_CLOCK_SM && type != NVML_CLOCK_MEM) return NVML_ERROR_INVALID_ARGUMENT;
  return give(device, type == NVML_CLOCK_SM ? &NvmlValues::Gpu::sm_mhz : &NvmlValues::Gpu::memory_mhz, clock);
}
EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization) {
  const nvmlReturn_t status = give(device, &NvmlValues::Gpu::percent, &utilization->gpu);
  return status ? status : give(device, &NvmlValues::Gpu::memory_percent, &utilization->memory);
}
EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy) {
  return give(device, &NvmlValues::Gpu::energy_mj, energy);
}
