#include <unordered_map>

#include "trace_formats/proto_writer.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/stack_tree.h"

namespace opd {
namespace {

// Field numbers of profile.proto's messages.
namespace pprof {
namespace profile {
enum : uint32_t {
  kSampleType = 1,
  kSample,
  kLocation = 4,
  kFunction,
  kStringTable,
  kTimeNanos = 9,
  kDurationNanos,
  kComment = 13
};
}
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
  explicit PprofWriter(const Trace &trace) : trace_(trace), tree_(trace, nest_spans(trace)) {}

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

  // A name is a function with one location. A host function has a location for each line.
  uint64_t location_of(const StackTree::Node &node) {
    const HostFrame *frame = tree_.host_frame(node);
    const bool has_function = frame && !frame->function.empty();
    const uint64_t function = function_of(has_function ? frame->function : tree_.name(node), frame ? frame->file : "");
    const uint32_t number = frame ? frame->line : 0;
    const auto [found, fresh] = locations_.try_emplace(function << 32 | number, locations_.size() + 1);
    if (!fresh) return found->second;
    ProtoWriter place, at;
    at.number(pprof::line::kFunctionId, function);
    if (number) at.number(pprof::line::kLine, number);
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
    for (size_t at = i; at != StackTree::kRoot; at = tree_.nodes()[at].parent)  // innermost first
      stack.varint(location_of(tree_.nodes()[at]));
    const StackTree::Node &node = tree_.nodes()[i];
    values.varint(node.count);
    values.varint(static_cast<uint64_t>(trace_.parts.duration_ns(node.self_ticks)));
    made.message(pprof::sample::kLocationId, stack).message(pprof::sample::kValue, values);
    out_.message(pprof::profile::kSample, made);
  }

  const Trace &trace_;
  const StackTree tree_;
  ProtoWriter out_;
  std::unordered_map<std::string, uint64_t> texts_;               // index in the string table, whose first text is ""
  std::unordered_map<uint64_t, uint64_t> functions_, locations_;  // keys: file and name; function and line
};

}  // namespace

void write_pprof(const Trace &trace, ByteSink &out) { out.write(PprofWriter(trace).make()); }

}  // namespace opd
