#include <algorithm>

#include "base/json_writer.h"
#include "trace_formats/text_pieces.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/stack_tree.h"

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

void write_joined(const Trace &trace, const StackTree &tree, TextPieces &out) {
  std::vector<std::string> paths(tree.nodes().size());
  for (size_t i = 1; i < paths.size(); ++i) {
    const StackTree::Node &node = tree.nodes()[i];
    const std::string &outer = paths[node.parent];
    paths[i] = outer.empty() ? frame(tree.name(node)) : concat(outer, ";", frame(tree.name(node)));
    // Rounded up, so that a stack of short spans has a line. Readers accept whole numbers only.
    const uint64_t us = (static_cast<uint64_t>(trace.parts.duration_ns(node.self_ticks)) + 999) / 1000;
    if (us > 0) out << paths[i] << " " << us << "\n";
  }
}

void write_each(const Trace &trace, const std::vector<ThreadSpans> &threads, TextPieces &out) {
  HostStacks host(trace);
  for (const ThreadSpans &thread : threads) {
    const TraceProcess &process = trace.parts.process_of(*thread.track);
    const std::vector<HostStacks::StackNumber> stacks = host.stacks_of(thread);
    const std::string outermost = trace.parts.is_merged() ? frame(process.title()) + ";" : "";
    std::vector<std::string> open;  // paths of the enclosing spans
    for (size_t i = 0; i < stacks.size(); ++i) {
      const Span &span = thread.spans[i];
      open.resize(span.depth);
      std::string path = open.empty() ? outermost : open.back() + ";";
      for (const HostStacks::FrameNumber number : host.frames_within(stacks[i], open.empty() ? 0 : stacks[span.parent]))
        path.append(frame(host.text(number))).append(1, ';');
      path += frame(span_name(*span.event));
      open.push_back(path);
      const auto us = static_cast<uint64_t>(process.line.duration_ns(span.self) / 1000);
      if (us == 0) continue;
      out << path << " " << us << "\n";
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

}  // namespace opd
