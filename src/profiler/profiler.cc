#include "profiler/profiler.h"

namespace opd {

int32_t Profiler::type() {
  static const int32_t index = register_type("opdyno.Profiler");
  return index;
}

void Profiler::start() {
  std::scoped_lock lock(guard_);
  if (recording_) fail(OPD_FAILED_PRECONDITION, "the profiler records already; stop it first");
  recording_ = Recording::start(options_);
}

Ref<Trace> Profiler::stop() {
  Ref<Recording> recording;
  {
    std::scoped_lock lock(guard_);
    if (!recording_) fail(OPD_FAILED_PRECONDITION, "the profiler does not record; start it first");
    if (recording_->is_of_this_thread())
      fail(OPD_FAILED_PRECONDITION, "a profiler cannot be stopped from inside of a call, whose end it waits for");
    recording = std::exchange(recording_, nullptr);
  }
  return recording->stop();
}

}  // namespace opd
