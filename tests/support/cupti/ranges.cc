// CUPTI's range profiler with counts of the test's, compiled against NVIDIA's headers. It has the metrics first.sum and
// second.sum; the latter is ten times the former. Calls in an order that CUPTI does not allow are refused.
#include "support/cupti/ranges.h"

#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct CUpti_Profiler_Host_Object {
  std::vector<std::string> metrics;
};
struct CUpti_RangeProfiler_Object {
  bool is_configured, is_started, is_pushed;
};

namespace {

constexpr size_t kConfigBytes = 24, kDataBytes = 40;
constexpr char kConfigMark[] = "a config", kDataMark[] = "counter data";

struct Ranges final : CuptiRanges {
  std::mutex guard;
  std::string log;
  std::string failing;
  size_t hosts = 0, objects = 0;
  bool counts = false, drops = false;
  uint64_t count = 0;  // in the range

  void add(uint64_t more) override {
    const std::scoped_lock lock(guard);
    if (counts) count += more;
  }
  std::string calls() override {
    const std::scoped_lock lock(guard);
    return std::exchange(log, "");
  }
  void fail(const std::string &function) override { failing = function; }
  void drop_ranges(bool whether) override { drops = whether; }
  size_t num_alive() override { return hosts + objects; }

  bool begins(const char *function, bool is_good) {
    log += std::string(function) + "\n";
    return is_good && failing != function;
  }
};
Ranges &ranges() {
  static auto *made = new Ranges;
  return *made;
}
bool is_known(const char *metric) {
  return !std::strcmp(metric, "first.sum") || !std::strcmp(metric, "second.sum") || !std::strcmp(metric, "costly.sum");
}

}  // namespace

EXPORT CuptiRanges *cupti_ranges() { return &ranges(); }

// `p`: the parameters; the function fails unless they have NVIDIA's size and the condition holds.
#define FUNCTION(name, Type, last, condition)                                                                  \
  EXPORT CUptiResult CUPTIAPI name(Type *p) {                                                                  \
    const std::scoped_lock lock(ranges().guard);                                                               \
    if (!ranges().begins(&#name[5],                                                                            \
                         p->structSize == CUPTI_PROFILER_STRUCT_SIZE(Type, last) && !p->pPriv && (condition))) \
      return ranges().failing == &#name[5] ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : CUPTI_ERROR_INVALID_PARAMETER;
#define END             \
  return CUPTI_SUCCESS; \
  }

FUNCTION(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params, pPriv, true)
END

    FUNCTION(cuptiDeviceGetChipName, CUpti_Device_GetChipName_Params, pChipName,
             p->deviceIndex < 2) p->pChipName = p->deviceIndex ? "GA100" : "GH100";
END FUNCTION(cuptiProfilerHostInitialize, CUpti_Profiler_Host_Initialize_Params, pHostObject,
             p->profilerType == CUPTI_PROFILER_TYPE_RANGE_PROFILER &&
                 !std::strncmp(p->pChipName, "G", 1)) p->pHostObject = new CUpti_Profiler_Host_Object;
++ranges().hosts;
END FUNCTION(cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params, pHostObject,
             p->pHostObject) delete p->pHostObject;
--ranges().hosts;
END FUNCTION(cuptiProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics,
             p->pHostObject) for (size_t i = 0; i < p->numMetrics; ++i) {
  if (!is_known(p->ppMetricNames[i])) return CUPTI_ERROR_INVALID_METRIC_NAME;
  p->pHostObject->metrics.emplace_back(p->ppMetricNames[i]);
}
END FUNCTION(cuptiProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize,
             p->pHostObject) p->configImageSize = kConfigBytes;
END FUNCTION(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage,
             p->configImageSize == kConfigBytes) std::memcpy(p->pConfigImage, kConfigMark, sizeof kConfigMark);
p->pConfigImage[kConfigBytes - 1] = p->pHostObject->metrics[0] == "costly.sum" ? 3 : 1;
END FUNCTION(cuptiProfilerHostGetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses,
             p->configImageSize == kConfigBytes &&
                 !std::memcmp(p->pConfigImage, kConfigMark,
                              sizeof kConfigMark)) p->numOfPasses = p->pConfigImage[kConfigBytes - 1];
END FUNCTION(cuptiRangeProfilerEnable, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject,
             p->ctx) p->pRangeProfilerObject = new CUpti_RangeProfiler_Object{};
++ranges().objects;
END FUNCTION(cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject,
             p->pRangeProfilerObject) delete p->pRangeProfilerObject;
--ranges().objects;
END FUNCTION(cuptiRangeProfilerGetCounterDataSize, CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize,
             p->maxNumOfRanges == 1 && p->maxNumRangeTreeNodes >= 1 && p->numMetrics > 0 &&
                 is_known(p->pMetricNames[0])) p->counterDataSize = kDataBytes;
END FUNCTION(cuptiRangeProfilerCounterDataImageInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
             pCounterData, p->counterDataSize == kDataBytes) std::memset(p->pCounterData, 0, kDataBytes);
std::memcpy(p->pCounterData, kDataMark, sizeof kDataMark);
END FUNCTION(cuptiRangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel,
             p->configSize == kConfigBytes && p->counterDataImageSize == kDataBytes && p->range == CUPTI_UserRange &&
                 p->replayMode == CUPTI_UserReplay && p->maxRangesPerPass == 1 && p->numNestingLevels == 1 &&
                 p->minNestingLevel == 1 && p->passIndex == 0 && p->targetNestingLevel == 1 &&
                 !std::memcmp(p->pConfig, kConfigMark, sizeof kConfigMark) &&
                 !std::memcmp(p->pCounterDataImage, kDataMark,
                              sizeof kDataMark)) p->pRangeProfilerObject->is_configured = true;
ranges().data = p->pCounterDataImage;
END FUNCTION(cuptiRangeProfilerStart, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject,
             p->pRangeProfilerObject->is_configured &&
                 !p->pRangeProfilerObject->is_started) p->pRangeProfilerObject->is_started = true;
END FUNCTION(cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange_Params, pRangeName,
             p->pRangeProfilerObject->is_started && !p->pRangeProfilerObject->is_pushed &&
                 *p->pRangeName) p->pRangeProfilerObject->is_pushed = ranges().counts = true;
ranges().count = 0;
END FUNCTION(cuptiRangeProfilerPopRange, CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject,
             p->pRangeProfilerObject->is_pushed) p->pRangeProfilerObject->is_pushed = ranges().counts = false;
END FUNCTION(cuptiRangeProfilerStop, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted,
             p->pRangeProfilerObject->is_started &&
                 !p->pRangeProfilerObject->is_pushed) p->pRangeProfilerObject->is_started = false;
p->isAllPassSubmitted = 1;
END
    // Without kernels there is no range.
    FUNCTION(cuptiRangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped,
             !p->pRangeProfilerObject->is_started) p->numOfRangeDropped = ranges().drops;
std::memcpy(ranges().data + kDataBytes - sizeof(uint64_t), &ranges().count, sizeof(uint64_t));
END FUNCTION(cuptiRangeProfilerGetCounterDataInfo, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges,
             p->counterDataImageSize == kDataBytes) uint64_t count = 0;
std::memcpy(&count, p->pCounterDataImage + kDataBytes - sizeof count, sizeof count);
p->numTotalRanges = count != 0;
END FUNCTION(cuptiProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues,
             p->counterDataImageSize == kDataBytes && p->rangeIndex == 0) uint64_t count = 0;
std::memcpy(&count, p->pCounterDataImage + kDataBytes - sizeof count, sizeof count);
for (size_t i = 0; i < p->numMetrics; ++i)
  p->pMetricValues[i] = static_cast<double>(count) * (std::strcmp(p->ppMetricNames[i], "first.sum") ? 10 : 1);
END
