#include <algorithm>
#include <unordered_set>

#include "analysis/formats/proto_writer.h"
#include "analysis/formats/stack_tree.h"
#include "analysis/formats/trace_formats.h"

namespace opd {
namespace {

// Field numbers of profile.proto's messages.
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
enum : uint32_t { kFunctionId = 1 };
}
namespace function {
enum : uint32_t { kId = 1, kName, kSystemName };
}

class Writer {
 public:
  explicit Writer(const Trace &trace) : trace_(trace), tree_(nest_spans(trace)) {}

  std::string make() {
    out_.bytes(profile::kStringTable, "");
    add_sample_type("calls", "count");
    add_sample_type("time", "nanoseconds");
    for (size_t i = 1; i < tree_.nodes().size(); ++i) add_sample(i);
    if (const uint64_t dropped = trace_.num_dropped())
      out_.number(profile::kComment, text(concat("dropped events: ", dropped)));
    if (const uint64_t first = trace_.first_tick(); first != UINT64_MAX) {
      const int64_t begin = trace_.parts.unix_ns(first);
      out_.number(profile::kTimeNanos, static_cast<uint64_t>(begin));
      out_.number(profile::kDurationNanos, static_cast<uint64_t>(trace_.parts.unix_ns(trace_.last_tick()) - begin));
    }
    return out_.str();
  }

 private:
  uint64_t text(const std::string &value) {
    const auto [place, fresh] = texts_.try_emplace(value, texts_.size() + 1);
    if (fresh) out_.text(profile::kStringTable, value);
    return place->second;
  }

  void add_sample_type(const char *type, const char *unit) {
    ProtoWriter made;
    made.number(value_type::kType, text(type)).number(value_type::kUnit, text(unit));
    out_.message(profile::kSampleType, made);
  }

  // A name is a function with one location. Both have the number of the name's text.
  uint64_t location_of(const StackTree::Node &node) {
    const uint64_t id = text(StackTree::name(node));
    if (!located_.insert(id).second) return id;
    ProtoWriter made, place, at;
    made.number(function::kId, id).number(function::kName, id).number(function::kSystemName, id);
    out_.message(profile::kFunction, made);
    at.number(line::kFunctionId, id);
    place.number(location::kId, id).message(location::kLine, at);
    out_.message(profile::kLocation, place);
    return id;
  }

  void add_sample(size_t i) {
    ProtoWriter made, stack, values;
    for (size_t at = i; at != StackTree::kRoot; at = tree_.nodes()[at].parent)  // from the innermost on
      stack.varint(location_of(tree_.nodes()[at]));
    const StackTree::Node &node = tree_.nodes()[i];
    values.varint(node.count);
    values.varint(static_cast<uint64_t>(trace_.parts.line.duration_ns(node.self_ticks)));
    made.message(sample::kLocationId, stack).message(sample::kValue, values);
    out_.message(profile::kSample, made);
  }

  const Trace &trace_;
  const StackTree tree_;
  ProtoWriter out_;
  std::unordered_map<std::string, uint64_t> texts_;  // places in the table of texts, whose first one is ""
  std::unordered_set<uint64_t> located_;
};

}  // namespace

void write_pprof(const Trace &trace, ByteSink &out) { out.write(Writer(trace).make()); }

}  // namespace opd
