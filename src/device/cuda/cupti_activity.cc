#include "device/cuda/cupti_activity.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/fork_mutex.h"
#include "base/signals.h"
#include "device/cuda/cuda_context.h"
#include "device/cuda/cupti_api.h"
#include "device/device_clock.h"
#include "device/recent_map.h"
#include "trace/record/device_work.h"

namespace opd::cuda {

std::atomic<bool> detail::is_activity_reported{false};

namespace {

using cupti::Activity;

// The requested kinds of records. Records of calls contain the thread and the time of each submission.
constexpr cupti::Kind kKinds[] = {
    cupti::kExternalCorrelation, cupti::kDriverCall, cupti::kRuntimeCall, cupti::kConcurrentKernel, cupti::kMemcpy,
    cupti::kPeerMemcpy,          cupti::kMemset,     cupti::kOverhead};

// Name and kind of a copy, by CUpti_ActivityMemcpyKind. Copies between arrays, between peers and within the host count
// as copies on a device.
struct Copy {
  WorkKind kind;
  const char *name;
};
Copy copy_of(uint32_t kind) {
  switch (kind) {
    case 1:  // host to device, or host to array
    case 3:
      return {WorkKind::kCopyToDevice, "Memcpy HtoD"};
    case 2:
    case 4:
      return {WorkKind::kCopyToHost, "Memcpy DtoH"};
    case 10:
      return {WorkKind::kCopyOnDevice, "Memcpy PtoP"};
    default:
      return {WorkKind::kCopyOnDevice, "Memcpy DtoD"};
  }
}

// Returns the name of an overhead by its CUpti_ActivityOverheadKind.
const char *overhead_name(uint32_t kind) {
  static constexpr const char *kOfCupti[] = {"",
                                             "CUPTI Buffer Flush",
                                             "CUPTI Instrumentation",
                                             "CUPTI Resource",
                                             "Runtime Triggered Module Loading",
                                             "Lazy Function Loading",
                                             "Command Buffer Full",
                                             "Activity Buffer Request",
                                             "UVM Activity Init"};
  if (kind == 1) return "Driver Compiler";
  const uint32_t high = kind >> 16;
  return high > 0 && high < std::size(kOfCupti) && kind << 16 == 0 ? kOfCupti[high] : "Unknown Overhead";
}

std::string kernel_name(const Activity &kernel) {
  constexpr size_t kMost = 4096;
  return kernel.name ? std::string(kernel.name, ::strnlen(kernel.name, kMost)) : "?";
}

class Reports {
 public:
  // Adds a buffer of CUPTI's records, which are in any order. Calls are read first, so that their work finds them. No
  // lock is held while CUPTI runs.
  void add(std::span<uint8_t> buffer) {
    std::vector<Activity> works, others;
    const size_t skipped = cupti::each_activity(
        buffer, cupti::Api::get().cuptiActivityGetNextRecord,
        [&](const Activity &activity) { (is_work(activity) ? works : others).push_back(activity); });
    if (skipped) count_lost_work(skipped);
    const Comparison now = compare();
    const std::scoped_lock lock(guard_);
    if (!clock_) return;
    now.add_to(*clock_);
    for (const Activity &each : others)
      if (each.kind == cupti::kExternalCorrelation) runs_.add(each.correlation, each.external);
      else calls_.add(each.correlation, each);
    works.insert(works.begin(), waiting_.begin(), waiting_.end());
    waiting_.clear();
    for (const Activity &work : works)
      if (work.kind == cupti::kOverhead || calls_.find(work.correlation)) give(work);
      else waiting_.push_back(work);  // its call may be in another buffer
    told_.clear();
  }

  // Adds work whose calls are not reported because they began before the recording.
  void add_rest() {
    const std::scoped_lock lock(guard_);
    if (!clock_) return;
    for (const Activity &work : std::exchange(waiting_, {})) give(work);
    told_.clear();
  }

  void begin() {
    const Comparison now = compare();
    const std::scoped_lock lock(guard_);
    calls_.clear(), runs_.clear(), waiting_.clear();
    now.add_to(clock_.emplace("cuptiGetTimestamp"));
  }

 private:
  struct Comparison {
    TickInterval interval;
    uint64_t ns = 0;  // 0 if CUPTI has no time
    void add_to(DeviceClock &clock) const {
      if (ns) clock.observe(ns, interval);
    }
  };
  static Comparison compare() {
    Comparison made{};
    made.interval.begin = ticks_of(tick_clock());
    if (cupti::Api::get().cuptiGetTimestamp(&made.ns)) made.ns = 0;
    made.interval.end = ticks_of(tick_clock());
    return made;
  }
  static bool is_work(const Activity &activity) {
    return activity.kind != cupti::kExternalCorrelation && activity.kind != cupti::kDriverCall &&
           activity.kind != cupti::kRuntimeCall;
  }

  // Adds the event of some work. Times of 0 were not measured.
  void give(const Activity &work) {
    if (!work.start || work.end < work.start || work.device > INT32_MAX) return count_lost_work(1);
    const Activity *const call = calls_.find(work.correlation);
    LaunchedWork given = describe(work);
    if (call && work.kind != cupti::kOverhead)
      given.launch = {clock_->ticks_at(call->start), clock_->ticks_at(std::max(call->start, call->end))};
    else given.launch.begin = given.launch.end = clock_->ticks_at(work.start);
    const WorkTimes times = clock_->times_of(work.start, work.end, given.launch);
    const uint64_t *const run = runs_.find(work.correlation);
    tell_clock(given, times.clock);
    add_work_event(given, {run ? *run : 0, call ? call->thread : work.thread}, times.work);
  }

  static LaunchedWork describe(const Activity &work) {
    constexpr uint32_t kLegacyStream = 7;  // CUPTI's number for the default stream
    LaunchedWork made{};
    made.device = {kDLCUDA, static_cast<int32_t>(work.device)};
    made.stream = work.stream == kLegacyStream ? uint16_t{0} : static_cast<uint16_t>(work.stream);
    made.bytes = work.bytes;
    if (work.kind == cupti::kConcurrentKernel) {
      made.kind = WorkKind::kKernel, made.name = name_id(kernel_name(work));
    } else if (work.kind == cupti::kMemset) {
      made.kind = WorkKind::kFill, made.name = name_id("Memset");
    } else if (work.kind == cupti::kOverhead) {
      made.kind = WorkKind::kOverhead, made.name = name_id(overhead_name(work.detail)), made.stream = kOverheadStream;
    } else {
      const Copy copy =
          work.kind == cupti::kPeerMemcpy ? Copy{WorkKind::kCopyOnDevice, "Memcpy PtoP"} : copy_of(work.detail);
      made.kind = copy.kind, made.name = name_id(copy.name);
    }
    return made;
  }

  void tell_clock(const LaunchedWork &given, const DeviceMoment &moment) {
    if (std::ranges::find(told_, given.device.device_id) != told_.end()) return;
    told_.push_back(given.device.device_id);
    add_clock_event(given.device, ticks_of(tick_clock()), moment);
  }

  ForkMutex guard_{LockRank::kDeviceWork};
  std::optional<DeviceClock> clock_;
  RecentMap<uint32_t, Activity> calls_;
  RecentMap<uint32_t, uint64_t> runs_;
  std::vector<Activity> waiting_;
  std::vector<int32_t> told_;  // devices whose clock event the current buffer has added
};

Reports &reports() {
  static auto *reports = new Reports;  // never destroyed: CUPTI's thread may report while the process exits
  return *reports;
}

constexpr size_t kBufferBytes = size_t{1} << 20, kBufferAlignment = 8;

void request_buffer(uint8_t **buffer, size_t *size, size_t *most_records) {
  *buffer = static_cast<uint8_t *>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer ? kBufferBytes : 0;  // if there is no memory, CUPTI drops records and counts them
  *most_records = 0;
}
void take_buffer(cupti::Context *, uint32_t, uint8_t *buffer, size_t size, size_t valid) {
  if (!buffer) return;
  try {
    reports().add({buffer, std::min(valid, size)});
  } catch (const std::bad_alloc &) { count_lost_work(1); }
  std::free(buffer);
}

class CuptiActivity final : public ActivitySource {
 public:
  void start() override {
    enable();
    detail::is_activity_reported.store(true, std::memory_order_release);
  }
  void stop() noexcept override {
    detail::is_activity_reported.store(false, std::memory_order_release);
    if (!api().is_inherited()) disable(std::size(kKinds));
  }
  // Takes no lock: recordings hold their own lock here, and CUPTI may make its calls in any thread.
  void flush(bool waits) noexcept override {
    if (api().is_inherited()) return;
    if (waits) wait_for_devices();
    if (api().cuptiActivityFlushAll(0)) count_lost_work(1);
    size_t dropped = 0;
    if (!api().cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) && dropped) count_lost_work(dropped);
    if (waits) reports().add_rest();
  }

 private:
  static const cupti::Api &api() { return cupti::Api::get(); }

  void enable() {
    const std::string refusal = "activity of CUDA devices is not reported: ";
    if (!api().absence.empty()) fail(OPD_UNSUPPORTED, refusal, api().absence);
    if (api().is_inherited())
      fail(OPD_UNSUPPORTED, refusal,
           "CUPTI was opened in the parent of this process, and does not work in a child of fork()");
    const KeptSignalHandlers kept;
    api().check(api().cuptiActivityRegisterCallbacks(request_buffer, take_buffer), "cuptiActivityRegisterCallbacks");
    api().check(api().cuptiSetThreadIdType(cupti::kSystemThreadIds), "cuptiSetThreadIdType");
    reports().begin();
    for (size_t i = 0; i < std::size(kKinds); ++i)
      if (const cupti::Status status = api().cuptiActivityEnable(kKinds[i])) {
        disable(i);
        api().check(status, "cuptiActivityEnable");
      }
  }
  static void disable(size_t count) noexcept {
    for (size_t i = count; i-- > 0;) api().cuptiActivityDisable(kKinds[i]);
  }

  // CUPTI reports only work that has ended.
  static void wait_for_devices() noexcept {
    for (int32_t id = 0; const DeviceContext *const device = find_cuda_device(id); ++id) try {
        if (!device->has_context()) continue;
        const CurrentContext current(*device);
        device->api().cuCtxSynchronize();
      } catch (const Exception &) {}  // its records are missing then
  }
};

}  // namespace

ActivitySource &cupti_activity() {
  static auto *activity = new CuptiActivity;
  return *activity;
}

ReportedRun::ReportedRun() noexcept {
  const uint64_t run = launcher_of_work().run;
  const cupti::Api &api = cupti::Api::get();
  is_pushed_ = run && !api.is_inherited() && !api.cuptiActivityPushExternalCorrelationId(cupti::kCustom0, run);
}

ReportedRun::~ReportedRun() {
  uint64_t ignored = 0;
  if (is_pushed_) cupti::Api::get().cuptiActivityPopExternalCorrelationId(cupti::kCustom0, &ignored);
}

}  // namespace opd::cuda
