// Handles requests of the control socket's clients: for a recording, or for the operators' activity second by second.
// docs/tracing.md describes the protocol.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/byte_sink.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_document.h"
#include "base/json_writer.h"
#include "control/control.h"
#include "trace_views/key_averages.h"
#include "trace_views/trace_report.h"

namespace opd {

namespace {

// ---- the connection

constexpr uint64_t kPatienceNs = 30'000'000'000;  // longest wait for a client that does not read

// Waits for the events until `until_ns`. Returns 0 at that time. An error of the socket is also an event.
short poll_until(int fd, short events, uint64_t until_ns) {
  for (;;) {
    const uint64_t now = monotonic_ns();
    constexpr uint64_t kMostMs = 3'600'000;
    const uint64_t left_ms = until_ns > now ? std::min((until_ns - now + kNsPerMs - 1) / kNsPerMs, kMostMs) : 0;
    pollfd waiting{fd, events, 0};
    const int found = ::poll(&waiting, 1, static_cast<int>(left_ms));
    if (found > 0) return waiting.revents;
    if (found < 0 && errno != EINTR) return POLLERR;
    if (monotonic_ns() >= until_ns) return 0;
  }
}

// One client of the control socket. It sends lines of JSON, and receives lines of JSON and bytes that a line announces.
// All sizes and waits are bounded, because a client may send anything, send slowly, or stop reading.
class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  Connection(const Connection &) = delete;

  enum class Waited { kLine, kGone, kTime };
  // Waits for a line, for the end of the connection, or until `until_ns` of monotonic_ns(). A client that only stops
  // sending is still connected. Throws OPD_INVALID_ARGUMENT if the line is too long.
  Waited wait(uint64_t until_ns) {
    for (;;) {
      if (received_.find('\n') != std::string::npos) return Waited::kLine;
      require(received_.size() < kMostLine, "a request has at most ", kMostLine, " bytes");
      const short found = poll_until(fd_, has_ended_ ? 0 : POLLIN, until_ns);
      if (!found) return Waited::kTime;
      if (found & POLLIN) receive();
      else return Waited::kGone;
      if (found & POLLHUP && received_.find('\n') == std::string::npos && has_ended_) return Waited::kGone;
    }
  }

  // Call it after kLine. Returns the line without its break.
  std::string take_line() {
    const size_t end = received_.find('\n');
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }

  // Throws OPD_IO if the client is gone, or has read nothing for half a minute.
  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
      else if (errno == EAGAIN && !poll_until(fd_, POLLOUT, monotonic_ns() + kPatienceNs))
        fail(OPD_IO, "the client does not read");
      else if (errno != EAGAIN && errno != EINTR) fail(OPD_IO, "the client is gone");
    }
  }
  void send_line(std::string line) const { send(line += '\n'); }

 private:
  static constexpr size_t kMostLine = 4096;  // bytes of a request

  void receive() {
    char block[kMostLine];
    const ssize_t got = ::recv(fd_, block, kMostLine - received_.size(), MSG_DONTWAIT);
    if (got > 0) received_.append(block, static_cast<size_t>(got));
    else if (got == 0 || (errno != EAGAIN && errno != EINTR)) has_ended_ = true;
  }

  const int fd_;
  bool has_ended_ = false;  // the other side sends nothing more, so only the end of the connection can follow
  std::string received_;
};

// Sends data in pieces: a line {"bytes":N}, then N bytes.
class PieceSink final : public ByteSink {
 public:
  explicit PieceSink(const Connection &connection) : connection_(connection) {}
  void finish() {  // call it after the last byte
    if (piece_.empty()) return;
    connection_.send_line(concat("{\"bytes\":", piece_.size(), "}"));
    connection_.send(piece_);
    piece_.clear();
  }

 private:
  static constexpr size_t kPiece = 64 << 10;
  void put(const void *data, size_t size) override {
    for (std::string_view rest(static_cast<const char *>(data), size); !rest.empty();) {
      const size_t fits = std::min(kPiece - piece_.size(), rest.size());
      piece_.append(rest.substr(0, fits));
      rest.remove_prefix(fits);
      if (piece_.size() == kPiece) finish();
    }
  }

  const Connection &connection_;
  std::string piece_;
};

// ---- requests

constexpr uint64_t kRequestNs = 10'000'000'000;  // longest wait for a client's request
constexpr double kMostSeconds = 86'400, kLeastInterval = 0.01;
constexpr size_t kMostRows = 1000;
constexpr uint64_t kMostPending = 1 << 22;  // limit of events per interval, 256 MiB

struct ControlRequest {
  enum class What { kRecord, kTop, kStop };
  What what;
  opd_trace_format form = OPD_TRACE_CHROME;
  bool gzip = false, memory = false, all_calls = false;
  uint64_t max_events = 1 << 20;          // limit per thread
  uint64_t time_ns = 86'400'000'000'000;  // length of the recording, or of each interval
};

struct Form {
  std::string_view name;
  opd_trace_format form;
};
constexpr std::array kForms{Form{"chrome", OPD_TRACE_CHROME},
                            Form{"table", OPD_TRACE_TABLE},
                            Form{"stacks", OPD_TRACE_STACKS},
                            Form{"speedscope", OPD_TRACE_SPEEDSCOPE},
                            Form{"perfetto", OPD_TRACE_PERFETTO},
                            Form{"pprof", OPD_TRACE_PPROF},
                            Form{"html", OPD_TRACE_HTML},
                            Form{"flame", OPD_TRACE_FLAME_SVG},
                            Form{"memory", OPD_TRACE_MEMORY_TIMELINE},
                            Form{"memory_raw", OPD_TRACE_MEMORY_TIMELINE_RAW},
                            Form{"memory_html", OPD_TRACE_MEMORY_TIMELINE_HTML}};

// Reads the members of a request; each command has a subset of them.
class Reader {
 public:
  explicit Reader(std::string_view line) : document_(line, "request") {
    if (!cJSON_IsObject(document_.root())) document_.bad(document_.root(), "a request is an object");
  }

  ControlRequest read() {
    ControlRequest request{command()};
    for (const cJSON *member = document_.root()->child; member; member = member->next)
      if (const std::string key = document_.key(member); key != "do") read(request, key, member);
    return request;
  }

 private:
  using What = ControlRequest::What;

  What command() const {
    for (const cJSON *member = document_.root()->child; member; member = member->next) {
      if (document_.key(member) != "do") continue;
      const std::string name = cJSON_IsString(member) ? document_.text(member) : "";
      if (name == "record") return What::kRecord;
      if (name == "top") return What::kTop;
      if (name == "stop") return What::kStop;
      document_.bad(member, "\"do\" is one of \"record\", \"top\" and \"stop\"");
    }
    document_.bad(document_.root(), "a request has a member \"do\"");
  }

  void read(ControlRequest &request, const std::string &key, const cJSON *value) {
    const bool is_record = request.what == What::kRecord;
    if (is_record && key == "form") request.form = form(value);
    else if (is_record && key == "gzip") request.gzip = flag(value);
    else if (is_record && key == "memory") request.memory = flag(value);
    else if (key == "all_calls" && request.what != What::kStop) request.all_calls = flag(value);
    else if (is_record && key == "seconds") request.time_ns = duration_ns(value, 0);
    else if (is_record && key == "max_events") request.max_events = count(value);
    else if (request.what == What::kTop && key == "interval") request.time_ns = duration_ns(value, kLeastInterval);
    else document_.bad(value, concat("this request has no member \"", key, "\""));
  }

  bool flag(const cJSON *value) const {
    if (!cJSON_IsBool(value)) document_.bad(value, "true or false is expected");
    return cJSON_IsTrue(value);
  }
  uint64_t duration_ns(const cJSON *value, double least) const {
    const double seconds = cJSON_IsNumber(value) ? document_.real(value) : -1;
    if (!(seconds >= least && seconds <= kMostSeconds))
      document_.bad(value, concat("seconds from ", least, " to ", kMostSeconds, " are expected"));
    return static_cast<uint64_t>(seconds * 1e9);
  }
  uint64_t count(const cJSON *value) const {
    const int64_t number = cJSON_IsNumber(value) ? document_.integer(value) : 0;
    if (number <= 0) document_.bad(value, "a positive integer is expected");
    return static_cast<uint64_t>(number);
  }
  opd_trace_format form(const cJSON *value) const {
    const std::string name = cJSON_IsString(value) ? document_.text(value) : "";
    const auto *found = std::ranges::find(kForms, name, &Form::name);
    if (found != kForms.end()) return found->form;
    std::string known;
    for (const Form &each : kForms) known += concat(known.empty() ? "" : ", ", each.name);
    document_.bad(value, concat("a form is one of ", known));
  }

  const JsonDocument document_;
};

// Throws OPD_BAD_FORMAT or OPD_INVALID_ARGUMENT.
ControlRequest next_request(Connection &connection) { return Reader(connection.take_line()).read(); }

// Waits until `until_ns` or a stop request. Throws if the client disconnects.
bool is_stopped_before(Connection &connection, uint64_t until_ns) {
  switch (connection.wait(until_ns)) {
    case Connection::Waited::kTime:
      return false;
    case Connection::Waited::kGone:
      fail(OPD_IO, "the client is gone");
    default:
      require(next_request(connection).what == ControlRequest::What::kStop,
              "only {\"do\":\"stop\"} may follow a request");
      return true;
  }
}

RecordingOptions options_of(const ControlRequest &request) {
  RecordingOptions options;
  options.max_calls = request.max_events;
  options.all_calls = request.all_calls;
  options.memory = request.memory || is_memory_timeline(request.form);
  options.ranges = true;
  options.device_work = true;
  options.waits = false;
  return options;
}

void send_begin(Connection &connection) {
  const TraceProcess process = TraceProcess::of_this();
  JsonWriter json;
  json.begin_object().key("recording").begin_object().key("pid").value(process.id);
  json.key("process").value(process.name).end_object().end_object();
  connection.send_line(json.take());
}

void record(Connection &connection, const ControlRequest &request, const StartRecording &start, WriteTrace write) {
  Recording &running = start(options_of(request));
  const uint64_t end = monotonic_ns() + request.time_ns;
  send_begin(connection);
  is_stopped_before(connection, end);
  const Ref<Trace> trace = running.stop();
  PieceSink pieces(connection);
  if (request.gzip && request.form != OPD_TRACE_PPROF) {
    GzipSink packed(pieces);
    write(*trace, request.form, packed);
    packed.finish();
  } else {
    write(*trace, request.form, pieces);
  }
  pieces.finish();
  connection.send_line(concat("{\"done\":{\"calls\":", trace->num_calls(), ",\"spans\":", trace->num_spans(),
                              ",\"dropped\":", trace->num_dropped(), "}}"));
}

std::string interval_json(const Trace &trace, uint64_t from, uint64_t to) {
  const auto ns = [&](uint64_t ticks) { return static_cast<uint64_t>(trace.parts.duration_ns(ticks) + 0.5); };
  const std::vector<Activity> rows = activity_since(trace, from);
  uint64_t all = 0;
  for (const Activity &row : rows) all += row.self_ticks;
  JsonWriter json;
  json.begin_object().key("interval").begin_object().key("ns").value(ns(to - from));
  json.key("threads")
      .value(trace.parts.tracks.size())
      .key("recorded_ns")
      .value(ns(all))
      .key("dropped")
      .value(trace.num_dropped())
      .key("rows")
      .begin_array();
  for (const Activity &row : std::span(rows).first(std::min(rows.size(), kMostRows))) {
    json.begin_object().key("name").value(joined_name(*row.event)).key("kind").value(kind_text(row.event->kind));
    json.key("count").value(row.count);
    json.key("ns").value(ns(row.ticks)).key("self_ns").value(ns(row.self_ticks));
    json.key("full_ns").value(ns(row.full_ticks)).key("threads").value(row.num_threads).end_object();
  }
  return json.end_array().end_object().end_object().take();
}

void show_activity(Connection &connection, const ControlRequest &request, const StartRecording &start) {
  RecordingOptions options = options_of(request);
  options.max_calls = UINT64_MAX;  // events are dropped after each interval
  options.device_work = false;     // the activity does not show it
  Recording &running = start(options);
  uint64_t from = ticks_of(tick_clock());
  send_begin(connection);
  for (;;) {
    const uint64_t end = monotonic_ns() + request.time_ns;
    // A busy process could fill the memory before a long interval ends, so the interval ends early.
    for (uint64_t now; (now = monotonic_ns()) < end && running.num_pending() < kMostPending;) {
      constexpr uint64_t kLookNs = 100'000'000;
      if (is_stopped_before(connection, std::min(end, now + kLookNs))) return;
    }
    const Ref<Trace> trace = running.take();
    const uint64_t to = ticks_of(tick_clock());
    connection.send_line(interval_json(*trace, from, to));
    from = to;
  }
}

}  // namespace

void serve_control(int fd, const StartRecording &start, WriteTrace write) {
  Connection connection(fd);
  switch (connection.wait(monotonic_ns() + kRequestNs)) {
    case Connection::Waited::kTime:
      fail(OPD_DEADLINE_EXCEEDED, "no request came within ", kRequestNs / 1'000'000'000, " s");
    case Connection::Waited::kGone:
      return;
    default:
      break;
  }
  const ControlRequest request = next_request(connection);
  require(request.what != ControlRequest::What::kStop, "nothing records for this connection");
  if (request.what == ControlRequest::What::kRecord) record(connection, request, start, write);
  else show_activity(connection, request, start);
}

void send_control_error(int fd, std::string_view message) noexcept try {
  Connection(fd).send_line(concat("{\"error\":", json_string(message), "}"));
} catch (...) {}

}  // namespace opd
