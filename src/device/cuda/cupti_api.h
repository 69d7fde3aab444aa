// The part of CUPTI, NVIDIA's interface for profilers, that the library uses. It is declared here so that a build needs
// no header; a test compares it with NVIDIA's header. CUPTI is opened at the first use. Source: NVIDIA, CUPTI.
#pragma once
#include <cstddef>
#include <cstdint>
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

void *open_library();  // null if it is not found

}  // namespace opd::cupti
