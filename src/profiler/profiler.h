// Profilers of the whole process: the schedule of the recorded steps, and flight recorders, which dump the latest
// events to files.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/fork_mutex.h"
#include "trace/record/alarm.h"
#include "trace/record/device_activity.h"
#include "trace/record/recording.h"
#include "trace_formats/trace_file.h"

namespace opd {

// ---- the steps of a program that a profiler records

enum class ProfilerAction : uint8_t { kNone, kWarmup, kRecord, kRecordAndSave };  // as in opdyno/profiler.h
inline bool records(ProfilerAction action) { return action >= ProfilerAction::kRecord; }

// The first `skip_first` steps are skipped. Then `repeat` cycles of `wait`, `warmup` and `active` steps follow; repeat
// 0: without end. If `skip_first_wait` is not 0, the first cycle has no `wait`. `active` 0: there is no schedule, and
// all steps are recorded. Source: torch.profiler.schedule.
struct Schedule {
  uint64_t wait = 0, warmup = 0, active = 0, repeat = 0, skip_first = 0;
  bool skip_first_wait = false;

  ProfilerAction action_at(uint64_t step) const {
    if (active == 0) return ProfilerAction::kRecord;
    if (step < skip_first) return ProfilerAction::kNone;
    step -= skip_first;
    if (skip_first_wait) step += wait;
    const uint64_t cycle = wait + warmup + active, place = step % cycle;
    if ((repeat > 0 && step / cycle >= repeat) || place < wait) return ProfilerAction::kNone;
    if (place < wait + warmup) return ProfilerAction::kWarmup;
    return place + 1 < cycle ? ProfilerAction::kRecord : ProfilerAction::kRecordAndSave;
  }
};

// ---- flight recorders: when the alarm of a recording is raised (trace/record/alarm.h), a separate thread writes the
// recording's events to a file. The recording goes on.

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
class Dumps;

// ---- profilers

// Thread-safe. Counts steps; the schedule selects the recorded ones.
class Profiler final : public Object {
 public:
  static int32_t type() { return registered_type<"opdyno.Profiler">(); }
  // `activity`: a source that is started with the profiler; null: none.
  Profiler(const RecordingOptions &options, const Schedule &schedule, ActivitySource *activity)
      : options_(options), schedule_(schedule), source_(activity) {}
  ~Profiler();

  void start();  // throws OPD_FAILED_PRECONDITION if already started
  // Null if it was not recording, or if the events are left in a file. Throws OPD_FAILED_PRECONDITION if it was not
  // started, OPD_IO if it has ended but events are lost because the file could not be written.
  Ref<Trace> stop();
  // Ends a step. If a cycle ends with it, returns the cycle's trace, else null. Before start() it only counts. Throws
  // OPD_IO as stop(); the next step has begun then.
  Ref<Trace> step();
  Ref<Trace> snapshot();  // null if it is not recording; throws OPD_FAILED_PRECONDITION if not started
  // Sets the dumps of the recordings from the next start() on; null: none. Throws OPD_FAILED_PRECONDITION if the
  // profiler was started.
  void set_dumps(std::optional<DumpOptions> options) {
    std::scoped_lock lock(guard_);
    if (is_started_) fail(OPD_FAILED_PRECONDITION, "dumps are set before the profiler is started");
    require(!options || !is_memory_timeline(options->form) || options_.memory,
            "dumps of a memory timeline need a profiler with profile_memory");
    dumps_ = std::move(options);
  }
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
  // Called without the lock, because writing a dump may take long and calls the program's log callback. The caller calls
  // require_written() of the recording.
  Ref<Trace> end(const Running &ended);

  const RecordingOptions options_;
  const Schedule schedule_;
  ActivitySource *const source_;
  mutable ForkMutex guard_{LockRank::kProfiles};
  bool is_started_ = false, has_steps_ = schedule_.active > 0;
  std::optional<ProfilerAction> next_;  // set by set_action()
  ProfilerAction action_{};             // action of the current step
  uint64_t step_ = 0, step_begin_ = 0;  // number of the current step, and the tick of its start
  std::optional<DumpOptions> dumps_;
  std::unique_ptr<StartedActivity> activity_;  // set from start() to stop()
  std::unique_ptr<AlarmSignal> signal_;        // signal for dumps, from start() to stop(), even in unrecorded steps
  uint64_t num_dumps_ = 0;                     // dumps of recordings that have ended
  Running running_;
};

}  // namespace opd
