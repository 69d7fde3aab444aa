// Stacks with their times, as lines for flame graphs and as a profile for pprof.
#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/json_writer.h"
#include "trace_formats/proto_writer.h"
#include "trace_formats/text_pieces.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/key_averages.h"

namespace opd {
namespace {

// Unicode spaces, which readers trim, and characters that XML, and so the pictures, cannot contain.
constexpr std::string_view kReplaced[] = {"\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
                                          "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200A", "\u2028",
                                          "\u2029", "\u202F", "\u205F", "\u3000", "\uFFFE", "\uFFFF", "\u0085"};

// Makes a name usable in a line: its separators would make other stacks of it.
std::string frame(std::string_view name) {
  std::string valid, out;
  append_utf8_text(valid, name);
  for (std::string_view rest = valid; !rest.empty();) {
    const std::string_view character = rest.substr(0, utf8_length(rest));
    rest.remove_prefix(character.size());
    const auto c = static_cast<unsigned char>(character[0]);
    const bool is_separator = c == ';' || c <= ' ' || c == 0x7F;
    if (is_separator || (c > 0x7F && std::ranges::find(kReplaced, character) != std::end(kReplaced))) out += '_';
    else out += character;
  }
  return out.empty() ? "_" : out;
}

// Lines and samples repeat the frames of all enclosing spans. So if spans are nested deeply, the outermost frames are
// left out, and one frame stands for them. Otherwise the size would grow with the square of the depth.
constexpr size_t kMostFrames = 512;
constexpr std::string_view kOuterFrames = "(outer_frames)";

void write_line(TextPieces &out, const std::vector<std::string_view> &frames, uint64_t us) {  // outermost first
  const size_t first = frames.size() - std::min(frames.size(), kMostFrames);
  if (first) out << kOuterFrames << ";";
  for (size_t i = first; i < frames.size(); ++i) out << (i > first ? ";" : "") << frames[i];
  out << " " << us << "\n";
}

void write_joined(const Trace &trace, const StackTree &tree, TextPieces &out) {
  std::vector<std::string> texts(tree.nodes().size());
  std::vector<std::string_view> frames;
  for (size_t i = 1; i < texts.size(); ++i) {
    const StackTree::Node &node = tree.nodes()[i];
    texts[i] = frame(tree.name(node));
    // The time is rounded up, so that a stack of short spans has a line. Readers accept whole numbers only.
    const uint64_t us = (static_cast<uint64_t>(trace.parts.duration_ns(node.self_ticks)) + 999) / 1000;
    if (us == 0) continue;
    frames.clear();
    for (size_t at = i; at != StackTree::kRoot && frames.size() <= kMostFrames; at = tree.nodes()[at].parent)
      frames.push_back(texts[at]);
    std::ranges::reverse(frames);
    write_line(out, frames, us);
  }
}

void write_each(const Trace &trace, const std::vector<ThreadSpans> &threads, TextPieces &out) {
  HostStacks host(trace);
  for (const ThreadSpans &thread : threads) {
    const TraceProcess &process = trace.parts.process_of(*thread.track);
    const std::vector<HostStacks::StackNumber> stacks = host.stacks_of(thread);
    std::deque<std::string> texts;  // of the open frames; it does not move them
    std::vector<std::string_view> frames;
    std::vector<size_t> begins;  // of each open span: the number of frames around it
    const auto add = [&](std::string text) { frames.push_back(texts.emplace_back(std::move(text))); };
    if (trace.parts.is_merged()) add(frame(process.title()));
    const size_t outermost = frames.size();
    for (size_t i = 0; i < stacks.size(); ++i) {
      const Span &span = thread.spans[i];
      const size_t kept = span.depth < begins.size() ? begins[span.depth] : begins.empty() ? outermost : frames.size();
      frames.resize(kept), texts.resize(kept), begins.resize(span.depth);
      begins.push_back(kept);
      const HostStacks::StackNumber outer = span.depth == 0 ? 0 : stacks[span.parent];
      for (const HostStacks::FrameNumber number : host.frames_within(stacks[i], outer)) add(frame(host.text(number)));
      add(frame(span_name(*span.event)));
      const auto us = static_cast<uint64_t>(process.line.duration_ns(span.self) / 1000);
      if (us > 0) write_line(out, frames, us);
    }
  }
}

}  // namespace

void write_stacks(const Trace &trace, bool per_event, bool of_devices, ByteSink &sink) {
  std::vector<ThreadSpans> threads = nest_spans(trace);
  if (of_devices) {
    const GivenWork work(trace);
    for (ThreadSpans &thread : threads) {
      const std::vector<SpanDevice> device = work.of_spans(thread);
      for (size_t i = 0; i < thread.spans.size(); ++i) thread.spans[i].self = device.empty() ? 0 : device[i].self;
    }
  }
  TextPieces out(sink);
  if (per_event) write_each(trace, threads, out);
  else write_joined(trace, StackTree(trace, threads), out);
  out.flush();
}

// ---- pprof

namespace {

// Field numbers of profile.proto's messages.
namespace pprof {
namespace profile {
enum : uint32_t { kSampleType = 1, kSample, kLocation = 4, kFunction, kStringTable };
enum : uint32_t { kTimeNanos = 9, kDurationNanos, kComment = 13 };
}  // namespace profile
namespace value_type {
enum : uint32_t { kType = 1, kUnit };
}
namespace sample {
enum : uint32_t { kLocationId = 1, kValue };
}
namespace location {
enum : uint32_t { kId = 1, kLine = 4 };
}
namespace line {
enum : uint32_t { kFunctionId = 1, kLine };
}
namespace function {
enum : uint32_t { kId = 1, kName, kSystemName, kFileName };
}
}  // namespace pprof

class PprofWriter {
 public:
  explicit PprofWriter(const Trace &trace)
      : trace_(trace), tree_(trace, nest_spans(trace)), known_(tree_.nodes().size()) {}

  std::string make() {
    out_.bytes(pprof::profile::kStringTable, "");
    add_sample_type("calls", "count");
    add_sample_type("time", "nanoseconds");
    for (size_t i = 1; i < tree_.nodes().size(); ++i)
      if (tree_.nodes()[i].count) add_sample(i);
    if (const uint64_t dropped = trace_.num_dropped())
      out_.number(pprof::profile::kComment, text(concat("dropped events: ", dropped)));
    if (const std::optional<int64_t> begin = trace_.first_ns()) {
      out_.number(pprof::profile::kTimeNanos, static_cast<uint64_t>(*begin));
      out_.number(pprof::profile::kDurationNanos, static_cast<uint64_t>(*trace_.last_ns() - *begin));
    }
    return out_.str();
  }

 private:
  uint64_t text(const std::string &value) {
    const auto [place, fresh] = texts_.try_emplace(value, texts_.size() + 1);
    if (fresh) out_.text(pprof::profile::kStringTable, value);
    return place->second;
  }

  void add_sample_type(const char *type, const char *unit) {
    ProtoWriter made;
    made.number(pprof::value_type::kType, text(type)).number(pprof::value_type::kUnit, text(unit));
    out_.message(pprof::profile::kSampleType, made);
  }

  // In pprof's terms, each name is a function. A host function has one location per line, any other name only one.
  uint64_t location_of(size_t i) {
    if (!known_[i]) {
      const StackTree::Node &node = tree_.nodes()[i];
      const HostFrame *frame = tree_.host_frame(node);
      const bool has_function = frame && !frame->function.empty();
      const uint64_t function =
          function_of(has_function ? frame->function : tree_.name(node), frame ? frame->file : "");
      known_[i] = location_of(function, frame ? frame->line : 0);
    }
    return known_[i];
  }

  uint64_t location_of(uint64_t function, uint32_t line) {
    const auto [found, fresh] = locations_.try_emplace(function << 32 | line, locations_.size() + 1);
    if (!fresh) return found->second;
    ProtoWriter place, at;
    at.number(pprof::line::kFunctionId, function);
    if (line) at.number(pprof::line::kLine, line);
    place.number(pprof::location::kId, found->second).message(pprof::location::kLine, at);
    out_.message(pprof::profile::kLocation, place);
    return found->second;
  }

  uint64_t function_of(const std::string &name, const std::string &file) {
    const uint64_t name_text = text(name), file_text = file.empty() ? 0 : text(file);
    const auto [found, fresh] = functions_.try_emplace(file_text << 32 | name_text, functions_.size() + 1);
    if (!fresh) return found->second;
    ProtoWriter made;
    made.number(pprof::function::kId, found->second).number(pprof::function::kName, name_text);
    made.number(pprof::function::kSystemName, name_text);
    if (file_text) made.number(pprof::function::kFileName, file_text);
    out_.message(pprof::profile::kFunction, made);
    return found->second;
  }

  void add_sample(size_t i) {
    ProtoWriter made, stack, values;
    size_t at = i;
    for (size_t left = kMostFrames; at != StackTree::kRoot && left > 0; at = tree_.nodes()[at].parent, --left)
      stack.varint(location_of(at));  // innermost first
    if (at != StackTree::kRoot) stack.varint(location_of(function_of(std::string(kOuterFrames), ""), 0));
    const StackTree::Node &node = tree_.nodes()[i];
    values.varint(node.count);
    values.varint(static_cast<uint64_t>(trace_.parts.duration_ns(node.self_ticks)));
    made.message(pprof::sample::kLocationId, stack).message(pprof::sample::kValue, values);
    out_.message(pprof::profile::kSample, made);
  }

  const Trace &trace_;
  const StackTree tree_;
  std::vector<uint64_t> known_;  // location of each node; 0: not yet made
  ProtoWriter out_;
  std::unordered_map<std::string, uint64_t> texts_;               // index in the string table, whose first text is ""
  std::unordered_map<uint64_t, uint64_t> functions_, locations_;  // keys: file and name; function and line
};

}  // namespace

void write_pprof(const Trace &trace, ByteSink &out) { out.write(PprofWriter(trace).make()); }

}  // namespace opd
