// Flight recorders: when the alarm of a recording is raised (trace/record/alarm.h), a separate thread writes the
// recording's events to a file. The recording goes on.
#pragma once
#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/fork_mutex.h"
#include "base/static_guard.h"
#include "trace/record/alarm.h"
#include "trace/record/recording.h"
#include "trace_formats/trace_file.h"

namespace opd {

struct DumpOptions {
  std::string path;  // a pattern; see expand_path()
  opd_trace_format form = OPD_TRACE_CHROME;
  WriteTrace write = nullptr;
  bool on_error = false;
  int signal = 0;
  uint64_t slow_ns = 0;  // 0: no span is slow
  // For slow and failed spans only: the least interval between dumps, and the limit of their number.
  uint64_t min_interval_ns = 0, most = UINT64_MAX;
};

class Dumps : public std::enable_shared_from_this<Dumps> {
 public:
  // The caller holds an AlarmSignal for the options' signal. Throws OPD_IO if no thread can be started. `num_earlier`:
  // number of dumps by earlier recordings.
  static std::shared_ptr<Dumps> start(const DumpOptions &options, Ref<Recording> recording, uint64_t num_earlier);
  Dumps(const DumpOptions &options, Ref<Recording> recording, uint64_t num_earlier)  // for start()
      : options_(options), recording_(std::move(recording)), num_written_(num_earlier) {}
  Dumps(const Dumps &) = delete;

  // Call it once. Dumps that were requested before are written first, unless the writing thread itself calls this: the
  // program's log callback may end the recording.
  void finish() noexcept;
  void request(std::string reason);
  // Includes dumps of earlier recordings.
  uint64_t num_written() const { return num_written_.load(std::memory_order_relaxed); }

 private:
  void arm();
  static void *run(void *owner);
  void write_until_disarmed() noexcept;
  bool may_write(const Alarm::Raised &raised);
  void write(const Alarm::Raised &raised);
  std::string reason_of(const Alarm::Raised &raised);

  const DumpOptions options_;
  const Ref<Recording> recording_;
  const uint32_t generation_ = fork_generation();
  pthread_t thread_{};
  bool has_finished_ = false;  // set by the writing thread
  std::atomic<uint64_t> num_written_;
  uint64_t num_of_spans_ = 0, num_left_out_ = 0, last_ns_ = 0;  // used by the writing thread only
  ForkMutex guard_{LockRank::kDumps};
  std::string request_;
};

}  // namespace opd
