// The recorder of one run of a VM: its call events, and the recordings that the run belongs to. Cost of a run: one load
// if nothing records; else each recording's filter, and two atomic additions for each that the run belongs to.
#pragma once
#include <climits>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "trace/model/event.h"
#include "trace/model/trace_context.h"
#include "value/value.h"

namespace opd {

class Track;

// Writes the calls of one run.
class RunRecorder {
 public:
  void reset() { track_ = nullptr, recordings_ = all_calls_ = observed_ = syncs_ = 0, considered_ = 0; }
  bool listens() const { return track_ != nullptr; }  // whether calls are recorded
  bool is_recorded() const { return listens() || only_run() != 0; }
  bool takes_all_calls() const { return all_calls_ != 0; }  // including those without a tensor
  bool syncs() const { return syncs_ != 0; }                // calls wait for their work on devices

  // Whether a call with these arguments is to be recorded.
  bool wants(Args args) const { return all_calls_ || has_tensor(args); }

  // Called around a recorded call; these return its ticks. Observers are called outside of the interval between them.
  uint64_t begin_call(Args args) const { return only_ticks_ ? ticks_of(ClockId::kTsc) : begin_slowly(args); }
  uint64_t end_call() const { return only_ticks_ ? ticks_of(ClockId::kTsc) : ticks_of(tick_clock()); }

  struct Call {
    uint64_t begin, end;
    NameId name;
    uint32_t location, depth;
  };
  // `cache`: a number for the cache of dimensions (Track::describe). `error`: the error, if the call failed.
  // Defined in run_recorder_inl.h.
  inline void add(const Call &call, Args args, size_t cache, const Error *error = nullptr) const;

 private:
  friend class RunRecording;
  static bool has_tensor(Args args) {
    for (const View &arg : args)
      if (arg.type == OPD_TENSOR || arg.type == OPD_DLTENSOR) return true;
    return false;
  }
  void complete(Event &event, const Call &call) const {
    event.begin = call.begin;
    event.end = call.end;
    event.name = call.name;
    event.location = call.location;
    event.depth = call.depth;
    event.run = run_;
  }
  // The recordings with an observer that is to see a call with these arguments.
  // Not reset for each run: they are written before the run is considered.
  Recordings only_run() const { return considered_ ? only_run_ : Recordings{0}; }
  Recordings outcomes() const { return considered_ ? outcomes_ : Recordings{0}; }
  Recordings observed(Args args) const { return has_tensor(args) ? observed_ : observed_ & all_calls_; }
  uint64_t begin_slowly(Args args) const;
  void add_slowly(const Call &call, Args args, size_t cache, const Error *error) const;

  Track *track_ = nullptr;     // null: no recording takes calls
  Recordings recordings_ = 0;  // the recordings that take calls
  Recordings all_calls_ = 0;   // the subset that takes calls without a tensor
  Recordings observed_ = 0;    // the subset with an observer
  Recordings syncs_ = 0;       // the subset whose calls wait for the device
  Recordings only_run_;        // the recordings that take the run without its calls
  Recordings outcomes_;        // the recordings that take the run's outcome
  bool only_ticks_ = false;    // there is no observer, and the clock is the TSC
  uint64_t run_ = 0;           // Event::run
  uint64_t considered_ = 0;    // the highest id among recordings whose filter was applied to the run
};

// The part of one run in the recordings, from the start of the run to the end of this object.
class RunRecording {
 public:
  RunRecording() = default;
  RunRecording(const RunRecording &) = delete;
  ~RunRecording() { end(); }

  struct Source {
    const void *address;  // address of the VM
    NameId program, function;
  };
  // `outer`: the run of the same source that this one is nested in; this run belongs to the same recordings. Call it if
  // is_recording() or `outer` is recorded. Throws what observers throw.
  void begin(RunRecorder &recorder, const Source &source, const RunRecorder *outer);
  // Notes an error of the run that is not an exception. The error must outlive this object.
  void note_failure(const Error &error) { failure_ = &error; }
  void end() noexcept {
    if (recorder_) end_recorded();
  }

 private:
  bool enter_all(RunRecorder &recorder, const void *source);  // whether the run belongs to a new recording
  void begin_entered(RunRecorder &recorder, const Source &source, const RunRecorder *outer);
  void add_outcome(EventItems &items, bool has_failed) const;
  void end_recorded() noexcept;

  RunRecorder *recorder_ = nullptr;  // null: the run is not recorded
  Recordings begun_ = 0;             // recordings that this run entered itself, not an outer run
  const Error *failure_ = nullptr;
  int exceptions_ = INT_MAX;  // number of uncaught exceptions at its start, if a recording takes outcomes
  // The members below are set for a recorded run.
  Track *track_;
  Event event_;           // `begin` is set once the run has begun
  TraceContext context_;  // set if a recording takes the outcome
  struct Observed {
    uint32_t slot;
    size_t run;  // result of the observer's begin_run()
  };
  std::vector<Observed> observed_;
};

// ---- the trace context of the request that the calling thread works for

// Sets the context for runs that the calling thread begins from now on. Throws std::bad_alloc.
void set_trace_context(const TraceContext &context);
TraceContext trace_context();  // the calling thread's context; all 0: none

}  // namespace opd
