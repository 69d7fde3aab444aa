// Spans of OpenTelemetry, made from the events of runs and calls; the queue of spans to be sent; and the requests of
// OTLP with spans and metrics.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "telemetry/metric.h"
#include "telemetry/settings.h"
#include "trace/model/trace.h"
#include "trace/model/trace_context.h"

namespace opd {

struct SentSpan {
  using TraceId = std::array<uint8_t, 16>;
  using Id = std::array<uint8_t, 8>;
  TraceId trace{};
  Id id{}, parent{};    // parent 0: none
  bool is_kept = true;  // whether the caller records the trace
  // The next members are for recorded calls.
  NameId name = kNoName, program = kNoName;
  bool is_operator = false;
  // The next members are for the program's own spans.
  std::string title = {};  // "": a recorded call
  Labels labels = {};
  int kind = kInternal;  // Span.SpanKind of OTLP

  bool has_failed = false;
  int64_t begin_ns = 0, end_ns = 0;  // Unix time
  int64_t thread = 0;                // system id of the thread
  std::string message = {};          // message of the error

  static constexpr int kInternal = 1;
};

// Bounded: the newest spans are kept, and dropped ones are counted. Not thread-safe.
class SpanQueue {
 public:
  explicit SpanQueue(size_t most) : most_(most) {}
  void add(SentSpan span);
  void count_dropped(uint64_t number) { num_dropped_ += number; }
  std::vector<SentSpan> take(size_t most);      // takes the oldest ones
  void give_back(std::vector<SentSpan> spans);  // returns spans that could not be sent; they are older than all others
  size_t size() const { return spans_.size(); }
  size_t most() const { return most_; }
  uint64_t num_dropped() const { return num_dropped_; }

 private:
  const size_t most_;
  std::deque<SentSpan> spans_;
  uint64_t num_dropped_ = 0;
};

// Ids of spans and traces are computed from the numbers of runs. So nested spans can refer to their parent before the
// outer run has ended. A run belongs to the trace of its thread's context, or without one, to a separate trace.
class SpanMaker {
 public:
  SpanMaker(bool per_operator, SpanQueue &queue);

  // Reads a recording's events. Each ended span must be added only once, open spans each time.
  void add(const TraceParts &parts);

 private:
  struct Placed {  // a run and its enclosing run
    const Event *event;
    const Placed *outer;  // null: no known run
    SentSpan::TraceId trace;
  };
  struct Operator {
    uint64_t begin, end;
    SentSpan span;
  };
  void keep_operators(const TraceParts &parts, const TraceTrack &track);
  void add_runs(const TraceParts &parts, const TraceTrack &track);
  void add_run(const TraceParts &parts, const TraceTrack &track, Placed &run);
  void add_operators(const Event &run, const SentSpan &of_run);
  std::vector<Operator> take_operators(uint64_t run);  // those kept for the run
  SentSpan::Id run_id(uint64_t run) const;
  SentSpan::TraceId own_trace(uint64_t run) const;

  const bool per_operator_;
  SpanQueue &queue_;
  std::array<uint64_t, 3> seeds_;
  uint64_t num_ids_ = 0;
  // Operators of runs that have not ended. They are kept or dropped when the run ends.
  std::map<uint64_t, std::vector<Operator>> operators_;
  size_t num_operators_ = 0;
};

// ---- writes requests of OTLP/HTTP in their JSON form. Source: OpenTelemetry Protocol 1.x, "JSON Protobuf Encoding";
// opentelemetry-proto's metrics.proto and trace.proto.
// Times are Unix time in ns. `since_ns`: the start of the sums.
std::string otlp_metrics(const std::vector<Series> &all, const TelemetrySettings &settings, int64_t since_ns,
                         int64_t now_ns);
std::string otlp_spans(const std::vector<SentSpan> &spans, const TelemetrySettings &settings);

// Returns the number of spans that the collector's answer reports as rejected; 0 if it has none.
uint64_t rejected_spans(const std::string &answer) noexcept;

}  // namespace opd
