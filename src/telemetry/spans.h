// Spans of OpenTelemetry, made of the events of runs and calls, and the queue in which they wait to be sent.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "telemetry/metric.h"
#include "trace/model/trace.h"
#include "trace/model/trace_context.h"

namespace opd {

struct SentSpan {
  using TraceId = std::array<uint8_t, 16>;
  using Id = std::array<uint8_t, 8>;
  TraceId trace{};
  Id id{}, parent{};    // parent of zeros: there is none
  bool is_kept = true;  // whether the caller keeps the trace
  // Of calls that were recorded:
  NameId name = kNoName, program = kNoName;
  bool is_operator = false;
  // Of the program's own spans:
  std::string title = {};  // "": it is none
  Labels labels = {};
  int kind = kInternal;  // Span.SpanKind of OTLP

  bool has_failed = false;
  int64_t begin_ns = 0, end_ns = 0;  // Unix time
  int64_t thread = 0;                // the system's number
  std::string message = {};          // of the error

  static constexpr int kInternal = 1;
};

// Bounded: the newest spans stay, the others are counted. Not thread-safe.
class SpanQueue {
 public:
  explicit SpanQueue(size_t most) : most_(most) {}
  void add(SentSpan span);
  void count_dropped(uint64_t number) { num_dropped_ += number; }
  std::vector<SentSpan> take(size_t most);      // the oldest ones
  void give_back(std::vector<SentSpan> spans);  // that could not be sent; they are older than all others
  size_t size() const { return spans_.size(); }
  size_t most() const { return most_; }
  uint64_t num_dropped() const { return num_dropped_; }

 private:
  const size_t most_;
  std::deque<SentSpan> spans_;
  uint64_t num_dropped_ = 0;
};

// Ids of spans and traces are computed from the numbers of runs. So nested spans can name their parent before the outer
// run has ended. A run belongs to the trace of its thread's context, else to a trace of its own.
class SpanMaker {
 public:
  SpanMaker(bool per_operator, SpanQueue &queue);

  // Those that ended: each event is to be added once, the open ones each time.
  void add(const TraceParts &parts);

 private:
  struct Placed {  // a run, and what is around it
    const Event *event;
    const Placed *outer;  // null: nothing that is known
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
  SentSpan::Id run_id(uint64_t run) const;
  SentSpan::TraceId own_trace(uint64_t run) const;
  SentSpan::Id next_id();

  const bool per_operator_;
  SpanQueue &queue_;
  std::array<uint64_t, 3> seeds_;
  uint64_t num_ids_ = 0;
  // Of runs that have not ended: whether they are wanted is known at their ends.
  std::map<uint64_t, std::vector<Operator>> operators_;
  size_t num_operators_ = 0;
};

}  // namespace opd
