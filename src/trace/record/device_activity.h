// Activity of devices that their own library reports: of all code in the process, not only what this library gave them.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/static_guard.h"

namespace opd {

// Lives as long as the process. Calls of start() and stop() come one at a time, those of flush() and poll() also at
// once, while the source is started.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  // Reports activity from now on, until stop(). Throws OPD_UNSUPPORTED with the reason.
  virtual void start() = 0;
  virtual void stop() noexcept = 0;
  // Adds to the events what has been reported. `waits`: first waits for the work that the devices have.
  virtual void flush(bool waits) noexcept = 0;
  // The same without waiting, called now and then, so that little is lost if the process is killed. Sources whose
  // library hands its records over by itself do nothing.
  virtual void poll() noexcept {}
};

namespace detail {
extern std::atomic<ActivitySource *> running_activity;  // null: no recording has asked for it
}
// For each recording with the work of devices, also if another one asked for the activity: what reports it takes the
// place of events around the work.
inline void flush_running_activity(bool waits) noexcept {
  if (ActivitySource *const source = detail::running_activity.load(std::memory_order_acquire)) source->flush(waits);
}

// Keeps a source started.
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
