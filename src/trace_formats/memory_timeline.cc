// Memory timelines as torch.profiler's export_memory_timeline() writes them.
#include "trace_views/memory_timeline.h"

#include <algorithm>
#include <array>

#include "trace_formats/text_pieces.h"
#include "trace_formats/trace_formats.h"

namespace opd {

void write_memory_timeline(const Trace &trace, std::string_view device, ByteSink &sink) {
  const MemoryTimeline timeline = memory_timeline(trace, device);
  struct Row {
    int64_t us;
    std::array<int64_t, kMemoryCategories> bytes;
  };
  std::vector<Row> rows;
  Row now{};
  const auto first = std::ranges::find_if(timeline.steps, [](const MemoryStep &step) { return step.event; });
  const int64_t first_us = first == timeline.steps.end() ? 0 : timeline.unix_ns(trace.parts, *first) / 1000;
  bool is_before = true;  // memory from before the recording has a row of its own
  for (const MemoryStep &step : timeline.steps) {
    if (!timeline.changes_sums(step)) continue;
    now.us = step.event ? timeline.unix_ns(trace.parts, step) / 1000 : first_us;
    timeline.each_change(
        step, [&](MemoryCategory category, int64_t bytes) { now.bytes[static_cast<size_t>(category)] += bytes; });
    if (rows.empty() || rows.back().us != now.us || (is_before && step.event)) rows.push_back(now);
    else rows.back() = now;
    is_before = !step.event;
  }
  TextPieces out(sink);
  out << "[[";
  for (size_t i = 0; i < rows.size(); ++i) out << (i ? "," : "") << rows[i].us;
  out << "],[";
  for (size_t i = 0; i < rows.size(); ++i) {
    out << (i ? ",[0" : "[0");
    for (const int64_t bytes : rows[i].bytes) out << "," << bytes;
    out << "]";
  }
  out << "]]\n";
  out.flush();
}

void write_memory_timeline_raw(const Trace &trace, std::string_view device, ByteSink &sink) {
  const MemoryTimeline timeline = memory_timeline(trace, device);
  TextPieces out(sink);
  std::string_view separator = "[";
  for (const MemoryStep &step : timeline.steps) {
    const int64_t ns = step.event ? timeline.unix_ns(trace.parts, step) : -1;
    timeline.each_change(step, [&](MemoryCategory category, int64_t bytes) {
      out << separator << "[" << ns << "," << static_cast<int>(step.action) << "," << bytes << ","
          << static_cast<int>(category) << "]";
      separator = ",\n";
    });
  }
  out << (timeline.steps.empty() ? "[]\n" : "]\n");
  out.flush();
}

}  // namespace opd
