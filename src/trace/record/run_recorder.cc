#include "trace/record/run_recorder.h"

#include <exception>

#include "trace/record/recorder.h"

namespace opd {

namespace {

// Those of the bits that other recordings have taken since the run considered all recordings. Ids increase.
Recordings replaced_since(uint64_t considered, Recordings bits) {
  Recordings replaced = 0;
  each_recording(bits, [&](uint32_t place) {
    if (Recorder::get().slots[place].id.load(std::memory_order_relaxed) > considered) replaced |= bit_of(place);
  });
  return replaced;
}

}  // namespace

void RunRecording::begin(RunRecorder &recorder, const Source &source, const RunRecorder *outer) {
  recorder.only_run_ = recorder.outcomes_ = 0;
  if (outer) {
    recorder = *outer;
    recorder.only_run_ = outer->only_run(), recorder.outcomes_ = outer->outcomes();
    Recordings busy = 0;
    each_recording(recorder.observed_, [&](uint32_t slot) {
      if (recorder.track_->part(slot).observer->is_busy()) busy |= bit_of(slot);
    });
    const auto outer_bits = static_cast<Recordings>(recorder.recordings_ | recorder.only_run_);
    const auto kept = static_cast<Recordings>(~(busy | replaced_since(recorder.considered_, outer_bits)));
    recorder.recordings_ &= kept, recorder.all_calls_ &= kept, recorder.observed_ &= kept, recorder.syncs_ &= kept;
    recorder.only_run_ &= kept, recorder.outcomes_ &= kept;
    if (!recorder.recordings_) recorder.track_ = nullptr;
  }
  const bool is_new = enter_all(recorder, source.address);
  if (!is_new && !recorder.is_recorded()) return;
  if (!is_new) recorder_ = &recorder, track_ = &Recorder::get().track(), event_ = {};
  begin_entered(recorder, source, outer);
}

namespace {

struct RunOptions {  // options of a recording
  bool calls, all_calls, outcomes;
};

// Returns the calling thread's track if it takes part in the slot's recording; else null. The recording must be newer
// than `considered` and accept the run (source, thread, interval). On success, the end of the recording waits for
// leave().
Track *enter_run(uint32_t place, const void *source, uint64_t considered, uint64_t &id, RunOptions &options) {
  Slot &slot = Recorder::get().slots[place];
  id = slot.id.load();
  if (id <= considered) return nullptr;
  const void *const wanted = slot.source.load(std::memory_order_relaxed);
  const uint64_t thread = slot.thread.load(std::memory_order_relaxed);
  if ((wanted && wanted != source) || (thread && thread != thread_number())) return nullptr;
  if (slot.calls.fetch_add(1, std::memory_order_relaxed) % slot.interval.load(std::memory_order_relaxed) != 0)
    return nullptr;
  options = {slot.with_calls.load(std::memory_order_relaxed), slot.all_calls.load(std::memory_order_relaxed),
             slot.outcomes.load(std::memory_order_relaxed)};
  Track &track = Recorder::get().track();
  return enter(track, place, id) ? &track : nullptr;
}

}  // namespace

// Recordings get increasing ids, and threads see them begin in that order. So a nested run only needs to consider
// recordings above the highest id that the outer run has considered.
bool RunRecording::enter_all(RunRecorder &recorder, const void *source) {
  const auto running = read_recordings(Interest::kRunning);
  const uint64_t considered = recorder.considered_;
  each_recording(running, [&](uint32_t place) {
    RunOptions options{};
    uint64_t id;
    Track *const track = enter_run(place, source, considered, id, options);
    recorder.considered_ = std::max(recorder.considered_, id);
    if (!track) return;
    // From here on end() leaves the recording, even after an exception.
    if (!recorder_) recorder_ = &recorder, event_ = {};
    track_ = track;
    begun_ |= bit_of(place);
    if (options.outcomes) recorder.outcomes_ |= bit_of(place);
    if (!options.calls) return void(recorder.only_run_ |= bit_of(place));
    recorder.track_ = track;
    recorder.recordings_ |= bit_of(place);
    if (options.all_calls) recorder.all_calls_ |= bit_of(place);
    if (Recorder::get().slots[place].syncs.load(std::memory_order_relaxed)) recorder.syncs_ |= bit_of(place);
    if (track->part(place).observer) recorder.observed_ |= bit_of(place);
  });
  return recorder_;
}

void RunRecording::begin_entered(RunRecorder &recorder, const Source &source, const RunRecorder *outer) {
  recorder.run_ = Recorder::get().last_run.fetch_add(1, std::memory_order_relaxed) + 1;
  recorder.only_ticks_ = !recorder.observed_ && tick_clock() == ClockId::kTsc;
  event_.kind = EventKind::kRun;
  // The recordings of the outer run need this run's number for its calls.
  event_.recordings = static_cast<Recordings>(recorder.recordings_ | recorder.only_run_);
  event_.name = source.function;
  event_.location = source.program;
  event_.run = recorder.run_;
  event_.parent_run = outer && outer->is_recorded() ? outer->run_ : 0;
  each_recording(static_cast<Recordings>(recorder.observed_ & begun_), [&](uint32_t place) {
    observed_.reserve(kMostRecordings);
    observed_.push_back({place, track_->part(place).observer->begin_run()});
  });
  failure_ = nullptr;
  const bool asks = recorder.outcomes_ || detail::error_alarms.load(std::memory_order_relaxed);
  exceptions_ = asks ? std::uncaught_exceptions() : INT_MAX;
  if (recorder.outcomes_) context_ = track_->context();
  event_.stack = is_recording(Interest::kStacks) ? capture_stack() : 0;
  event_.begin = ticks_of(tick_clock());
  open_span(*track_, {event_.begin, event_.name, EventKind::kRun, event_.run, event_.parent_run, event_.stack});
}

// A run without an error and without a context has no items.
void RunRecording::add_outcome(EventItems &items, bool has_failed) const {
  const Recordings asking = recorder_->outcomes_;
  const auto add = [&](EventItem::Type type, std::string_view text) {
    items.add({type, asking, kNoName, {MetricKind::kString}, text});
  };
  if (has_failed) add(EventItem::Type::kFailure, failure_ ? std::string_view(failure_->message) : "");
  if (context_.is_any()) add(EventItem::Type::kContext, {reinterpret_cast<const char *>(&context_), sizeof context_});
}

void RunRecording::end_recorded() noexcept {
  event_.end = ticks_of(tick_clock());
  Track &track = *track_;
  EventItems items;
  while (!observed_.empty()) {
    const auto [place, run] = observed_.back();
    observed_.pop_back();
    track.part(place).observer->end_run(run, items);
  }
  const bool failed = failure_ || (exceptions_ != INT_MAX && std::uncaught_exceptions() > exceptions_);
  if (recorder_->outcomes_ && event_.begin) try {
      add_outcome(items, failed);
    } catch (const std::bad_alloc &) {}  // the run then seems to have succeeded
  recorder_ = nullptr;
  if (event_.begin) {
    track.add_run(event_, items);
    track.open_spans().cut(event_.begin);  // after the run is among the events
    track.show_open_spans();
    raise_alarms(event_.recordings, event_.name, event_.begin, event_.end, failed);
  }
  each_recording(begun_, [&](uint32_t place) { leave(track, place); });
}

uint64_t RunRecorder::begin_slowly(Args args) const {
  DLDevice device{kDLCPU, 0};
  bool any_tensor = false;
  for (size_t i = args.size(); i-- > 0 && !any_tensor;)
    if (const DLTensor *tensor = try_dltensor(args[i])) device = tensor->device, any_tensor = true;
  each_recording(observed(args), [&](uint32_t place) { track_->part(place).observer->begin_call(device); });
  return ticks_of(tick_clock());
}

void RunRecorder::add_slowly(const Call &call, Args args, size_t cache, const Error *error) const {
  EventItems items;
  if (error) items.add({EventItem::Type::kError, UINT16_MAX, kNoName, {MetricKind::kString}, error->message});
  each_recording(observed(args), [&](uint32_t place) { track_->part(place).observer->end_call(call.begin, items); });
  Event *event = track_->describe(recordings_, all_calls_, args, cache);
  if (!event) return;
  complete(*event, call);
  track_->attach(event, items);
  track_->commit();
}

TraceContext trace_context() { return thread_state().track ? Recorder::get().track().context() : TraceContext{}; }

void set_trace_context(const TraceContext &context) { Recorder::get().track().set_context(context); }

}  // namespace opd
