// CUPTI: the library's own declarations against NVIDIA's header, and records of every release that the header knows.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "device/cuda/cupti_api.h"

#if __has_include(<cupti.h>) && __has_include(<crt/host_defines.h>)
#include <cupti.h>
#endif

#if defined(CUPTI_API_VERSION) && CUPTI_API_VERSION >= 130500  // older ones lack records that are read here
#include <cupti_activity_deprecated.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "unit/device/called_alike.h"

namespace opd::cupti {
namespace {

#define OPD_COMPARE(name, result, parameters) \
  static_assert(kCalledAlike<decltype(Api::name), decltype(&::name)>, #name);
OPD_CUPTI_FUNCTIONS(OPD_COMPARE)
#undef OPD_COMPARE
static_assert(kCalledAlike<Request, CUpti_BuffersCallbackRequestFunc>);
static_assert(kCalledAlike<Complete, CUpti_BuffersCallbackCompleteFunc>);

#define OPD_COMPARE(name, params) static_assert(kCalledAlike<decltype(RangeApi::name), decltype(&::name)>, #name);
OPD_CUPTI_RANGE_FUNCTIONS(OPD_COMPARE)
#undef OPD_COMPARE

// The struct of a function of the range profiler: the last member that the library knows ends it, which is a size that
// NVIDIA's library takes, and the others have their places.
#define SAME_END(own, last, nvidias, nvidias_last)                                               \
  static_assert(offsetof(own, last) == offsetof(nvidias, nvidias_last) &&                        \
                sizeof(own::last) == sizeof(nvidias::nvidias_last) && offsetof(own, size) == 0); \
  EXPECT_EQ(own().size, CUPTI_PROFILER_STRUCT_SIZE(nvidias, nvidias_last))
#define SAME_PLACE(own, member, nvidias, nvidias_member)                      \
  static_assert(offsetof(own, member) == offsetof(nvidias, nvidias_member) && \
                sizeof(own::member) == sizeof(nvidias::nvidias_member))

TEST(CuptiDeclarations, HaveTheLayoutsOfNvidiasHeaders) {
  SAME_END(InitializeParams, unused, CUpti_Profiler_Initialize_Params, pPriv);
  SAME_END(ChipParams, chip, CUpti_Device_GetChipName_Params, pChipName);
  SAME_PLACE(ChipParams, device, CUpti_Device_GetChipName_Params, deviceIndex);
  SAME_END(HostParams, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
  SAME_PLACE(HostParams, kind, CUpti_Profiler_Host_Initialize_Params, profilerType);
  SAME_PLACE(HostParams, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
  SAME_PLACE(HostParams, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
  SAME_END(HostEndParams, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
  SAME_END(MetricsParams, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
  SAME_PLACE(MetricsParams, metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
  SAME_END(ConfigSizeParams, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
  SAME_END(ConfigParams, config, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
  SAME_PLACE(ConfigParams, bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
  SAME_END(PassesParams, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
  SAME_PLACE(PassesParams, config, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
  SAME_END(ValuesParams, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
  SAME_PLACE(ValuesParams, data, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
  SAME_PLACE(ValuesParams, bytes, CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize);
  SAME_PLACE(ValuesParams, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
  SAME_PLACE(ValuesParams, metrics, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
  SAME_PLACE(ValuesParams, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
  SAME_END(EnableParams, ranges, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
  SAME_PLACE(EnableParams, context, CUpti_RangeProfiler_Enable_Params, ctx);
  SAME_END(RangesParams, ranges, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject);
  SAME_END(RangesParams, ranges, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);
  SAME_END(RangesParams, ranges, CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject);
  SAME_END(SetConfigParams, target_level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
  SAME_PLACE(SetConfigParams, ranges, CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject);
  SAME_PLACE(SetConfigParams, config_bytes, CUpti_RangeProfiler_SetConfig_Params, configSize);
  SAME_PLACE(SetConfigParams, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
  SAME_PLACE(SetConfigParams, data_bytes, CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize);
  SAME_PLACE(SetConfigParams, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
  SAME_PLACE(SetConfigParams, range, CUpti_RangeProfiler_SetConfig_Params, range);
  SAME_PLACE(SetConfigParams, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
  SAME_PLACE(SetConfigParams, most_ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
  SAME_PLACE(SetConfigParams, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
  SAME_PLACE(SetConfigParams, least_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
  SAME_PLACE(SetConfigParams, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
  SAME_END(StopParams, has_all, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
  SAME_PLACE(StopParams, ranges, CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject);
  SAME_END(PushParams, name, CUpti_RangeProfiler_PushRange_Params, pRangeName);
  SAME_END(DecodeParams, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);
  SAME_END(DataSizeParams, bytes, CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize);
  SAME_PLACE(DataSizeParams, metrics, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
  SAME_PLACE(DataSizeParams, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
  SAME_PLACE(DataSizeParams, most_ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
  SAME_PLACE(DataSizeParams, most_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes);
  SAME_END(DataParams, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData);
  SAME_PLACE(DataParams, bytes, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, counterDataSize);
  SAME_END(DataInfoParams, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);
  SAME_PLACE(DataInfoParams, data, CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage);
  EXPECT_EQ(+kRangeProfiler, static_cast<uint32_t>(CUPTI_PROFILER_TYPE_RANGE_PROFILER));
  EXPECT_EQ(+kUserRange, static_cast<uint32_t>(CUPTI_UserRange));
  EXPECT_EQ(+kUserReplay, static_cast<uint32_t>(CUPTI_UserReplay));
}

TEST(CuptiDeclarations, HaveTheNumbersOfNvidiasHeader) {
  EXPECT_EQ(+kSuccess, CUPTI_SUCCESS);
  EXPECT_EQ(+kMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
  const auto expect_equal = [](uint32_t own, int theirs) { EXPECT_EQ(own, static_cast<uint32_t>(theirs)); };
  expect_equal(kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
  expect_equal(kMemset, CUPTI_ACTIVITY_KIND_MEMSET);
  expect_equal(kDriverCall, CUPTI_ACTIVITY_KIND_DRIVER);
  expect_equal(kRuntimeCall, CUPTI_ACTIVITY_KIND_RUNTIME);
  expect_equal(kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  expect_equal(kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD);
  expect_equal(kPeerMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY2);
  expect_equal(kExternalCorrelation, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  expect_equal(kCustom0, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
  expect_equal(kSystemThreadIds, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

template <class T>
std::span<const uint8_t> bytes_of(const T &record, size_t size = sizeof(T)) {
  return {reinterpret_cast<const uint8_t *>(&record), size};
}

// Every size below the last member that is read is refused, whatever bytes follow.
template <class T>
void expect_bounded(const T &record, size_t needed) {
  for (size_t size = 0; size <= sizeof record; ++size) {
    const std::vector<uint8_t> part(bytes_of(record).begin(), bytes_of(record).begin() + static_cast<ptrdiff_t>(size));
    EXPECT_EQ(read_activity({part.data(), part.size()}).has_value(), size >= needed) << size;
  }
}

template <class T>
class KernelRecords : public testing::Test {};
using Kernels =
    testing::Types<CUpti_ActivityKernel4, CUpti_ActivityKernel5, CUpti_ActivityKernel6, CUpti_ActivityKernel7,
                   CUpti_ActivityKernel8, CUpti_ActivityKernel9, CUpti_ActivityKernel10, CUpti_ActivityKernel11>;
TYPED_TEST_SUITE(KernelRecords, Kernels);
TYPED_TEST(KernelRecords, AreRead) {
  TypeParam record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = 100, record.end = 300, record.deviceId = 2, record.streamId = 13, record.correlationId = 77;
  record.name = "scale";
  const auto activity = read_activity(bytes_of(record));
  ASSERT_TRUE(activity);
  EXPECT_EQ(activity->kind, kConcurrentKernel);
  EXPECT_EQ(activity->start, 100u);
  EXPECT_EQ(activity->end, 300u);
  EXPECT_EQ(activity->device, 2u);
  EXPECT_EQ(activity->stream, 13u);
  EXPECT_EQ(activity->correlation, 77u);
  EXPECT_STREQ(activity->name, "scale");
  expect_bounded(record, offsetof(TypeParam, name) + sizeof record.name);
}

template <class T>
class TransferRecords : public testing::Test {};
using Transfers =
    testing::Types<CUpti_ActivityMemcpy, CUpti_ActivityMemcpy3, CUpti_ActivityMemcpy4, CUpti_ActivityMemcpy5,
                   CUpti_ActivityMemcpy6, CUpti_ActivityMemcpyPtoP, CUpti_ActivityMemcpyPtoP2,
                   CUpti_ActivityMemcpyPtoP3, CUpti_ActivityMemcpyPtoP4, CUpti_ActivityMemset, CUpti_ActivityMemset2,
                   CUpti_ActivityMemset3, CUpti_ActivityMemset4>;
TYPED_TEST_SUITE(TransferRecords, Transfers);
TYPED_TEST(TransferRecords, AreRead) {
  TypeParam record{};
  constexpr bool kIsCopy = requires { record.copyKind; };
  constexpr bool kIsPeer = requires { record.dstDeviceId; };
  record.kind = kIsPeer   ? CUPTI_ACTIVITY_KIND_MEMCPY2
                : kIsCopy ? CUPTI_ACTIVITY_KIND_MEMCPY
                          : CUPTI_ACTIVITY_KIND_MEMSET;
  if constexpr (kIsCopy) record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  record.bytes = 4096, record.start = 100, record.end = 300, record.deviceId = 1, record.streamId = 9;
  record.correlationId = 78;
  const auto activity = read_activity(bytes_of(record));
  ASSERT_TRUE(activity);
  EXPECT_EQ(activity->bytes, 4096u);
  EXPECT_EQ(activity->start, 100u);
  EXPECT_EQ(activity->end, 300u);
  EXPECT_EQ(activity->device, 1u);
  EXPECT_EQ(activity->stream, 9u);
  EXPECT_EQ(activity->correlation, 78u);
  EXPECT_EQ(activity->detail, kIsCopy ? static_cast<uint32_t>(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH) : 0u);
  expect_bounded(record, offsetof(TypeParam, correlationId) + sizeof record.correlationId);
}

TEST(CuptiRecords, DescribeCallsAndRuns) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.start = 5, call.end = 8, call.threadId = 4242, call.correlationId = 79;
  const auto read = read_activity(bytes_of(call));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->start, 5u);
  EXPECT_EQ(read->end, 8u);
  EXPECT_EQ(read->thread, 4242u);
  EXPECT_EQ(read->correlation, 79u);
  expect_bounded(call, offsetof(CUpti_ActivityAPI, correlationId) + sizeof call.correlationId);
  CUpti_ActivityExternalCorrelation external{};
  external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  external.externalId = uint64_t{1} << 40, external.correlationId = 80;
  EXPECT_EQ(read_activity(bytes_of(external))->external, uint64_t{1} << 40);
  EXPECT_EQ(read_activity(bytes_of(external))->correlation, 80u);
  expect_bounded(external, offsetof(CUpti_ActivityExternalCorrelation, correlationId) + sizeof external.correlationId);
}

TEST(CuptiRecords, HaveAThreadForTheOverheadOfAThread) {
  CUpti_ActivityOverhead3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.threadId = 4242, record.start = 1, record.end = 2;
  EXPECT_EQ(read_activity(bytes_of(record))->thread, 4242u);
  EXPECT_EQ(read_activity(bytes_of(record))->detail,
            static_cast<uint32_t>(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING));
  expect_bounded(record, offsetof(CUpti_ActivityOverhead3, end) + sizeof record.end);
  record.objectKind = CUPTI_ACTIVITY_OBJECT_CONTEXT;
  EXPECT_EQ(read_activity(bytes_of(record))->thread, 0u);
}

// A buffer of records, and CUPTI's function on it, which the real library refuses without a driver.
class ABuffer : public testing::Test {
 public:
  template <class T>
  ABuffer &add(const T &record) {
    places_.push_back(bytes_.size());
    bytes_.insert(bytes_.end(), bytes_of(record).begin(), bytes_of(record).end());
    return *this;
  }
  struct Found {
    std::vector<uint32_t> kinds;
    size_t skipped = 0;
  };
  Found read(Status at_end = kMaxLimitReached) {
    Found found;
    size_t next = 0;
    const auto step = [&](uint8_t *buffer, size_t, Record **record) -> Status {
      if (next == places_.size()) return at_end;
      // A place may lie outside the buffer.
      *record = reinterpret_cast<Record *>(reinterpret_cast<uintptr_t>(buffer) + places_[next++]);
      return kSuccess;
    };
    found.skipped = each_activity({bytes_.data(), bytes_.size()}, step,
                                  [&](const Activity &activity) { found.kinds.push_back(activity.kind); });
    return found;
  }
  static CUpti_ActivityKernel11 kernel() {
    CUpti_ActivityKernel11 made{};
    made.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return made;
  }
  static CUpti_ActivityAPI call() {
    CUpti_ActivityAPI made{};
    made.kind = CUPTI_ACTIVITY_KIND_DRIVER;
    return made;
  }
  std::vector<uint8_t> bytes_;
  std::vector<size_t> places_;
};

TEST_F(ABuffer, IsReadRecordByRecord) {
  EXPECT_EQ(read().kinds, std::vector<uint32_t>{}) << "an empty one";
  add(kernel()).add(call()).add(kernel());
  EXPECT_EQ(read().kinds, (std::vector<uint32_t>{10, 4, 10}));
  EXPECT_EQ(read().skipped, 0u);
}

TEST_F(ABuffer, SkipsAndCountsUnknownRecords) {
  CUpti_ActivityPcie unknown{};
  unknown.kind = CUPTI_ACTIVITY_KIND_PCIE;
  add(kernel()).add(unknown).add(call());
  add(uint64_t{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});  // far too short
  EXPECT_EQ(read().kinds, (std::vector<uint32_t>{10, 4}));
  EXPECT_EQ(read().skipped, 2u);
  EXPECT_EQ(read(21).skipped, 3u) << "the rest cannot be stepped over";
}

TEST_F(ABuffer, IsNotReadOutsideOfItself) {
  add(kernel()).add(call());
  const std::vector<size_t> good = places_;
  for (const size_t wrong :
       {size_t{8}, sizeof(CUpti_ActivityKernel11) + 8, bytes_.size(), bytes_.size() + 8, SIZE_MAX - 7}) {
    places_ = {wrong, good[1]};
    EXPECT_EQ(read().kinds.size(), 0u) << wrong;
    EXPECT_EQ(read().skipped, 1u) << wrong;
  }
  places_ = {good[0], good[0]};
  EXPECT_EQ(read().kinds.size(), 0u) << "a step of nothing";
  places_ = {good[0], bytes_.size() + 8};
  EXPECT_EQ(read().kinds.size(), 0u);
  EXPECT_EQ(read().skipped, 1u);
  places_ = {good[0], good[1], good[0]};
  EXPECT_EQ(read().kinds, std::vector<uint32_t>{10});
}

// NVIDIA's own library, which needs a driver for anything.
TEST(Cupti, SaysThatItCannotWorkWithoutADriver) {
  const Api &api = Api::get();
  if (!api.absence.empty()) GTEST_SKIP() << api.absence;
  const Status status = api.cuptiActivityEnable(kConcurrentKernel);
  if (!status) GTEST_SKIP() << "there is a driver";
  try {
    api.check(status, "cuptiActivityEnable");
    FAIL();
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_UNSUPPORTED);
    EXPECT_EQ(e.error()->message.rfind("activity of CUDA devices is not reported: cuptiActivityEnable returned ", 0),
              0u)
        << e.error()->message;
  }
}

}  // namespace
}  // namespace opd::cupti
#else
TEST(CuptiDeclarations, HaveTheNumbersOfNvidiasHeader) {
  GTEST_SKIP() << "cupti.h of CUDA 13.5 or newer is not installed";
}
#endif
