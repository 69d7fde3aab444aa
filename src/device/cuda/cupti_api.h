// The part of CUPTI, NVIDIA's interface for profilers, that the library uses. It is declared here so that a build needs
// no header; a test compares it with NVIDIA's header. CUPTI is opened at the first use. Source: NVIDIA, CUPTI, also its
// Range Profiling API.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "device/driver.h"

namespace opd::cupti {

using Status = int32_t;
struct Record;   // CUpti_Activity
struct Context;  // CUcontext is a pointer to it

enum : Status { kSuccess = 0, kMaxLimitReached = 12 };  // the latter: no more records
enum Kind : uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kDriverCall = 4,
  kRuntimeCall = 5,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kPeerMemcpy = 22,
  kExternalCorrelation = 39
};
enum : uint32_t { kCustom0 = 3 };  // kind of external correlations
enum : uint32_t { kSystemThreadIds = 1 };

using Request = void (*)(uint8_t **buffer, size_t *size, size_t *most_records);
using Complete = void (*)(Context *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

// The functions of the library that are used. The X-macro's lines are name, result, parameters.
#define OPD_CUPTI_FUNCTIONS(X)                                                  \
  X(cuptiGetResultString, Status, (Status, const char **))                      \
  X(cuptiGetTimestamp, Status, (uint64_t *))                                    \
  X(cuptiSetThreadIdType, Status, (uint32_t))                                   \
  X(cuptiActivityRegisterCallbacks, Status, (Request, Complete))                \
  X(cuptiActivityEnable, Status, (uint32_t))                                    \
  X(cuptiActivityDisable, Status, (uint32_t))                                   \
  X(cuptiActivityFlushAll, Status, (uint32_t))                                  \
  X(cuptiActivityGetNextRecord, Status, (uint8_t *, size_t, Record **))         \
  X(cuptiActivityGetNumDroppedRecords, Status, (Context *, uint32_t, size_t *)) \
  X(cuptiActivityPushExternalCorrelationId, Status, (uint32_t, uint64_t))       \
  X(cuptiActivityPopExternalCorrelationId, Status, (uint32_t, uint64_t *))

struct Api : Driver<Api> {
#define OPD_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  OPD_CUPTI_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE

  void open();
  std::string status_name(Status status) const;           // "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"
  void check(Status status, const char *function) const;  // throws OPD_UNSUPPORTED
};

// ---- records of CUPTI's buffers
//
// A record states its kind but not its size, and the structures grow from release to release. The members that are read
// here have had the same offsets in all releases since CUDA 9. Reads are bounded by the record's end.

struct Activity {
  uint32_t kind = 0;
  uint64_t start = 0, end = 0;  // ns of CUPTI's clock; 0: not measured
  uint32_t correlation = 0;     // the same for a call and its work
  uint32_t device = 0, stream = 0;
  uint64_t bytes = 0;          // size of a copy or fill
  uint32_t detail = 0;         // copy: CUpti_ActivityMemcpyKind; overhead: its kind
  uint32_t thread = 0;         // calling thread of a call; thread of overhead, if it has one
  uint64_t external = 0;       // external correlation: the pushed number
  const char *name = nullptr;  // kernel: CUPTI's string, valid until the process exits
};

// Returns nullopt if the kind is unknown, or the record is shorter than in every release.
std::optional<Activity> read_activity(std::span<const uint8_t> record);

// Calls visit(Activity) for each known record. `next`: CUPTI's function that steps from record to record. Returns the
// number of skipped records. If the rest cannot be stepped over, it counts as one.
template <class Next, class Visit>
size_t each_activity(std::span<uint8_t> buffer, const Next &next, const Visit &visit) {
  Record *record = nullptr;
  const auto step = [&] { return next(buffer.data(), buffer.size(), &record); };
  const auto place_of = [&] {
    return static_cast<size_t>(reinterpret_cast<uintptr_t>(record) - reinterpret_cast<uintptr_t>(buffer.data()));
  };
  size_t skipped = 0, at = 0;
  Status status = step();
  while (status == kSuccess) {
    if (place_of() != at || at >= buffer.size()) return skipped + 1;
    status = step();
    const size_t end = status == kSuccess ? place_of() : buffer.size();
    if (end <= at || end > buffer.size()) return skipped + 1;
    if (const std::optional<Activity> activity = read_activity(buffer.subspan(at, end - at))) visit(*activity);
    else ++skipped;
    at = end;
  }
  return status == kMaxLimitReached ? skipped : skipped + 1;
}

// ---- the range profiler: hardware counters over stretches of a device's work, since CUPTI 12.6

struct Host;    // CUpti_Profiler_Host_Object
struct Ranges;  // CUpti_RangeProfiler_Object

enum : uint32_t { kRangeProfiler = 0 };
enum : uint32_t { kUserRange = 2 };
enum : uint32_t { kUserReplay = 3 };

// All structs begin with these members. The size is that of the struct in the release that introduced it. Later
// releases accept that size.
template <class T>
struct Params {
  size_t size = sizeof(T);
  void *unused = nullptr;
};
struct InitializeParams : Params<InitializeParams> {};
struct ChipParams : Params<ChipParams> {
  size_t device = 0;
  const char *chip = nullptr;
};
struct HostParams : Params<HostParams> {
  HostParams() { size = offsetof(HostParams, host) + sizeof(Host *); }
  uint32_t kind = kRangeProfiler;
  const char *chip = nullptr;
  const uint8_t *availability = nullptr;
  Host *host = nullptr;
};
struct HostEndParams : Params<HostEndParams> {
  Host *host = nullptr;
};
struct MetricsParams : Params<MetricsParams> {
  Host *host = nullptr;
  const char **metrics = nullptr;
  size_t count = 0;
};
struct ConfigSizeParams : Params<ConfigSizeParams> {
  Host *host = nullptr;
  size_t bytes = 0;
};
struct ConfigParams : Params<ConfigParams> {
  Host *host = nullptr;
  size_t bytes = 0;
  uint8_t *config = nullptr;
};
struct PassesParams : Params<PassesParams> {
  size_t bytes = 0;
  uint8_t *config = nullptr;
  size_t passes = 0;
};
struct ValuesParams : Params<ValuesParams> {
  Host *host = nullptr;
  const uint8_t *data = nullptr;
  size_t bytes = 0, range = 0;
  const char **metrics = nullptr;
  size_t count = 0;
  double *values = nullptr;
};
struct EnableParams : Params<EnableParams> {
  void *context = nullptr;
  Ranges *ranges = nullptr;
};
struct RangesParams : Params<RangesParams> {  // parameters of cuptiRangeProfilerDisable(), -Start(), -PopRange()
  Ranges *ranges = nullptr;
};
struct SetConfigParams : Params<SetConfigParams> {
  SetConfigParams() { size = offsetof(SetConfigParams, target_level) + sizeof(uint16_t); }
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
struct StopParams : Params<StopParams> {
  StopParams() { size = offsetof(StopParams, has_all) + sizeof(uint8_t); }
  Ranges *ranges = nullptr;
  size_t pass = 0, target_level = 0;
  uint8_t has_all = 0;
};
struct PushParams : Params<PushParams> {
  Ranges *ranges = nullptr;
  const char *name = nullptr;
};
struct DecodeParams : Params<DecodeParams> {
  Ranges *ranges = nullptr;
  size_t dropped = 0;
};
struct DataSizeParams : Params<DataSizeParams> {
  Ranges *ranges = nullptr;
  const char **metrics = nullptr;
  size_t count = 0, most_ranges = 1;
  uint32_t most_nodes = 1;
  size_t bytes = 0;
};
struct DataParams : Params<DataParams> {
  Ranges *ranges = nullptr;
  size_t bytes = 0;
  uint8_t *data = nullptr;
};
struct DataInfoParams : Params<DataInfoParams> {
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
