// Activity of devices as their own library reports it. It covers all code in the process, not only this library's work.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/static_guard.h"

namespace opd {

// A source lives as long as the process. Calls of start() and stop() are serialised. flush() and poll() may be called
// concurrently while the source is started.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  // Reports activity until stop(). Throws OPD_UNSUPPORTED with the reason.
  virtual void start() = 0;
  virtual void stop() noexcept = 0;
  // Adds the reported activity to the events. `waits`: first waits for the submitted work of the devices.
  virtual void flush(bool waits) noexcept = 0;
  // Like flush() without waiting. Called now and then, so that little is lost if the process is killed. Does nothing if
  // the source's library delivers its records by itself.
  virtual void poll() noexcept {}
};

namespace detail {
extern std::atomic<ActivitySource *> running_activity;  // null: no recording has asked for it
}
// To be called for each recording with the work of devices, even if another recording asked for the activity: the
// activity replaces events around the work.
inline void flush_running_activity(bool waits) noexcept {
  if (ActivitySource *const source = detail::running_activity.load(std::memory_order_acquire)) source->flush(waits);
}

// Starts a source, and stops it in the destructor.
class StartedActivity {
 public:
  explicit StartedActivity(ActivitySource *source) : source_(source) {
    if (source_) source_->start();
  }
  ~StartedActivity() {
    if (source_ && generation_ == fork_generation()) source_->stop();  // a child of fork() has not started it
  }
  StartedActivity(const StartedActivity &) = delete;

 private:
  ActivitySource *const source_;
  const uint32_t generation_ = fork_generation();
};

}  // namespace opd
