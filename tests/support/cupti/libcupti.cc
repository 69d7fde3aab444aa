// CUPTI with records that a test makes (support/cupti/records.h), compiled against NVIDIA's header: so its functions
// are called as CUPTI's are, and its records are laid out as CUPTI's.
#include <cupti.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "support/cupti/records.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Cupti final : CuptiRecords {
  std::mutex guard;
  std::vector<std::string> records;  // that were not delivered
  std::set<CUpti_ActivityKind> enabled;
  std::vector<uint64_t> pushed;
  bool has_system_ids = false;  // of threads, as the profiler wants them
  uint32_t id_of(uint32_t thread) const { return has_system_ids ? thread : ~thread; }
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;

  template <class T>
  void add(const T &record) {
    const std::scoped_lock lock(guard);
    if (enabled.count(record.kind)) records.emplace_back(reinterpret_cast<const char *>(&record), sizeof record);
  }
  void add_call(uint32_t correlation, uint64_t start, uint64_t end, uint32_t thread) override {
    CUpti_ActivityAPI record{};
    record.kind = CUPTI_ACTIVITY_KIND_DRIVER;
    record.start = start, record.end = end, record.threadId = id_of(thread), record.correlationId = correlation;
    add(record);
  }
  void add_run(uint32_t correlation, uint64_t run) override {
    CUpti_ActivityExternalCorrelation record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    record.externalId = run, record.correlationId = correlation;
    add(record);
  }
  void add_kernel(const char *name, uint32_t correlation, uint64_t start, uint64_t end, uint32_t stream,
                  uint32_t device) override {
    CUpti_ActivityKernel11 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.start = start, record.end = end, record.deviceId = device, record.streamId = stream;
    record.correlationId = correlation, record.name = name;
    add(record);
  }
  void add_copy(uint32_t correlation, uint64_t start, uint64_t end, uint64_t bytes) override {
    CUpti_ActivityMemcpy6 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    record.bytes = bytes, record.start = start, record.end = end, record.streamId = 7;
    record.correlationId = correlation;
    add(record);
  }
  void add_fill(uint32_t correlation, uint64_t start, uint64_t end, uint64_t bytes) override {
    CUpti_ActivityMemset4 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    record.bytes = bytes, record.start = start, record.end = end, record.streamId = 7;
    record.correlationId = correlation;
    add(record);
  }
  void add_overhead(uint64_t start, uint64_t end, uint32_t thread, uint32_t kind) override {
    CUpti_ActivityOverhead3 record{};
    record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    record.overheadKind = static_cast<CUpti_ActivityOverheadKind>(kind);
    record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    record.objectId.pt.threadId = id_of(thread);
    record.start = start, record.end = end;
    add(record);
  }
  void add_unknown() override {
    struct {
      uint32_t kind;
      char bytes[60];
    } record = {CUPTI_ACTIVITY_KIND_PCIE, {}};
    const std::scoped_lock lock(guard);
    records.emplace_back(reinterpret_cast<const char *>(&record), sizeof record);
  }
  std::vector<uint64_t> pushed_runs() override {
    const std::scoped_lock lock(guard);
    return pushed;
  }
  size_t num_enabled() override {
    const std::scoped_lock lock(guard);
    return enabled.size();
  }
  uint64_t now() override {
    timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  }
  void deliver() override {
    std::vector<std::string> taken;
    {
      const std::scoped_lock lock(guard);
      taken.swap(records);
    }
    if (taken.empty()) return;
    uint8_t *buffer = nullptr;
    size_t size = 0, most = 1, valid = 0;  // `most`: of records, unless it becomes 0
    request(&buffer, &size, &most);
    for (const std::string &record : taken) {
      if (!buffer || valid + record.size() > size || (most && sizes.size() >= most)) {
        ++dropped;
        continue;
      }
      std::memcpy(buffer + valid, record.data(), record.size());
      sizes.push_back(record.size());
      valid += record.size();
    }
    complete(nullptr, 0, buffer, size, valid);
    sizes.clear();
  }
  std::vector<size_t> sizes;  // of the records of the buffer that is being delivered
};

Cupti &cupti() {
  static auto *made = new Cupti;
  return *made;
}

}  // namespace

EXPORT CuptiRecords *cupti_records() { return &cupti(); }

EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text) {
  if (result != CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) return CUPTI_ERROR_INVALID_PARAMETER;
  *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp) {
  *timestamp = cupti().now();
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  cupti().has_system_ids = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                           CUpti_BuffersCallbackCompleteFunc complete) {
  cupti().request = request, cupti().complete = complete;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (cupti().refused_kind == static_cast<int>(kind)) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  const std::scoped_lock lock(cupti().guard);
  cupti().enabled.insert(kind);
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::scoped_lock lock(cupti().guard);
  cupti().enabled.erase(kind);
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t) {
  cupti().deliver();
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record) {
  size_t at = 0;
  const uint8_t *const current = reinterpret_cast<uint8_t *>(*record);
  for (const size_t size : cupti().sizes) {
    if (!current || buffer + at > current) break;
    at += size;
  }
  if (at >= valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity *>(buffer + at);
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t *dropped) {
  *dropped = cupti().dropped.exchange(0);
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (kind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::scoped_lock lock(cupti().guard);
  cupti().pushed.push_back(id);
  ++cupti().depth;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t *last) {
  *last = 0;
  --cupti().depth;
  return CUPTI_SUCCESS;
}
