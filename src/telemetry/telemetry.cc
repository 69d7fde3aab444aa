#include "telemetry/telemetry.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/static_guard.h"
#include "device/memory/device_memory.h"
#include "value/dtype.h"
#include "vm/vm.h"

namespace opd {
namespace {

constexpr uint64_t kFoldNs = 1000 * kNsPerMs;       // longest interval between folds
constexpr uint64_t kLookNs = 200 * kNsPerMs;        // interval at which events are counted
constexpr uint64_t kManyPending = 1 << 18;          // folded at once: 16 MiB, a quarter of the default ring
constexpr uint64_t kExitNs = 1000 * kNsPerMs;       // the longest wait at process exit
constexpr size_t kMostInRequest = 512;              // spans; the default of OpenTelemetry's exporters
constexpr uint64_t kLongestNs = uint64_t{1} << 62;  // 146 years; the sum with the present time fits 63 bits

std::chrono::steady_clock::time_point moment(uint64_t ns) {  // the same clock as monotonic_ns()
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(std::min(ns, kLongestNs)));
}

}  // namespace

// The running sessions. A fork and the end of the process must reach each of them.
struct TelemetrySessions {
  ForkMutex guard{LockRank::kTelemetrySessions};
  std::vector<std::shared_ptr<TelemetrySession>> running;

  static TelemetrySessions &get() {
    static auto *const sessions = [] {
      auto *const made = new TelemetrySessions;  // never destroyed: threads may use it while the process exits
      // This handler is registered after the handlers of the locks, which are therefore free in the child.
      pthread_atfork(nullptr, nullptr, [] { get().forget_all(); });
      std::atexit([] { get().finish_all(); });
      return made;
    }();
    return *sessions;
  }

  void add(std::shared_ptr<TelemetrySession> session) {
    const std::scoped_lock lock(guard);
    running.push_back(std::move(session));
  }
  void remove(const TelemetrySession *session) noexcept {
    std::shared_ptr<TelemetrySession> removed;  // destroyed after the lock is released
    const std::scoped_lock lock(guard);
    const auto found = std::ranges::find(running, session, &std::shared_ptr<TelemetrySession>::get);
    if (found == running.end()) return;
    removed = std::move(*found);
    running.erase(found);
  }

 private:
  void finish_all() {
    std::vector<std::shared_ptr<TelemetrySession>> all;
    {
      const std::scoped_lock lock(guard);
      all = running;
    }
    // One deadline for all sessions, so that they do not delay the exit one after the other.
    const uint64_t end = monotonic_ns() + kExitNs;
    for (const auto &session : all) {
      const uint64_t now = monotonic_ns();
      session->finish(end > now ? end - now : 0);
    }
  }
  void forget_all() noexcept {
    // No lock is needed: fork() held it, and the child has one thread.
    for (const auto &session : running) session->forget();
  }
};

// ---- start and end
//
// `guard_` is held while events are read (fold()), so a scrape may wait for that. It is not held while data are sent or
// received, or while a callback of the program runs: a slow collector delays only the sending thread.

TelemetrySession::TelemetrySession(TelemetrySettings settings)
    : settings_(std::move(settings)),
      since_ns_(unix_ns()),
      server_([this](std::string_view path, std::string_view accept) { return answer(path, accept); }),
      generation_(fork_generation()),
      calls_(settings_.max_series),
      queue_(settings_.max_queue),
      spans_(settings_.per_operator, queue_) {
  if (!settings_.otlp.empty()) post_.emplace(HttpUrl::parse(settings_.otlp), settings_);
}

std::shared_ptr<TelemetrySession> TelemetrySession::start(TelemetrySettings settings) {
  complete_settings(settings);
  auto session = std::make_shared<TelemetrySession>(std::move(settings));
  session->begin();
  return session;
}

// A thread owns the session: while it runs, the program may release its handle, and finish() may give up.
struct TelemetrySession::Thread {
  std::shared_ptr<TelemetrySession> session;
  void (TelemetrySession::*body)() noexcept;

  static void *run(void *given) {
    const std::unique_ptr<Thread> self(static_cast<Thread *>(given));
    (self->session.get()->*self->body)();
    // The lock is declared after `self`, so that it ends first: `self` may have the last reference to the session.
    const std::scoped_lock lock(self->session->guard_);
    --self->session->num_threads_;
    self->session->changed_.notify_all();
    return nullptr;
  }
  static void start(const char *name, std::shared_ptr<TelemetrySession> session,
                    void (TelemetrySession::*body)() noexcept) {
    // The thread is counted before it runs, so that finish() does not find 0 while a thread is about to begin.
    auto self = std::make_unique<Thread>(Thread{std::move(session), body});
    {
      const std::scoped_lock lock(self->session->guard_);
      ++self->session->num_threads_;
    }
    pthread_t thread;
    if (!start_library_thread(name, &run, self.get(), thread)) {
      const std::scoped_lock lock(self->session->guard_);
      --self->session->num_threads_;
      fail(OPD_IO, "no thread for telemetry can be started");
    }
    self.release();
    // Detached, because finish() has a deadline and pthread_join() has none. The thread owns the session while it runs.
    pthread_detach(thread);
  }
};

void TelemetrySession::begin() {
  if (!settings_.prometheus.empty()) server_.open(settings_.prometheus);
  RecordingOptions options;
  options.calls = settings_.per_operator;
  options.outcomes = true;
  // take_parts() needs a recording that does not wait. If this session is late, it loses the oldest events and counts
  // them.
  options.waits = false;
  options.overwrites = true;
  options.max_bytes = settings_.max_bytes;
  {
    const std::scoped_lock lock(guard_);
    recording_ = Recording::start(options);
  }
  // The session is added before the threads begin, so that a child of fork() closes the sockets.
  TelemetrySessions::get().add(shared_from_this());
  try {
    Thread::start("opdyno-metrics", shared_from_this(), &TelemetrySession::serve);
    if (post_) Thread::start("opdyno-otlp", shared_from_this(), &TelemetrySession::send);
  } catch (...) {
    finish(0);
    throw;
  }
}

void TelemetrySession::finish(uint64_t patience_ns) noexcept {
  if (generation_ != fork_generation())
    return TelemetrySessions::get().remove(this);  // a forked child does not have the threads
  const uint64_t end = monotonic_ns() + std::min(patience_ns, kLongestNs);
  // Set the end before waking the threads, which check it.
  end_ns_.store(end, std::memory_order_relaxed);
  {
    const std::scoped_lock lock(guard_);
    is_ending_ = true;
  }
  serve_wake_.raise();
  send_wake_.raise();
  Ref<Recording> ended;
  {
    std::unique_lock lock(guard_);
    changed_.notify_all();
    changed_.wait_until(lock, moment(end), [this] { return num_threads_ == 0; });
    // `ended` is released at the end, without the lock. A thread that is still running finds no recording to fold.
    ended = std::move(recording_);
  }
  TelemetrySessions::get().remove(this);  // removed last: a child that is forked before this closes the sockets
}

void TelemetrySession::forget() noexcept {
  server_.close_all();  // these sockets are the parent's
  if (post_) post_->close();
  serve_wake_.close(), send_wake_.close();
  // The parent's recording does not include this process: a child records only if it starts its own session.
  recording_ = nullptr;
  is_ending_ = true;
  num_threads_ = 0;
}

Telemetry::~Telemetry() { session->finish(kExitNs); }

void start_telemetry_of_environment(const char *version, const char *abi) noexcept try {
  // A program with more rights than its caller must not open sockets that the caller names.
  const char *const text = ::secure_getenv("OPDYNO_TELEMETRY");
  if (!text || !*text) return;
  // An invalid value only causes a warning, because the library must load.
  try {
    TelemetrySettings settings = read_telemetry_variable(text);
    settings.version = version, settings.abi = abi;
    TelemetrySession::start(std::move(settings));  // until the process ends
  } catch (const Exception &e) { log_variable_warning("OPDYNO_TELEMETRY: " + e.error()->message); }
} catch (const std::bad_alloc &) {}  // without memory, no telemetry is started

// ---- the thread that folds and serves

void TelemetrySession::fold() {
  const std::scoped_lock lock(guard_);
  if (!recording_) return;
  // Called under the lock, because only one thread at a time may take events. Both threads of the session call this,
  // and threads of the program that call text() or flush().
  const TraceParts parts = recording_->take_parts();
  uint64_t dropped = 0;
  for (const TraceTrack &track : parts.tracks) dropped += track.dropped;
  // The counter must not decrease: Prometheus would take that for a restart.
  stats_.events_dropped = std::max(stats_.events_dropped, dropped);
  calls_.add(parts);
  if (!sends_spans()) return;
  spans_.add(parts);
  // While the queue is empty, the sending thread sleeps until the next metrics are due.
  if (queue_.size() > 0) changed_.notify_all();
}

void TelemetrySession::serve() noexcept {
  for (uint64_t next_fold = monotonic_ns() + kFoldNs; end_ns_.load(std::memory_order_relaxed) == UINT64_MAX;) {
    try {
      server_.serve_until(std::min(next_fold, monotonic_ns() + kLookNs), serve_wake_.fd());
    } catch (const std::bad_alloc &) {}
    uint64_t pending = 0;
    {
      const std::scoped_lock lock(guard_);
      if (recording_) pending = recording_->num_pending();
      if (queue_.size() > 0) changed_.notify_all();  // sends together the spans added since the last round
    }
    const uint64_t now = monotonic_ns();
    // Without this, only scrapes would empty the ring, and it would lose events between them.
    if (pending < kManyPending && now < next_fold) continue;
    try {
      if (pending > 0) fold();
    } catch (...) {}  // no memory: the events stay for the next fold, or the ring drops them
    next_fold = now + kFoldNs;
  }
  server_.close_all();
}

HttpAnswer TelemetrySession::answer(std::string_view path, std::string_view accept) {
  if (path != "/metrics")
    return {"404 Not Found", "text/plain; charset=utf-8", "There is nothing here. Metrics are at /metrics.\n"};
  {
    const std::scoped_lock lock(guard_);
    ++stats_.scrapes;
  }
  const bool open_metrics = accept.find("application/openmetrics-text") != accept.npos;
  const char *const type = open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                        : "text/plain; version=0.0.4; charset=utf-8";
  return {"200 OK", type, text(open_metrics)};
}

// ---- the metrics

namespace {

void add_memory(std::vector<Series> &all) {
  Series bytes{"opdyno_memory_bytes", "opdyno.memory.usage", "By",
               "Memory of a device: live is in use, idle the part of it that VMs keep for their next calls, reserved "
               "what was taken from the system."};
  Series peak{"opdyno_memory_peak_bytes", "opdyno.memory.peak", "By", "The most memory of a device in use at a time."};
  for (const auto &[device, memory] : DeviceMemory::all_used()) {
    const opd_memory_stats stats = memory->stats();
    const std::string name = device_name(device);
    const auto add = [&](const char *kind, uint64_t value) {
      bytes.points.push_back({{{"device", name}, {"kind", kind}}, static_cast<double>(value)});
    };
    add("live", stats.live_bytes), add("reserved", stats.reserved_bytes), add("idle", Vm::idle_bytes(device));
    peak.points.push_back({{{"device", name}}, static_cast<double>(stats.peak_bytes)});
  }
  all.push_back(std::move(bytes)), all.push_back(std::move(peak));
}

}  // namespace

std::vector<Series> TelemetrySession::metrics() {
  using enum SeriesKind;
  // Fold first, so that the metrics include all ended calls.
  fold();
  std::vector<Series> all;
  const auto add = [&](const char *name, const char *otlp_name, const char *unit, const char *help, SeriesKind kind,
                       uint64_t value) {
    all.push_back(single(name, otlp_name, unit, help, kind, static_cast<double>(value)));
  };
  add("opdyno_build_info", "opdyno.build", "1", "The library; always 1.", kGauge, 1);
  all.back().points[0].labels = {{"version", settings_.version}, {"abi", settings_.abi}};
  // These metrics are computed before `guard_` is taken, because they take locks of lower ranks.
  add("opdyno_modules", "opdyno.modules", "{module}", "Modules that are loaded, imports included.", kGauge,
      Module::count());
  add("opdyno_vms", "opdyno.vms", "{vm}", "Virtual machines that there are.", kGauge, Vm::count());
  add_memory(all);
  if (settings_.process_metrics) add_process_metrics(all);
  const TelemetryStats now = stats();
  const std::scoped_lock lock(guard_);
  calls_.write(all, settings_.per_operator);
  add("opdyno_events_dropped", "opdyno.events.dropped", "{event}",
      "Events for which the ring had no room: calls that are in no other metric.", kCounter, now.events_dropped);
  if (post_) {
    add("opdyno_spans_sent", "opdyno.spans.sent", "{span}", "Spans that the collector took.", kCounter, now.spans_sent);
    add("opdyno_spans_dropped", "opdyno.spans.dropped", "{span}",
        "Spans for which the queue had no room, or that the collector refused.", kCounter, now.spans_dropped);
    add("opdyno_sends_failed", "opdyno.sends.failed", "{request}", "Requests that the collector did not take.",
        kCounter, now.sends_failed);
  }
  all.insert(all.end(), own_.begin(), own_.end());
  return all;
}

std::string TelemetrySession::text(bool open_metrics) {
  if (generation_ != fork_generation())
    fail(OPD_FAILED_PRECONDITION, "the telemetry session belongs to the parent process; start another one");
  return prometheus_text(metrics(), open_metrics);
}

void TelemetrySession::set_value(Series series) {
  const std::scoped_lock lock(guard_);
  const auto same_name = std::ranges::find(own_, series.name, &Series::name);
  Point &given = series.points.at(0);
  if (same_name != own_.end()) {
    require(same_name->kind == series.kind, "the metric ", series.name, " is of another kind already");
    const auto same_labels = std::ranges::find(same_name->points, given.labels, &Point::labels);
    if (same_labels != same_name->points.end()) return void(same_labels->value = given.value);
  }
  // Labels may have any values, such as the id of a request: without a limit they would fill the memory.
  if (num_own_ >= settings_.max_series)
    fail(OPD_OUT_OF_RANGE, "the program has ", num_own_, " label sets of metrics of its own, which is the most");
  if (same_name != own_.end()) same_name->points.push_back(std::move(given));
  else own_.push_back(std::move(series));
  ++num_own_;
}

// No thread is woken: serve() checks the queue within kLookNs, so spans that are added together are sent together.
void TelemetrySession::add_span(SentSpan span) {
  const std::scoped_lock lock(guard_);
  if (sends_spans() && span.is_kept) queue_.add(std::move(span));
}

TelemetryStats TelemetrySession::stats() {
  const std::scoped_lock lock(guard_);
  TelemetryStats all = stats_;
  all.spans_dropped += queue_.num_dropped();
  all.spans_waiting = queue_.size();
  return all;
}

// ---- the thread that sends

// No lock is held, because a callback of the program gets the warning.
void TelemetrySession::note_result(const HttpPost::Result &result) {
  bool is_first = false;
  {
    const std::scoped_lock lock(guard_);
    if (!result.is_success()) ++stats_.sends_failed;
    is_first = !result.is_success() && !std::exchange(is_failing_, !result.is_success());
    if (result.is_success()) is_failing_ = false;
  }
  if (is_first) log_warning("telemetry is not sent: ", result.problem, "; further failures are counted");
}

// Returns whether there is nothing more to do now.
bool TelemetrySession::send_spans() {
  std::vector<SentSpan> batch;
  {
    const std::scoped_lock lock(guard_);
    batch = queue_.take(kMostInRequest);
  }
  if (batch.empty()) return true;
  const HttpPost::Result result = post_->send("/v1/traces", otlp_spans(batch, settings_), end_ns_, send_wake_.fd());
  // A collector may accept a request and refuse some of its spans.
  const uint64_t rejected =
      result.is_success() ? std::min<uint64_t>(rejected_spans(result.body), batch.size()) : batch.size();
  note_result(result);
  const std::scoped_lock lock(guard_);
  if (result.is_success()) span_pause_.succeed();
  else span_pause_.fail(result.retry_after_ns), problem_ = result.problem;
  // Spans that were refused permanently are dropped: they would be refused again and delay all others.
  if (!result.is_success() && result.is_transient()) return queue_.give_back(std::move(batch)), true;
  stats_.spans_sent += batch.size() - rejected;
  stats_.spans_dropped += rejected;
  return !result.is_success();
}

void TelemetrySession::send_metrics() {
  // Metrics are not kept for a second try: they are sums since the start or present values, so the next request
  // replaces this one.
  const std::string body = otlp_metrics(metrics(), settings_, since_ns_, unix_ns());
  const HttpPost::Result result = post_->send("/v1/metrics", body, end_ns_, send_wake_.fd());
  note_result(result);
  const std::scoped_lock lock(guard_);
  if (result.is_success()) metric_pause_.succeed(), ++stats_.metrics_sent;
  else metric_pause_.fail(result.retry_after_ns), problem_ = result.problem;
}

void TelemetrySession::send() noexcept {
  for (uint64_t next_metrics = monotonic_ns() + settings_.interval_ns;;) {
    uint64_t flush;
    bool ends, is_asked, has_spans;
    {
      std::unique_lock lock(guard_);
      const auto is_urgent = [this] { return is_ending_ || flushes_wanted_ > flushes_done_; };
      for (;;) {
        const uint64_t now = monotonic_ns(), metrics_at = std::max(next_metrics, metric_pause_.next_ns());
        const uint64_t spans_at = queue_.size() > 0 ? span_pause_.next_ns() : UINT64_MAX;
        if (is_urgent() || now >= std::min(metrics_at, spans_at)) break;
        changed_.wait_until(lock, moment(std::min(metrics_at, spans_at)));
      }
      const uint64_t now = monotonic_ns();
      // These are read before anything is sent: a later flush may be for spans that this round does not send.
      ends = is_ending_, flush = flushes_wanted_, is_asked = is_urgent();
      // The pause after a failure is ignored if the program waits for a flush, or ends.
      has_spans = is_asked || (queue_.size() > 0 && now >= span_pause_.next_ns());
    }
    problem_.clear();
    try {
      if (is_asked) fold();
      while (has_spans && !send_spans()) {}
      if (is_asked || monotonic_ns() >= std::max(next_metrics, metric_pause_.next_ns())) {
        // The interval starts now: requests that a slow collector delayed are not sent later.
        next_metrics = monotonic_ns() + settings_.interval_ns;
        send_metrics();
      }
    } catch (const Exception &e) { problem_ = e.error()->message; } catch (...) {
    }  // no memory; the rest is tried again
    const std::scoped_lock lock(guard_);
    if (is_asked) flushes_done_ = flush, flush_problem_ = problem_;
    changed_.notify_all();
    if (ends) return;
  }
}

void TelemetrySession::flush(uint64_t timeout_ns) {
  if (generation_ != fork_generation())
    fail(OPD_FAILED_PRECONDITION, "the telemetry session belongs to the parent process; start another one");
  if (!post_) return fold();
  std::unique_lock lock(guard_);
  const uint64_t wanted = ++flushes_wanted_, end = monotonic_ns() + std::min(timeout_ns, kLongestNs);
  changed_.notify_all();
  // If the session has ended, no thread can answer.
  if (!changed_.wait_until(lock, moment(end), [&] { return flushes_done_ >= wanted || num_threads_ == 0; }))
    fail(OPD_DEADLINE_EXCEEDED, "the collector at ", post_->url().authority(),
         " did not accept all data before the timeout");
  if (!flush_problem_.empty()) fail(OPD_IO, flush_problem_);
}

}  // namespace opd
