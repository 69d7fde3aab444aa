#include "profiler/profiler.h"

namespace opd {

int32_t Profiler::type() {
  static const int32_t index = register_type("opdyno.Profiler");
  return index;
}

// Its action says whether it is recorded.
void Profiler::begin_step() {
  const ProfilerAction action = next_.value_or(schedule_.action_at(step_));
  if (records(action) && !recording_) recording_ = Recording::start(options_);
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
  std::scoped_lock lock(guard_);
  if (is_started_) fail(OPD_FAILED_PRECONDITION, "the profiler was started already; stop it first");
  begin_step();
  is_started_ = true;
}

Ref<Trace> Profiler::step() {
  std::scoped_lock lock(guard_);
  const uint64_t step = step_++;
  has_steps_ = true;
  if (!is_started_) return nullptr;
  Ref<Trace> trace;
  if (recording_) {
    recording_->add_step(step_begin_, step);
    const bool goes_on = records(next_.value_or(schedule_.action_at(step_)));
    if (action_ == ProfilerAction::kRecordAndSave || !goes_on) trace = end_recording();
  }
  begin_step();
  return trace;
}

Ref<Trace> Profiler::stop() {
  std::scoped_lock lock(guard_);
  if (!is_started_) fail(OPD_FAILED_PRECONDITION, "the profiler was not started; start it first");
  is_started_ = false;
  if (recording_ && has_steps_) recording_->add_step(step_begin_, step_);
  return end_recording();
}

Ref<Trace> Profiler::snapshot() {
  std::scoped_lock lock(guard_);
  if (!is_started_) fail(OPD_FAILED_PRECONDITION, "the profiler was not started; start it first");
  return recording_ ? recording_->snapshot() : nullptr;
}

Ref<Trace> Profiler::end_recording() {
  const Ref<Recording> recording = std::exchange(recording_, nullptr);
  return recording ? recording->stop() : nullptr;
}

}  // namespace opd
