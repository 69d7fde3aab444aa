#include "profiler/profiler.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/path_pattern.h"
#include "base/signals.h"
#include "base/static_guard.h"
#include "trace/record/alarm.h"

namespace opd {

// ---- flight recorders

class Dumps : public std::enable_shared_from_this<Dumps> {
 public:
  // The caller holds an AlarmSignal for the options' signal. Throws OPD_IO if no thread can be started. `num_earlier`:
  // number of dumps by earlier recordings.
  static std::shared_ptr<Dumps> start(const DumpOptions &options, Ref<Recording> recording, uint64_t num_earlier) {
    auto dumps = std::make_shared<Dumps>(options, std::move(recording), num_earlier);
    dumps->arm();
    return dumps;
  }
  Dumps(const DumpOptions &options, Ref<Recording> recording, uint64_t num_earlier)  // for start()
      : options_(options), recording_(std::move(recording)), num_written_(num_earlier) {}
  Dumps(const Dumps &) = delete;

  // Ends the dumps. Call it once. Dumps that were requested before are written first. If the writing thread itself
  // calls this function, they are not: the program's log callback may end the recording.
  void finish() noexcept {
    recording_->alarm().disarm();
    if (generation_ != fork_generation()) return;  // a forked child does not have the thread
    if (pthread_equal(thread_, pthread_self())) has_finished_ = pthread_detach(thread_) == 0;
    else pthread_join(thread_, nullptr);
  }
  void request(std::string reason) {
    {
      const std::scoped_lock lock(guard_);
      request_ = std::move(reason);
    }
    recording_->alarm().raise_by_request();
  }
  // Includes dumps of earlier recordings.
  uint64_t num_written() const { return num_written_.load(std::memory_order_relaxed); }

 private:
  void arm() {
    const double ns_per_tick = ClockCalibration::measure(tick_clock()).ns_per_tick;
    AlarmOptions alarm{.on_error = options_.on_error, .signal = options_.signal};
    if (options_.slow_ns) alarm.slow_ticks = static_cast<uint64_t>(static_cast<double>(options_.slow_ns) / ns_per_tick);
    auto owner = std::make_unique<std::shared_ptr<Dumps>>(shared_from_this());
    recording_->alarm().arm(alarm);
    if (start_library_thread("opdyno-dump", &run, owner.get(), thread_)) return void(owner.release());
    recording_->alarm().disarm();
    fail(OPD_IO, "no thread that writes dumps can be started");
  }
  static void *run(void *owner) {
    const std::unique_ptr<std::shared_ptr<Dumps>> dumps(static_cast<std::shared_ptr<Dumps> *>(owner));
    (*dumps)->write_until_disarmed();
    return nullptr;
  }
  void write_until_disarmed() noexcept;
  // Dumps for a signal or a request of the program are not limited, because a person waits for them. Dumps for slow or
  // failed spans are, because each of many slow calls may trigger one.
  bool may_write(const Alarm::Raised &raised) {
    if (raised.by_signal || raised.by_request) return true;
    const uint64_t now = monotonic_ns();
    if (num_of_spans_ >= options_.most || (num_of_spans_ > 0 && now - last_ns_ < options_.min_interval_ns))
      return false;
    ++num_of_spans_;
    last_ns_ = now;
    return true;
  }
  void write(const Alarm::Raised &raised) {
    Recording::Notes notes{{"dump_reason", reason_of(raised)}};
    if (num_left_out_) notes.emplace_back("dumps_left_out", concat(num_left_out_));
    const std::string path = expand_path(options_.path, num_written_.load(std::memory_order_relaxed) + 1);
    std::error_code unknown;  // on an error, the path is not a pipe
    if (std::filesystem::is_fifo(path, unknown))
      fail(OPD_INVALID_ARGUMENT, path, " is a pipe: the end of the recording would wait until a program reads it");
    const Ref<Trace> trace = recording_->snapshot(notes);
    save_trace_file(path, options_.form, [&](ByteSink &out) { options_.write(*trace, options_.form, out); });
    num_written_.fetch_add(1, std::memory_order_relaxed);
    log_message(OPD_LOG_INFO, concat("wrote a dump of the recording to ", path, ": ", notes[0].second));
  }
  std::string reason_of(const Alarm::Raised &raised) {
    std::string reason;
    const auto add = [&](std::string_view text) { reason += concat(reason.empty() ? "" : "; ", text); };
    if (raised.by_request) {
      const std::scoped_lock lock(guard_);
      add(request_);
    }
    if (raised.by_signal) add(concat("signal ", options_.signal));
    if (const auto &span = raised.span) {
      std::string text =
          concat(name_text(span->name), " of thread ", span->thread_id, span->has_failed ? " failed after " : " took ");
      append_fixed(text, ClockCalibration::measure(tick_clock()).duration_ns(span->ticks) / 1e6, 3);
      add(text + " ms");
    }
    return reason;
  }

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

namespace {
// If there is no memory for the message, it is dropped.
void warn(std::string_view why) noexcept try {
  log_warning("a dump of the recording cannot be written: ", why);
} catch (...) {}
}  // namespace

void Dumps::write_until_disarmed() noexcept {
  while (!has_finished_) {  // afterwards the alarm may belong to another recording
    const Alarm::Raised raised = recording_->alarm().wait();
    if (!raised.is_any()) return;
    num_left_out_ += raised.other_spans;
    if (!may_write(raised)) {
      ++num_left_out_;
      continue;
    }
    try {
      write(raised);
      num_left_out_ = 0;
    } catch (const Exception &e) { warn(e.error()->message); } catch (...) {
      warn("out of memory");
    }
  }
}

// ---- profilers

Profiler::~Profiler() {
  if (running_.dumps) running_.dumps->finish();
}

// The action of a step decides whether it is recorded.
void Profiler::begin_step() {
  const ProfilerAction action = next_.value_or(schedule_.action_at(step_));
  if (records(action) && !running_.recording) {
    Running fresh{Recording::start(options_), nullptr};
    if (dumps_) fresh.dumps = Dumps::start(*dumps_, fresh.recording, num_dumps_);
    running_ = std::move(fresh);
  }
  next_.reset();
  action_ = action;
  step_begin_ = ticks_of(tick_clock());
}

void Profiler::set_action(ProfilerAction action) {
  std::scoped_lock lock(guard_);
  next_ = action;
  has_steps_ = true;
}

void Profiler::start() {
  auto activity = std::make_unique<StartedActivity>(source_);  // without the lock, because a vendor's library runs
  std::scoped_lock lock(guard_);
  if (is_started_) fail(OPD_FAILED_PRECONDITION, "the profiler was started already; stop it first");
  auto signal = dumps_ ? std::make_unique<AlarmSignal>(dumps_->signal) : nullptr;
  begin_step();
  signal_ = std::move(signal);
  is_started_ = true;
  activity_ = std::move(activity);
}

Ref<Trace> Profiler::step() {
  Running ended;
  {
    std::scoped_lock lock(guard_);
    const uint64_t step = step_++;
    has_steps_ = true;
    if (!is_started_) return nullptr;
    if (running_.recording) {
      running_.recording->add_step(step_begin_, step);
      const bool goes_on = records(next_.value_or(schedule_.action_at(step_)));
      if (action_ == ProfilerAction::kRecordAndSave || !goes_on) ended = std::exchange(running_, {});
    }
  }
  Ref<Trace> trace = end(ended);  // ended before the next recording begins, which may write the same file
  std::string problem;
  try {
    std::scoped_lock lock(guard_);
    if (is_started_) begin_step();
  } catch (const Exception &e) {  // keep the complete trace; the next step tries again
    if (!trace) throw;
    problem = e.error()->message;
  }
  if (!problem.empty()) log_warning("the next cycle is not recorded: ", problem);
  if (ended.recording) ended.recording->require_written();
  return trace;
}

Ref<Trace> Profiler::stop() {
  std::unique_ptr<StartedActivity> activity;  // destroyed after the recording
  std::unique_ptr<AlarmSignal> signal;        // destroyed after the dumps
  Running ended;
  bool has_stepped;
  {
    std::scoped_lock lock(guard_);
    if (!is_started_) fail(OPD_FAILED_PRECONDITION, "the profiler was not started; start it first");
    is_started_ = false;
    has_stepped = schedule_.active == 0 || step_ > 0;
    signal = std::move(signal_);
    activity = std::move(activity_);
    if (running_.recording && has_steps_) running_.recording->add_step(step_begin_, step_);
    ended = std::exchange(running_, {});
  }
  if (!has_stepped) log_warning("the profiler has a schedule, but no step has ended, so it is in its first step still");
  Ref<Trace> trace = end(ended);
  if (ended.recording) ended.recording->require_written();
  return trace;
}

// Reading a file may take long, so a thread that triggers a dump does not wait for it.
Ref<Trace> Profiler::snapshot() {
  Ref<Recording> recording;
  {
    std::scoped_lock lock(guard_);
    if (!is_started_) fail(OPD_FAILED_PRECONDITION, "the profiler was not started; start it first");
    recording = running_.recording;
  }
  return recording ? recording->snapshot() : nullptr;
}

Ref<Trace> Profiler::end(const Running &ended) {
  if (ended.dumps) {
    ended.dumps->finish();
    std::scoped_lock lock(guard_);
    num_dumps_ = std::max(num_dumps_, ended.dumps->num_written());
  }
  return ended.recording ? ended.recording->stop() : nullptr;
}

void Profiler::dump(std::string reason) {
  std::scoped_lock lock(guard_);
  if (!running_.dumps)
    fail(OPD_FAILED_PRECONDITION,
         dumps_ ? "the profiler does not record now" : "the profiler has no dumps; set them first");
  running_.dumps->request(std::move(reason));
}

uint64_t Profiler::num_dumps() const {
  std::scoped_lock lock(guard_);
  return running_.dumps ? running_.dumps->num_written() : num_dumps_;
}

}  // namespace opd
