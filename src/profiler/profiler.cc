#include "profiler/profiler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace opd {

int32_t Profiler::type() {
  static const int32_t index = register_type("opdyno.Profiler");
  return index;
}

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
  Ref<Trace> trace = end(std::move(ended));  // ended before the next recording begins, which may write the same file
  std::string problem;
  try {
    std::scoped_lock lock(guard_);
    if (is_started_) begin_step();
  } catch (const Exception &e) {  // keep the complete trace; the next step tries again
    if (!trace) throw;
    problem = e.error()->message;
  }
  if (!problem.empty()) log_warning("the next cycle is not recorded: ", problem);
  return trace;
}

Ref<Trace> Profiler::stop() {
  std::unique_ptr<StartedActivity> activity;  // destroyed after the recording
  std::unique_ptr<AlarmSignal> signal;        // destroyed after the dumps
  Running ended;
  {
    std::scoped_lock lock(guard_);
    if (!is_started_) fail(OPD_FAILED_PRECONDITION, "the profiler was not started; start it first");
    is_started_ = false;
    signal = std::move(signal_);
    activity = std::move(activity_);
    if (running_.recording && has_steps_) running_.recording->add_step(step_begin_, step_);
    ended = std::exchange(running_, {});
  }
  return end(std::move(ended));
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

Ref<Trace> Profiler::end(Running ended) {
  if (ended.dumps) {
    ended.dumps->finish();
    std::scoped_lock lock(guard_);
    num_dumps_ = std::max(num_dumps_, ended.dumps->num_written());
  }
  return ended.recording ? ended.recording->stop() : nullptr;
}

void Profiler::set_dumps(std::optional<DumpOptions> options) {
  std::scoped_lock lock(guard_);
  if (is_started_) fail(OPD_FAILED_PRECONDITION, "dumps are set before the profiler is started");
  require(!options || !is_memory_timeline(options->form) || options_.memory,
          "dumps of a memory timeline need a profiler with profile_memory");
  dumps_ = std::move(options);
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
