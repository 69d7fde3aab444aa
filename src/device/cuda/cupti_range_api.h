// CUPTI's range profiler: hardware counters over stretches of a device's work. It is part of CUPTI 12.6 and newer. It
// is declared here so that a build needs no header; a test compares it with NVIDIA's header. Each struct is passed with
// its size in the release that introduced it; later releases accept that. Source: NVIDIA, CUPTI, Range Profiling API.
#pragma once
#include <cstddef>
#include <cstdint>

#include "device/cuda/cupti_api.h"

namespace opd::cupti {

struct Host;    // CUpti_Profiler_Host_Object
struct Ranges;  // CUpti_RangeProfiler_Object

enum : uint32_t { kRangeProfiler = 0 };
enum : uint32_t { kUserRange = 2 };
enum : uint32_t { kUserReplay = 3 };

struct InitializeParams {
  size_t size = sizeof(InitializeParams);
  void *unused = nullptr;
};
struct ChipParams {
  size_t size = sizeof(ChipParams);
  void *unused = nullptr;
  size_t device = 0;
  const char *chip = nullptr;
};
struct HostParams {
  size_t size = offsetof(HostParams, host) + sizeof(Host *);
  void *unused = nullptr;
  uint32_t kind = kRangeProfiler;
  const char *chip = nullptr;
  const uint8_t *availability = nullptr;
  Host *host = nullptr;
};
struct HostEndParams {
  size_t size = sizeof(HostEndParams);
  void *unused = nullptr;
  Host *host = nullptr;
};
struct MetricsParams {
  size_t size = sizeof(MetricsParams);
  void *unused = nullptr;
  Host *host = nullptr;
  const char **metrics = nullptr;
  size_t count = 0;
};
struct ConfigSizeParams {
  size_t size = sizeof(ConfigSizeParams);
  void *unused = nullptr;
  Host *host = nullptr;
  size_t bytes = 0;
};
struct ConfigParams {
  size_t size = sizeof(ConfigParams);
  void *unused = nullptr;
  Host *host = nullptr;
  size_t bytes = 0;
  uint8_t *config = nullptr;
};
struct PassesParams {
  size_t size = sizeof(PassesParams);
  void *unused = nullptr;
  size_t bytes = 0;
  uint8_t *config = nullptr;
  size_t passes = 0;
};
struct ValuesParams {
  size_t size = sizeof(ValuesParams);
  void *unused = nullptr;
  Host *host = nullptr;
  const uint8_t *data = nullptr;
  size_t bytes = 0, range = 0;
  const char **metrics = nullptr;
  size_t count = 0;
  double *values = nullptr;
};
struct EnableParams {
  size_t size = sizeof(EnableParams);
  void *unused = nullptr;
  void *context = nullptr;
  Ranges *ranges = nullptr;
};
struct RangesParams {  // parameters of cuptiRangeProfilerDisable(), -Start(), -PopRange()
  size_t size = sizeof(RangesParams);
  void *unused = nullptr;
  Ranges *ranges = nullptr;
};
struct SetConfigParams {
  size_t size = offsetof(SetConfigParams, target_level) + sizeof(uint16_t);
  void *unused = nullptr;
  Ranges *ranges = nullptr;
  size_t config_bytes = 0;
  const uint8_t *config = nullptr;
  size_t data_bytes = 0;
  uint8_t *data = nullptr;
  uint32_t range = kUserRange, replay = kUserReplay;
  size_t most_ranges = 1;
  uint16_t levels = 1, least_level = 1;
  size_t pass = 0;
  uint16_t target_level = 1;
};
struct StopParams {
  size_t size = offsetof(StopParams, has_all) + sizeof(uint8_t);
  void *unused = nullptr;
  Ranges *ranges = nullptr;
  size_t pass = 0, target_level = 0;
  uint8_t has_all = 0;
};
struct PushParams {
  size_t size = sizeof(PushParams);
  void *unused = nullptr;
  Ranges *ranges = nullptr;
  const char *name = nullptr;
};
struct DecodeParams {
  size_t size = sizeof(DecodeParams);
  void *unused = nullptr;
  Ranges *ranges = nullptr;
  size_t dropped = 0;
};
struct DataSizeParams {
  size_t size = sizeof(DataSizeParams);
  void *unused = nullptr;
  Ranges *ranges = nullptr;
  const char **metrics = nullptr;
  size_t count = 0, most_ranges = 1;
  uint32_t most_nodes = 1;
  size_t bytes = 0;
};
struct DataParams {
  size_t size = sizeof(DataParams);
  void *unused = nullptr;
  Ranges *ranges = nullptr;
  size_t bytes = 0;
  uint8_t *data = nullptr;
};
struct DataInfoParams {
  size_t size = sizeof(DataInfoParams);
  void *unused = nullptr;
  const uint8_t *data = nullptr;
  size_t bytes = 0, ranges = 0;
};

// The X-macro's lines are name, parameter.
#define OPD_CUPTI_RANGE_FUNCTIONS(X)                          \
  X(cuptiProfilerInitialize, InitializeParams)                \
  X(cuptiDeviceGetChipName, ChipParams)                       \
  X(cuptiProfilerHostInitialize, HostParams)                  \
  X(cuptiProfilerHostDeinitialize, HostEndParams)             \
  X(cuptiProfilerHostConfigAddMetrics, MetricsParams)         \
  X(cuptiProfilerHostGetConfigImageSize, ConfigSizeParams)    \
  X(cuptiProfilerHostGetConfigImage, ConfigParams)            \
  X(cuptiProfilerHostGetNumOfPasses, PassesParams)            \
  X(cuptiProfilerHostEvaluateToGpuValues, ValuesParams)       \
  X(cuptiRangeProfilerEnable, EnableParams)                   \
  X(cuptiRangeProfilerDisable, RangesParams)                  \
  X(cuptiRangeProfilerSetConfig, SetConfigParams)             \
  X(cuptiRangeProfilerStart, RangesParams)                    \
  X(cuptiRangeProfilerStop, StopParams)                       \
  X(cuptiRangeProfilerPushRange, PushParams)                  \
  X(cuptiRangeProfilerPopRange, RangesParams)                 \
  X(cuptiRangeProfilerDecodeData, DecodeParams)               \
  X(cuptiRangeProfilerGetCounterDataSize, DataSizeParams)     \
  X(cuptiRangeProfilerCounterDataImageInitialize, DataParams) \
  X(cuptiRangeProfilerGetCounterDataInfo, DataInfoParams)

struct RangeApi : Driver<RangeApi> {
#define OPD_DECLARE(name, params) Status (*name)(params *) = nullptr;
  OPD_CUPTI_RANGE_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE

  void open();
};

}  // namespace opd::cupti
