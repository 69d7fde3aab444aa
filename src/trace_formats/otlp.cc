#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "trace_formats/proto_writer.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/stack_tree.h"

namespace opd {
namespace {

// Field numbers of the messages of profiles.proto, common.proto and resource.proto.
namespace data {
enum : uint32_t { kResourceProfiles = 1, kDictionary };
}
namespace dictionary {
enum : uint32_t {
  kMappings = 1,
  kLocations,
  kFunctions,
  kLinks,
  kStrings,
  kAttributes,
  kStacks,
};
}
namespace resource_profiles {
enum : uint32_t { kResource = 1, kScopeProfiles };
}
namespace scope_profiles {
enum : uint32_t { kScope = 1, kProfiles };
}
namespace profile {
enum : uint32_t { kSampleType = 1, kSamples, kTime, kDuration, kAttributes = 11 };
}
namespace value_type {
enum : uint32_t { kType = 1, kUnit };
}
namespace sample {
enum : uint32_t { kStack = 1, kAttributes, kValues = 4, kTimes };
}
namespace stack {
enum : uint32_t { kLocations = 1 };
}
namespace location {
enum : uint32_t { kLines = 3 };
}
namespace line {
enum : uint32_t { kFunction = 1, kLine };
}
namespace function {
enum : uint32_t { kName = 1, kFile = 3 };
}
namespace attribute {
enum : uint32_t { kKey = 1, kValue };
}
namespace any_value {
enum : uint32_t { kString = 1, kInt = 3 };
}
namespace resource {
enum : uint32_t { kAttributes = 1 };
}
namespace scope {
enum : uint32_t { kName = 1 };
}

ProtoWriter value_of(std::string_view text) {
  ProtoWriter made;
  made.text(any_value::kString, text);
  return made;
}
ProtoWriter value_of(int64_t number) {
  ProtoWriter made;
  made.number(any_value::kInt, static_cast<uint64_t>(number));
  return made;
}

// A table of the dictionary. Number 0 is "none".
class DictionaryTable {
 public:
  explicit DictionaryTable(uint32_t field) : field_(field) { written_.bytes(field, ""); }
  uint64_t add(const ProtoWriter &item) {
    const auto [place, is_new] = places_.try_emplace(item.str(), places_.size() + 1);
    if (is_new) written_.message(field_, item);
    return place->second;
  }
  const std::string &str() const { return written_.str(); }

 private:
  const uint32_t field_;
  std::unordered_map<std::string, uint64_t> places_;
  ProtoWriter written_;
};

class OtlpWriter {
 public:
  explicit OtlpWriter(const Trace &trace) : trace_(trace) { strings_.bytes(dictionary::kStrings, ""); }

  void write(ByteSink &out) {
    ProtoWriter made, name;
    name.bytes(scope::kName, "opdyno");
    for (uint32_t place = 0; place < trace_.parts.processes.size(); ++place) {
      ProtoWriter profiles, of_resource;
      profiles.message(scope_profiles::kScope, name).message(scope_profiles::kProfiles, profile(place));
      of_resource.message(resource_profiles::kResource, describe(trace_.parts.processes[place]));
      made.message(data::kResourceProfiles, of_resource.message(resource_profiles::kScopeProfiles, profiles));
    }
    out.write(made.bytes(data::kDictionary, dictionary()).str());
  }

 private:
  uint64_t text(std::string_view given) {
    std::string value;
    append_utf8_text(value, given);
    if (value.empty()) return 0;
    const auto [place, is_new] = texts_.try_emplace(value, texts_.size() + 1);
    if (is_new) strings_.bytes(dictionary::kStrings, value);
    return place->second;
  }

  template <class T>
  uint64_t attribute_of(std::string_view key, const T &value) {
    ProtoWriter made;
    made.number(attribute::kKey, text(key)).message(attribute::kValue, value_of(value));
    return attributes_.add(made);
  }

  // Attributes are named as in OpenTelemetry's semantic conventions.
  static ProtoWriter describe(const TraceProcess &process) {
    ProtoWriter made;
    const auto add = [&](std::string_view key, const ProtoWriter &value) {
      ProtoWriter pair;
      pair.text(attribute::kKey, key).message(attribute::kValue, value);
      made.message(resource::kAttributes, pair);
    };
    add("service.name", value_of(concat("unknown_service:", process.name)));
    add("process.pid", value_of(process.id));
    add("process.executable.name", value_of(process.name));
    if (process.label.empty()) return made;
    add("service.instance.id", value_of(process.label));
    if (!process.host.empty()) add("host.name", value_of(process.host));
    return made;
  }

  // The profile of one process. All profiles have the time of the whole trace.
  ProtoWriter profile(uint32_t place) {
    ProtoWriter made, type, dropped;
    type.number(value_type::kType, text("time")).number(value_type::kUnit, text("nanoseconds"));
    made.message(profile::kSampleType, type);
    uint64_t num_dropped = 0;
    for (const TraceTrack &track : trace_.parts.tracks) {
      if (track.process != place || track.device) continue;
      add_samples(nest_spans(track), made);
      num_dropped += track.dropped;
    }
    if (first_ns_) {
      made.fixed64(profile::kTime, static_cast<uint64_t>(*first_ns_));
      made.number(profile::kDuration, static_cast<uint64_t>(*last_ns_ - *first_ns_));
    }
    dropped.varint(attribute_of("opdyno.dropped_events", static_cast<int64_t>(num_dropped)));
    made.message(profile::kAttributes, dropped);
    return made;
  }

  // A sample has the spans of one stack and thread: the combination of stack, attributes and link must be unique.
  void add_samples(const ThreadSpans &thread, ProtoWriter &profile) {
    const std::vector<uint32_t> node_of = tree_.add(thread);
    const TraceProcess &process = trace_.parts.process_of(*thread.track);
    std::vector<uint32_t> order(node_of.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](uint32_t i) { return node_of[i]; });
    ProtoWriter attributes;
    attributes.varint(attribute_of("thread.id", thread.track->thread_id));
    if (!thread.track->thread_name.empty())
      attributes.varint(attribute_of("thread.name", std::string_view(thread.track->thread_name)));
    for (size_t i = 0; i < order.size();) {
      const uint32_t node = node_of[order[i]];
      ProtoWriter made, values, times;
      for (; i < order.size() && node_of[order[i]] == node; ++i) {
        const Span &span = thread.spans[order[i]];
        values.varint(static_cast<uint64_t>(process.line.duration_ns(span.self)));
        times.fixed64(static_cast<uint64_t>(process.unix_ns(span.event->begin)));
      }
      made.number(sample::kStack, node).message(sample::kAttributes, attributes);
      made.message(sample::kValues, values).message(sample::kTimes, times);
      profile.message(profile::kSamples, made);
    }
  }

  // A name is a function with one location. A host function has a location for each line.
  uint64_t location_of(const StackTree::Node &node) {
    ProtoWriter named, at, made;
    const HostFrame *frame = tree_.host_frame(node);
    const std::string &name = frame && !frame->function.empty() ? frame->function : tree_.name(node);
    // A function without a name would be the zero value, which means no function.
    named.number(function::kName, text(name.empty() ? "(no name)" : std::string_view(name)));
    if (frame && !frame->file.empty()) named.number(function::kFile, text(frame->file));
    at.number(line::kFunction, functions_.add(named));
    if (frame && frame->line) at.number(line::kLine, frame->line);
    made.message(location::kLines, at);
    return locations_.add(made);
  }

  // Call it last. The number of a stack is that of its node in the tree; the root is not a stack.
  std::string dictionary() {
    ProtoWriter stacks;
    for (size_t i = 0; i < tree_.nodes().size(); ++i) {
      ProtoWriter made, locations;
      for (size_t at = i; at != StackTree::kRoot; at = tree_.nodes()[at].parent)  // innermost first
        locations.varint(location_of(tree_.nodes()[at]));
      if (i != StackTree::kRoot) made.message(stack::kLocations, locations);
      stacks.message(dictionary::kStacks, made);
    }
    const DictionaryTable mappings(dictionary::kMappings), links(dictionary::kLinks);
    return mappings.str() + locations_.str() + functions_.str() + links.str() + strings_.str() + attributes_.str() +
           stacks.str();
  }

  const Trace &trace_;
  const std::optional<int64_t> first_ns_ = trace_.first_ns(), last_ns_ = trace_.last_ns();
  StackTree tree_{trace_};
  std::unordered_map<std::string, uint64_t> texts_;  // index in the string table, whose first text is ""
  ProtoWriter strings_;
  DictionaryTable functions_{dictionary::kFunctions}, locations_{dictionary::kLocations},
      attributes_{dictionary::kAttributes};
};

}  // namespace

void write_otlp(const Trace &trace, ByteSink &out) { OtlpWriter(trace).write(out); }

}  // namespace opd
