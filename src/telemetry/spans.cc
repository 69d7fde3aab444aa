#include "telemetry/spans.h"

#include <algorithm>
#include <cstring>

#include "base/random_bytes.h"
#include "telemetry/call_metrics.h"

namespace opd {

void SpanQueue::add(SentSpan span) {
  if (spans_.size() == most_) {
    ++num_dropped_;
    if (spans_.empty()) return;
    spans_.pop_front();
  }
  spans_.push_back(std::move(span));
}

std::vector<SentSpan> SpanQueue::take(size_t most) {
  const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(std::min(most, spans_.size()));
  std::vector<SentSpan> taken(std::make_move_iterator(spans_.begin()), std::make_move_iterator(end));
  spans_.erase(spans_.begin(), end);
  return taken;
}

void SpanQueue::give_back(std::vector<SentSpan> spans) {
  for (; !spans.empty() && spans_.size() < most_; spans.pop_back()) spans_.push_front(std::move(spans.back()));
  num_dropped_ += spans.size();
}

namespace {

// The output function of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
uint64_t mixed(uint64_t number) {
  number += 0x9E3779B97F4A7C15u;
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
  number = (number ^ number >> 27) * 0x94D049BB133111EBu;
  return number ^ number >> 31;
}

// Ids of spans and traces must not be 0.
void write_number(uint64_t number, uint8_t *out) {
  const uint64_t kept = number ? number : 1;
  std::memcpy(out, &kept, sizeof kept);
}

TraceContext context_of(const Event &run) {
  TraceContext context{};
  EventItem item;
  for (size_t at = 0; next_item(run, at, item);)
    if (item.type == EventItem::Type::kContext && item.text.size() == sizeof context)
      std::memcpy(static_cast<void *>(&context), item.text.data(), sizeof context);
  return context;
}

bool is_before(uint64_t begin, uint64_t end, uint64_t other_begin, uint64_t other_end) {
  return begin != other_begin ? begin < other_begin : end > other_end;
}

}  // namespace

SpanMaker::SpanMaker(bool per_operator, SpanQueue &queue)
    : per_operator_(per_operator), queue_(queue), seeds_(draw_unique<decltype(seeds_)>()) {}

SentSpan::Id SpanMaker::run_id(uint64_t run) const {
  SentSpan::Id id;
  write_number(mixed(seeds_[0] ^ run), id.data());
  return id;
}

SentSpan::TraceId SpanMaker::own_trace(uint64_t run) const {
  SentSpan::TraceId trace;
  write_number(mixed(seeds_[1] ^ run), trace.data());
  write_number(mixed(seeds_[2] + run), trace.data() + 8);
  return trace;
}

// Numbers of runs are below 2^63, so these ids differ from theirs.
SentSpan::Id SpanMaker::next_id() { return run_id(~num_ids_++); }

void SpanMaker::add(const TraceParts &parts) {
  for (const TraceTrack &track : parts.tracks) {
    if (per_operator_) keep_operators(parts, track);
    add_runs(parts, track);
  }
}

void SpanMaker::keep_operators(const TraceParts &parts, const TraceTrack &track) {
  const TraceProcess &process = parts.process_of(track);
  for (const Event *call : track.calls) {
    const std::string_view error = error_of(*call);
    SentSpan span{.name = call->name,
                  .is_operator = true,
                  .has_failed = !error.empty(),
                  .begin_ns = process.unix_ns(call->begin),
                  .end_ns = process.unix_ns(std::max(call->begin, call->end)),
                  .thread = track.thread_id,
                  .message = std::string(error)};
    operators_[call->run].push_back({call->begin, call->end, std::move(span)});
    ++num_operators_;
    while (num_operators_ > queue_.most())  // for example, operators of a run that the ring lost
      queue_.count_dropped(take_operators(operators_.begin()->first).size());
  }
}

// If there are more runs than the queue has room for, only the newest are added, which end last.
void SpanMaker::add_runs(const TraceParts &parts, const TraceTrack &track) {
  const auto num_open = static_cast<size_t>(std::ranges::count_if(track.runs, &Event::is_open));
  const size_t most = queue_.most() + num_open;
  const size_t left_out = track.runs.size() - std::min(track.runs.size(), most);
  for (size_t i = 0; i < left_out; ++i) {
    const TraceContext context = context_of(*track.runs[i]);
    const size_t num_operators = take_operators(track.runs[i]->run).size();
    if (!context.is_any() || context.is_sampled()) queue_.count_dropped(1 + num_operators);
  }
  std::vector<Placed> runs;
  runs.reserve(track.runs.size() - left_out);
  for (size_t i = left_out; i < track.runs.size(); ++i) runs.push_back({track.runs[i], nullptr, {}});
  std::ranges::stable_sort(runs, [](const Placed &a, const Placed &b) {
    return is_before(a.event->begin, a.event->end, b.event->begin, b.event->end);
  });
  std::vector<Placed *> around;
  for (Placed &run : runs) {
    while (!around.empty() && around.back()->event->end <= run.event->begin) around.pop_back();
    run.outer = around.empty() ? nullptr : around.back();
    around.push_back(&run);
    add_run(parts, track, run);
  }
}

void SpanMaker::add_run(const TraceParts &parts, const TraceTrack &track, Placed &placed) {
  const Event &run = *placed.event;
  const TraceContext context = context_of(run);  // the context of an open run is not known yet
  placed.trace = context.is_any() ? context.trace
                 : placed.outer   ? placed.outer->trace
                 : run.parent_run ? own_trace(run.parent_run)
                                  : own_trace(run.run);
  if (run.is_open) return;
  const bool is_wanted = !context.is_any() || context.is_sampled();
  if (is_wanted) {
    const TraceProcess &process = parts.process_of(track);
    SentSpan span{.trace = placed.trace,
                  .id = run_id(run.run),
                  .name = run.name,
                  .program = run.location,
                  .has_failed = failure_of(run).data() != nullptr,
                  .begin_ns = process.unix_ns(run.begin),
                  .end_ns = process.unix_ns(std::max(run.begin, run.end)),
                  .thread = track.thread_id,
                  .message = std::string(failure_of(run))};
    span.parent = placed.outer     ? run_id(placed.outer->event->run)
                  : run.parent_run ? run_id(run.parent_run)
                                   : context.span;
    add_operators(run, span);
    queue_.add(std::move(span));
  } else {
    take_operators(run.run);
  }
}

std::vector<SpanMaker::Operator> SpanMaker::take_operators(uint64_t run) {
  auto kept = operators_.extract(run);
  if (!kept) return {};
  num_operators_ -= kept.mapped().size();
  return std::move(kept.mapped());
}

// Calls of one run are nested or apart.
void SpanMaker::add_operators(const Event &run, const SentSpan &of_run) {
  std::vector<Operator> calls = take_operators(run.run);
  std::ranges::stable_sort(
      calls, [](const Operator &a, const Operator &b) { return is_before(a.begin, a.end, b.begin, b.end); });
  struct Around {
    uint64_t end;
    SentSpan::Id id;
  };
  std::vector<Around> around;
  for (Operator &call : calls) {
    while (!around.empty() && around.back().end <= call.begin) around.pop_back();
    call.span.trace = of_run.trace;
    call.span.id = next_id();
    call.span.program = of_run.program;
    call.span.parent = around.empty() ? of_run.id : around.back().id;
    around.push_back({call.end, call.span.id});
    queue_.add(std::move(call.span));
  }
}

}  // namespace opd
