#include "trace/record/alarm.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "trace/record/recorder.h"

namespace opd {

std::atomic<uint64_t> detail::slow_ticks{UINT64_MAX};
std::atomic<bool> detail::error_alarms{false};

namespace {

void sum_up() {
  const Recorder &recorder = Recorder::get();
  uint64_t slow_ticks = UINT64_MAX;
  bool on_error = false;
  for (const Slot &slot : recorder.slots) {
    slow_ticks = std::min(slow_ticks, slot.alarm.slow_ticks());
    on_error |= slot.alarm.listens_to_errors();
  }
  detail::slow_ticks.store(slow_ticks, std::memory_order_relaxed);
  detail::error_alarms.store(on_error, std::memory_order_relaxed);
}

}  // namespace

void Alarm::arm(const AlarmOptions &options) noexcept {
  const std::scoped_lock lock(Recorder::get().guard);
  // If a thread of the parent was writing the span during fork(), nothing completes it in the child, so the state is
  // reset. In the same process, such a span may still arrive late; it then causes one extra dump.
  if (std::exchange(generation_, fork_generation()) != fork_generation()) span_state_.store(State::kNone);
  State written = State::kWritten;
  span_state_.compare_exchange_strong(written, State::kNone);
  while (sem_trywait(&wakes_) == 0) {}
  by_signal_.store(false);
  by_request_.store(false);
  other_spans_.store(0);
  slow_ticks_.store(options.slow_ticks);
  on_error_.store(options.on_error);
  is_armed_.store(true);
  signal_.store(options.signal);
  sum_up();
}

void Alarm::disarm() noexcept {
  signal_.store(0);
  {
    const std::scoped_lock lock(Recorder::get().guard);
    slow_ticks_.store(UINT64_MAX);
    on_error_.store(false);
    sum_up();
  }
  is_armed_.store(false);
  sem_post(&wakes_);
}

void Alarm::raise(std::atomic<bool> &cause) noexcept {
  if (is_armed_.load() && !cause.exchange(true)) sem_post(&wakes_);
}

void Alarm::raise(NameId name, uint64_t ticks, bool has_failed) noexcept {
  if (!is_armed_.load()) return;
  State none = State::kNone;
  if (!span_state_.compare_exchange_strong(none, State::kBeingWritten)) {
    other_spans_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  span_ = {name, ticks, ::syscall(SYS_gettid), has_failed};
  span_state_.store(State::kWritten);
  sem_post(&wakes_);
}

Alarm::Raised Alarm::wait() noexcept {
  for (;;) {
    const bool was_armed = is_armed_.load();  // read first, so that anything raised before the disarming is seen
    Raised raised;
    raised.by_signal = by_signal_.exchange(false);
    raised.by_request = by_request_.exchange(false);
    if (span_state_.load() == State::kWritten) {
      raised.span = span_;
      span_state_.store(State::kNone);
    }
    // Count them even without a span: others may have come after the last span was taken and before its place was free.
    if (raised.is_any()) raised.other_spans = other_spans_.exchange(0);
    if (raised.is_any() || !was_armed) return raised;
    while (sem_wait(&wakes_) != 0 && errno == EINTR) {}
  }
}

void raise_alarms(int signal) noexcept {
  for (Slot &slot : Recorder::get().slots)
    if (slot.alarm.listens_to(signal)) slot.alarm.raise_by_signal();
}

}  // namespace opd
