// Profilers of the whole process.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/fork_mutex.h"
#include "profiler/dumps.h"
#include "profiler/schedule.h"
#include "trace/record/alarm.h"
#include "trace/record/device_activity.h"
#include "trace/record/recording.h"

namespace opd {

// Thread-safe. Counts steps; the schedule selects the recorded ones.
class Profiler final : public Object {
 public:
  static int32_t type();  // "opdyno.Profiler"
  // `activity`: a source that is started with the profiler; null: none.
  Profiler(const RecordingOptions &options, const Schedule &schedule, ActivitySource *activity)
      : options_(options), schedule_(schedule), source_(activity) {}
  ~Profiler();

  void start();  // throws OPD_FAILED_PRECONDITION if already started
  // Null if it was not recording, or if the events are left in a file. Throws OPD_FAILED_PRECONDITION if it was not
  // started.
  Ref<Trace> stop();
  // Ends a step. If a cycle ends with it, returns the cycle's trace, else null. Before start() it only counts.
  Ref<Trace> step();
  Ref<Trace> snapshot();  // null if it is not recording; throws OPD_FAILED_PRECONDITION if not started
  // Sets the dumps of the recordings from the next start() on; null: none. Throws OPD_FAILED_PRECONDITION if the
  // profiler was started.
  void set_dumps(std::optional<DumpOptions> options);
  void dump(std::string reason);           // throws OPD_FAILED_PRECONDITION if no recording writes dumps
  uint64_t num_dumps() const;              // number of dumps written so far
  void set_action(ProfilerAction action);  // sets the next step's action, overriding the schedule

 private:
  // The running recording. Its dumps end first, after the requested ones are written.
  struct Running {
    Ref<Recording> recording;  // null: not recording
    std::shared_ptr<Dumps> dumps;
  };
  void begin_step();
  Ref<Trace> end(
      Running ended);  // without the lock, because writing a dump may take long and calls the program's log callback

  const RecordingOptions options_;
  const Schedule schedule_;
  ActivitySource *const source_;
  mutable ForkMutex guard_{LockRank::kProfiles};
  bool is_started_ = false, has_steps_ = schedule_.active > 0;
  std::optional<ProfilerAction> next_;  // set by set_action()
  ProfilerAction action_{};             // action of the current step
  uint64_t step_ = 0, step_begin_ = 0;  // number of the current step, and the tick of its begin
  std::optional<DumpOptions> dumps_;
  std::unique_ptr<StartedActivity> activity_;  // set from start() to stop()
  std::unique_ptr<AlarmSignal> signal_;        // signal for dumps, from start() to stop(), also in steps that are not
                                               // recorded
  uint64_t num_dumps_ = 0;                     // dumps of recordings that have ended
  Running running_;
};

}  // namespace opd
