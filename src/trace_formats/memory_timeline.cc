// Memory timelines, as torch.profiler's export_memory_timeline() writes them, and as an HTML page.
#include "trace_views/memory_timeline.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/json_writer.h"
#include "trace_formats/memory_timeline_page.h"
#include "trace_formats/text_pieces.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/key_averages.h"
#include "value/dtype.h"

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

namespace {

struct Category {
  MemoryCategory number;
  std::string_view name;
};
constexpr Category kCategories[] = {  // index: number of the category, as in the script
    {MemoryCategory::kParameter, "parameter"},   {MemoryCategory::kCache, "cache"},
    {MemoryCategory::kInput, "input"},           {MemoryCategory::kTemporary, "temporary"},
    {MemoryCategory::kActivation, "activation"}, {MemoryCategory::kUnknown, "from before the recording"}};

// A chart of the bytes in use by category, and the blocks alive at a moment. The page loads nothing else, and its
// content policy forbids it. Its size is bounded: for a long recording it has the extremes of each part of the time, and
// the largest blocks.
class Page {
 public:
  Page(const Trace &trace, std::string_view device, ByteSink &sink)
      : trace_(trace), timeline_(memory_timeline(trace, device)), out_(sink) {
    num_writes_ = std::ranges::count(timeline_.steps, MemoryAction::kIncrementVersion, &MemoryStep::action);
    if (num_writes_)
      std::erase_if(timeline_.steps, [&](const MemoryStep &step) { return !timeline_.changes_sums(step); });
    const auto first = std::ranges::find_if(timeline_.steps, [](const MemoryStep &step) { return step.event; });
    if (first != timeline_.steps.end()) first_ns_ = timeline_.unix_ns(trace.parts, *first);
  }

  void write() {
    out_ << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            "script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>opdyno "
            "memory timeline</title>\n<style>";
    out_ << kTimelineStyle << "</style></head><body>\n<h1>What took the memory of " << device_name(timeline_.device)
         << "</h1>\n<p class=\"soft\">";
    write_summary();
    out_ << "</p>\n<p id=\"legend\"></p>\n<div id=\"chart\"><canvas tabindex=\"0\" role=\"img\" "
            "aria-label=\"Bytes in use over time, by category\"></canvas><div id=\"tip\" hidden></div></div>\n"
            "<p class=\"soft\">Point at a moment to see it; click to keep it; drag to enlarge, double click for all. "
            "<button id=\"peak\" type=\"button\">Peak</button></p>\n"
            "<h2 id=\"when\">No block came or went</h2>\n<div class=\"scroll\"><table><thead><tr><th>Size</th>"
            "<th class=\"text\">Category</th><th class=\"text\">Allocated or written "
            "by</th><th>From</th><th>To</th></tr></thead>"
            "<tbody></tbody></table></div>\n<p class=\"soft\" id=\"rest\"></p>\n<script>const data={";
    write_rows();
    write_blocks();
    write_names();
    out_ << "};" << kTimelineScript << "</script></body></html>\n";
    out_.flush();
  }

 private:
  static constexpr size_t kParts = 1000, kMostBlocks = 3000;
  using Sums = std::array<int64_t, kMemoryCategories>;

  void write_summary() {
    int64_t now = 0;
    size_t made = 0;
    for (const MemoryStep &step : timeline_.steps) {
      now += timeline_.signed_bytes(step);
      peak_ = std::max(peak_, now);
      made += step.action == MemoryAction::kCreate;
    }
    out_ << "Peak: " << peak_ << " bytes. At the end: " << now << " bytes. Allocations: " << made << ".";
    if (num_writes_) out_ << " Writes to blocks that had contents: " << num_writes_ << ".";
    if (const uint64_t dropped = trace_.num_dropped())
      out_ << " Events that found no room and are missing: " << dropped << ".";
  }

  void write_microseconds(const MemoryBlock &block, const Event *event) {
    if (event) out_.microseconds(MemoryTimeline::unix_ns(trace_.parts, block, *event) - first_ns_);
    else out_ << "-1";
  }

  // Downsamples: in each part of the steps, keeps the first one and those with the fewest and the most bytes in use.
  void write_rows() {
    out_ << "categories:{";
    for (const Category &category : kCategories)
      out_ << (category.number == kCategories[0].number ? "" : ",") << static_cast<int>(category.number) << ":\""
           << category.name << "\"";
    out_ << "},peak:" << peak_ << ",rows:[";
    const size_t per_part = std::max<size_t>(1, timeline_.steps.size() / kParts);
    Sums sums{};
    int64_t now = 0;
    struct Row {
      size_t step;
      int64_t now;
      Sums sums;
    } first{}, least{}, most{};
    for (size_t i = 0; i < timeline_.steps.size(); ++i) {
      const MemoryStep &step = timeline_.steps[i];
      timeline_.each_change(
          step, [&](MemoryCategory category, int64_t bytes) { sums[static_cast<size_t>(category)] += bytes; });
      now += timeline_.signed_bytes(step);
      const Row row{i, now, sums};
      if (i % per_part == 0) first = least = most = row;
      if (now < least.now) least = row;
      if (now > most.now) most = row;
      if (i % per_part != per_part - 1 && i + 1 != timeline_.steps.size()) continue;
      const Row &sooner = least.step < most.step ? least : most, &later = least.step < most.step ? most : least;
      write_row(first.step, first.sums);
      if (sooner.step != first.step) write_row(sooner.step, sooner.sums);
      if (later.step != sooner.step) write_row(later.step, later.sums);
      if (i + 1 == timeline_.steps.size() && i != later.step) write_row(i, sums);
    }
    out_ << "]";
  }
  void write_row(size_t place, const Sums &sums) {
    const MemoryStep &step = timeline_.steps[place];
    out_ << (is_first_ ? "\n[" : ",\n[");
    is_first_ = false;
    if (step.event) write_microseconds(timeline_.block(step), step.event);
    else out_ << "0";
    out_ << ",[";
    for (const Category &category : kCategories)
      out_ << (category.number == kCategories[0].number ? "" : ",") << sums[static_cast<size_t>(category.number)];
    out_ << "]," << name_of(timeline_.version(step)) << "," << (step.event ? timeline_.signed_bytes(step) : 0)
         << (step.action == MemoryAction::kIncrementVersion ? ",1]" : "]");
  }

  // The time in which a block's category stays the same: from a version to an event; null: to the end.
  struct Life {
    uint32_t from;
    const Event *to;
  };
  std::vector<Life> lives() const {
    std::vector<Life> found;
    found.reserve(timeline_.blocks.size());
    const auto &versions = timeline_.versions;
    for (const MemoryBlock &block : timeline_.blocks) {
      const Event *to = block.freed;
      for (uint32_t at = block.version; at != MemoryVersion::kNone; at = versions[at].before) {
        const uint32_t before = versions[at].before;
        if (before != MemoryVersion::kNone && versions[before].category == versions[at].category) continue;
        found.push_back({at, to});
        to = versions[at].made;
      }
    }
    return found;
  }

  // Writes the largest lives, largest first: [from, to, bytes, category, name]; -1: before or after the recording.
  void write_blocks() {
    std::vector<Life> largest = lives();
    const auto block_of = [&](const Life &life) -> const MemoryBlock & {
      return timeline_.blocks[timeline_.versions[life.from].block];
    };
    const auto end = largest.begin() + static_cast<std::ptrdiff_t>(std::min(kMostBlocks, largest.size()));
    std::ranges::partial_sort(largest, end, std::greater(), [&](const Life &life) { return block_of(life).bytes; });
    out_ << ",\nblocks:[";
    for (auto at = largest.begin(); at != end; ++at) {
      const MemoryVersion &version = timeline_.versions[at->from];
      out_ << (at == largest.begin() ? "\n[" : ",\n[");
      write_microseconds(block_of(*at), version.made);
      out_ << ",";
      write_microseconds(block_of(*at), at->to);
      out_ << "," << block_of(*at).bytes << "," << static_cast<int>(version.category) << "," << name_of(version) << "]";
    }
    out_ << "]";
  }

  int64_t name_of(const MemoryVersion &version) {
    if (!version.span) return -1;
    const auto [place, fresh] = number_of_.try_emplace(span_key(*version.span), names_.size());
    if (fresh) names_.push_back(version.span);
    return static_cast<int64_t>(place->second);
  }
  void write_names() {
    out_ << ",\nnames:[";
    for (size_t i = 0; i < names_.size(); ++i) {
      std::string quoted = json_string(span_name(*names_[i]));
      for (size_t at = 0; (at = quoted.find('<', at)) != std::string::npos;)
        quoted.replace(at, 1, "\\u003c");  // otherwise a name could end the script
      out_ << (i ? "," : "") << quoted;
    }
    out_ << "]";
  }

  const Trace &trace_;
  MemoryTimeline timeline_;  // reduced to the steps that the chart shows
  TextPieces out_;
  int64_t first_ns_ = 0, peak_ = 0, num_writes_ = 0;
  bool is_first_ = true;
  std::vector<const Event *> names_;
  std::unordered_map<uint64_t, size_t> number_of_;  // key: span_key()
};

}  // namespace

void write_memory_timeline_html(const Trace &trace, std::string_view device, ByteSink &sink) {
  Page(trace, device, sink).write();
}

}  // namespace opd
