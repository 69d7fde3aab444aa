#include "profiler/dumps.h"

#include <filesystem>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/library_thread.h"
#include "base/log.h"
#include "base/path_pattern.h"

namespace opd {

std::shared_ptr<Dumps> Dumps::start(const DumpOptions &options, Ref<Recording> recording, uint64_t num_earlier) {
  auto dumps = std::make_shared<Dumps>(options, std::move(recording), num_earlier);
  dumps->arm();
  return dumps;
}

void Dumps::arm() {
  const double ns_per_tick = ClockCalibration::measure(tick_clock()).ns_per_tick;
  AlarmOptions alarm{.on_error = options_.on_error, .signal = options_.signal};
  if (options_.slow_ns) alarm.slow_ticks = static_cast<uint64_t>(static_cast<double>(options_.slow_ns) / ns_per_tick);
  auto owner = std::make_unique<std::shared_ptr<Dumps>>(shared_from_this());
  recording_->alarm().arm(alarm);
  if (start_library_thread("opdyno-dump", &run, owner.get(), thread_)) return void(owner.release());
  recording_->alarm().disarm();
  fail(OPD_IO, "no thread that writes dumps can be started");
}

void Dumps::finish() noexcept {
  recording_->alarm().disarm();
  if (generation_ != fork_generation()) return;  // a forked child does not have the thread
  if (pthread_equal(thread_, pthread_self())) has_finished_ = pthread_detach(thread_) == 0;
  else pthread_join(thread_, nullptr);
}

void Dumps::request(std::string reason) {
  {
    const std::scoped_lock lock(guard_);
    request_ = std::move(reason);
  }
  recording_->alarm().raise_by_request();
}

void *Dumps::run(void *owner) {
  const std::unique_ptr<std::shared_ptr<Dumps>> dumps(static_cast<std::shared_ptr<Dumps> *>(owner));
  (*dumps)->write_until_disarmed();
  return nullptr;
}

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

// Dumps for a signal or a request of the program are not limited, because a person waits for them. Dumps for slow or
// failed spans are, because each of many slow calls may trigger one.
bool Dumps::may_write(const Alarm::Raised &raised) {
  if (raised.by_signal || raised.by_request) return true;
  const uint64_t now = monotonic_ns();
  if (num_of_spans_ >= options_.most || (num_of_spans_ > 0 && now - last_ns_ < options_.min_interval_ns)) return false;
  ++num_of_spans_;
  last_ns_ = now;
  return true;
}

std::string Dumps::reason_of(const Alarm::Raised &raised) {
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

void Dumps::write(const Alarm::Raised &raised) {
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

}  // namespace opd
