#include <algorithm>

#include "analysis/formats/stack_tree.h"
#include "analysis/formats/text_pieces.h"
#include "analysis/formats/trace_formats.h"

namespace opd {
namespace {

// A name as a part of a line: its own separators would make other stacks of it.
std::string frame(std::string name) {
  for (char &c : name)
    if (c == ';' || c == ' ' || static_cast<unsigned char>(c) < 0x20) c = '_';
  return name.empty() ? "_" : name;
}

void write_joined(const Trace &trace, const StackTree &tree, TextPieces &out) {
  std::vector<std::string> paths(tree.nodes().size());
  for (size_t i = 1; i < paths.size(); ++i) {
    const StackTree::Node &node = tree.nodes()[i];
    const std::string &outer = paths[node.parent];
    paths[i] = outer.empty() ? frame(StackTree::name(node)) : concat(outer, ";", frame(StackTree::name(node)));
    const auto ns = static_cast<uint64_t>(trace.parts.line.duration_ns(node.self_ticks));
    if (ns > 0) out << paths[i] << " " << ns << "\n";
  }
}

void write_each(const Trace &trace, const std::vector<ThreadSpans> &threads, TextPieces &out) {
  for (const ThreadSpans &thread : threads) {
    std::vector<std::string> open;  // names of the spans around
    for (const Span &span : thread.spans) {
      open.resize(span.depth);
      open.push_back(frame(span_name(*span.event)));
      const auto us = static_cast<uint64_t>(trace.parts.line.duration_ns(span.self) / 1000);
      if (us == 0) continue;
      for (size_t i = 0; i < open.size(); ++i) out << (i ? ";" : "") << open[i];
      out << " " << us << "\n";
    }
  }
}

}  // namespace

void write_stacks(const Trace &trace, bool per_event, ByteSink &sink) {
  const std::vector<ThreadSpans> threads = nest_spans(trace);
  TextPieces out(sink);
  if (per_event) write_each(trace, threads, out);
  else write_joined(trace, StackTree(threads), out);
  out.flush();
}

}  // namespace opd
