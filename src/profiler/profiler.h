// Profilers of the whole process.
#pragma once
#include <mutex>

#include "base/fork_mutex.h"
#include "trace/recording.h"

namespace opd {

// Thread-safe.
class Profiler final : public Object {
 public:
  static int32_t type();  // "opdyno.Profiler"
  explicit Profiler(const RecordingOptions &options) : options_(options) {}

  void start();       // throws OPD_FAILED_PRECONDITION if it records already
  Ref<Trace> stop();  // waits for runs under way; throws OPD_FAILED_PRECONDITION if it does not record, or within a run

 private:
  const RecordingOptions options_;
  ForkMutex guard_{LockRank::kProfiles};
  Ref<Recording> recording_;  // null: it does not record
};

}  // namespace opd
