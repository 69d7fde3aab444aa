// Declares the used part of NVML, NVIDIA's management library, so that building needs no header of it. A test compares
// it with NVIDIA's header. The library (libnvidia-ml.so.1) comes with NVIDIA's driver and is opened at the first use.
// Source: NVIDIA, NVML API Reference Guide.
#pragma once
#include <cstdint>
#include <string>

#include "device/driver.h"

namespace opd::nvml {

struct Device;  // nvmlDevice_t is a pointer to it
using Status = int32_t;

enum : Status { kSuccess = 0, kNotSupported = 3 };
enum Clock : uint32_t { kSmClock = 1, kMemoryClock = 2 };
enum Sensor : uint32_t { kGpuSensor = 0 };
struct Utilization {
  uint32_t gpu, memory;  // percent
};

// All used functions of NVML. The X-macro's arguments are name, result, parameters.
#define OPD_NVML_FUNCTIONS(X)                                                     \
  X(nvmlInit_v2, Status, ())                                                      \
  X(nvmlErrorString, const char *, (Status))                                      \
  X(nvmlDeviceGetCount_v2, Status, (uint32_t *))                                  \
  X(nvmlDeviceGetHandleByIndex_v2, Status, (uint32_t, Device **))                 \
  X(nvmlDeviceGetHandleByPciBusId_v2, Status, (const char *, Device **))          \
  X(nvmlDeviceGetIndex, Status, (Device *, uint32_t *))                           \
  X(nvmlDeviceGetPowerUsage, Status, (Device *, uint32_t *))            /* mW */  \
  X(nvmlDeviceGetTemperature, Status, (Device *, uint32_t, uint32_t *)) /* °C */ \
  X(nvmlDeviceGetClockInfo, Status, (Device *, uint32_t, uint32_t *))   /* MHz */ \
  X(nvmlDeviceGetUtilizationRates, Status, (Device *, Utilization *))             \
  X(nvmlDeviceGetTotalEnergyConsumption, Status, (Device *, unsigned long long *)) /* mJ since the driver was loaded */

struct Api : Driver<Api> {
#define OPD_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  OPD_NVML_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE

  void open();  // opens the library and initialises it

  std::string status_name(Status status) const;           // "Driver Not Loaded (9)"
  void check(Status status, const char *function) const;  // throws
};

}  // namespace opd::nvml
