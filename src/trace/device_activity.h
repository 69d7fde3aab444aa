// Activity of devices that their own library reports: of all code in the process, not only what this library gave them.
#pragma once

namespace opd {

// Lives as long as the process. Calls of start() and stop() come one at a time, those of flush() also at once, while
// the source is started.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  // Reports activity from now on, until stop(). Throws OPD_UNSUPPORTED with the reason.
  virtual void start() = 0;
  virtual void stop() noexcept = 0;
  // Adds to the events what has been reported. `waits`: first waits for the work that the devices have.
  virtual void flush(bool waits) noexcept = 0;
};

// Keeps a source started.
class StartedActivity {
 public:
  explicit StartedActivity(ActivitySource *source) : source_(source) {
    if (source_) source_->start();
  }
  ~StartedActivity() {
    if (source_) source_->stop();
  }
  StartedActivity(const StartedActivity &) = delete;

 private:
  ActivitySource *const source_;
};

}  // namespace opd
