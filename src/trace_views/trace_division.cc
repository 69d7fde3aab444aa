#include "trace_views/trace_division.h"

#include <algorithm>

namespace opd {
namespace {

struct DivisionPart {
  int64_t begin_ns;
  uint32_t thread, span;  // indices
};

// The parts that no other part of the kind contains.
std::vector<DivisionPart> outermost(const Trace &trace, const std::vector<ThreadSpans> &threads, EventKind kind) {
  std::vector<DivisionPart> found;
  for (uint32_t thread = 0; thread < threads.size(); ++thread) {
    const std::vector<Span> &spans = threads[thread].spans;
    const TraceProcess &process = trace.parts.process_of(*threads[thread].track);
    for (uint32_t i = 0; i < spans.size();) {
      const bool is_part = spans[i].event->kind == kind && !spans[i].event->is_open;
      if (is_part) found.push_back({process.unix_ns(spans[i].event->begin), thread, i});
      i = is_part ? spans[i].end : i + 1;
    }
  }
  std::ranges::stable_sort(found, {}, &DivisionPart::begin_ns);
  return found;
}

// Steps of one process do not overlap, because one profiler made them.
void assign_steps(const std::vector<ThreadSpans> &threads, const std::vector<DivisionPart> &steps,
                  TraceDivision &made) {
  struct Step {
    uint64_t begin, end;
    uint32_t part;
  };
  std::vector<std::vector<Step>> of_process;
  for (uint32_t part = 0; part < steps.size(); ++part) {
    const ThreadSpans &thread = threads[steps[part].thread];
    const Event &event = *thread.spans[steps[part].span].event;
    if (thread.track->process >= of_process.size()) of_process.resize(size_t{thread.track->process} + 1);
    of_process[thread.track->process].push_back({event.begin, event.end, part});
  }
  for (std::vector<Step> &own : of_process) std::ranges::sort(own, {}, &Step::begin);
  for (size_t thread = 0; thread < threads.size(); ++thread) {
    if (threads[thread].track->process >= of_process.size()) continue;
    const std::vector<Step> &own = of_process[threads[thread].track->process];
    for (size_t i = 0; i < threads[thread].spans.size(); ++i) {
      const uint64_t begin = threads[thread].spans[i].event->begin;
      const auto next = std::ranges::upper_bound(own, begin, {}, &Step::begin);
      if (next != own.begin() && begin <= (next - 1)->end) made.part_of[thread][i] = (next - 1)->part;
    }
  }
}

}  // namespace

TraceDivision divide(const Trace &trace, const std::vector<ThreadSpans> &threads) {
  TraceDivision made;
  for (const ThreadSpans &thread : threads) made.part_of.emplace_back(thread.spans.size(), TraceDivision::kNone);
  for (const EventKind kind : {EventKind::kStep, EventKind::kRun, EventKind::kRange}) {
    const std::vector<DivisionPart> parts = outermost(trace, threads, kind);
    if (parts.empty()) continue;
    made.num_parts = static_cast<uint32_t>(parts.size());
    if (kind == EventKind::kStep) {
      assign_steps(threads, parts, made);
      return made;
    }
    for (uint32_t part = 0; part < parts.size(); ++part) {
      std::vector<uint32_t> &of_thread = made.part_of[parts[part].thread];
      const uint32_t first = parts[part].span, end = threads[parts[part].thread].spans[first].end;
      std::fill(of_thread.begin() + first, of_thread.begin() + end, part);
    }
    return made;
  }
  for (std::vector<uint32_t> &of_thread : made.part_of) {
    if (!of_thread.empty()) made.num_parts = 1;
    std::ranges::fill(of_thread, 0);
  }
  return made;
}

}  // namespace opd
