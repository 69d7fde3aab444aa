// Profilers of the whole process.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/fork_mutex.h"
#include "profiler/dumps.h"
#include "profiler/schedule.h"
#include "trace/record/alarm_signals.h"
#include "trace/record/device_activity.h"
#include "trace/record/recording.h"

namespace opd {

// Thread-safe. Counts steps; the schedule decides which are recorded.
class Profiler final : public Object {
 public:
  static int32_t type();  // "opdyno.Profiler"
  // `activity`: is started with the profiler; null: none.
  Profiler(const RecordingOptions &options, const Schedule &schedule, ActivitySource *activity)
      : options_(options), schedule_(schedule), source_(activity) {}
  ~Profiler();

  void start();  // throws OPD_FAILED_PRECONDITION if it was started
  // Null if it was not recording, or if the events are left in a file; throws OPD_FAILED_PRECONDITION if it was not
  // started.
  Ref<Trace> stop();
  // Ends a step. Returns the trace of a cycle that ends with it, else null. Before start() it only counts.
  Ref<Trace> step();
  Ref<Trace> snapshot();  // null if it does not record; throws OPD_FAILED_PRECONDITION if it was not started
  // Each recording from the next start() on writes dumps; null: none does. Throws OPD_FAILED_PRECONDITION if the
  // profiler was started.
  void set_dumps(std::optional<DumpOptions> options);
  void dump(std::string reason);           // throws OPD_FAILED_PRECONDITION if no recording writes dumps
  uint64_t num_dumps() const;              // written so far
  void set_action(ProfilerAction action);  // of the step that begins next, in place of the schedule's

 private:
  // The running recording. Its dumps end first, and write the requested dumps before.
  struct Running {
    Ref<Recording> recording;  // null: it does not record
    std::shared_ptr<Dumps> dumps;
  };
  void begin_step();
  Ref<Trace> end(
      Running ended);  // without the lock: writing a dump may take long, and calls the program's log callback

  const RecordingOptions options_;
  const Schedule schedule_;
  ActivitySource *const source_;
  mutable ForkMutex guard_{LockRank::kProfiles};
  bool is_started_ = false, has_steps_ = schedule_.active > 0;
  std::optional<ProfilerAction> next_;  // set_action()'s
  ProfilerAction action_{};             // of the step that runs
  uint64_t step_ = 0, step_begin_ = 0;  // the step that runs, and the tick of its begin
  std::optional<DumpOptions> dumps_;
  std::unique_ptr<StartedActivity> activity_;  // from start() to stop()
  std::unique_ptr<AlarmSignal> signal_;        // of dumps, from start() to stop(): also in steps that are not recorded
  uint64_t num_dumps_ = 0;                     // of recordings that have ended
  Running running_;
};

}  // namespace opd
