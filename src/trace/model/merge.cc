// Merges traces of several recordings, processes and machines into one.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "trace/model/trace.h"

namespace opd {
namespace {

constexpr size_t kMostProcesses = 1 << 12;
constexpr int64_t kMostShift = int64_t{1} << 60;  // 36 years: sums with Unix times do not wrap around

template <class T>
T choice(const std::vector<T> &given, size_t place, T otherwise) {
  return given.empty() ? otherwise : given[place];
}

void check(std::span<const Trace *const> traces, const TraceMergeOptions &options) {
  if (traces.empty()) fail(OPD_INVALID_ARGUMENT, "at least one trace is expected");
  size_t processes = 0;
  std::unordered_map<uint64_t, size_t> recordings;  // maps a recording to the trace that has it
  for (size_t i = 0; i < traces.size(); ++i) {
    if (const auto same = std::find(traces.begin(), traces.begin() + static_cast<std::ptrdiff_t>(i), traces[i]);
        same != traces.begin() + static_cast<std::ptrdiff_t>(i))
      fail(OPD_INVALID_ARGUMENT, "trace ", i, " is trace ", same - traces.begin(), " again");
    processes += traces[i]->parts.processes.size();
    for (const TraceProcess &process : traces[i]->parts.processes)
      if (const auto [known, fresh] = recordings.try_emplace(process.recording, i); process.recording && !fresh)
        fail(OPD_INVALID_ARGUMENT, "traces ", known->second, " and ", i,
             " are of one recording: its events would count twice");
  }
  if (processes > kMostProcesses)
    fail(OPD_INVALID_ARGUMENT, "the traces have ", processes, " processes; a trace has at most ", kMostProcesses);
  const auto check_count = [&](std::string_view name, size_t count) {
    if (count != 0 && count != traces.size())
      fail(OPD_INVALID_ARGUMENT, name, " must be as many as the traces, ", traces.size(), ", but are ", count);
  };
  check_count("labels", options.labels.size());
  check_count("offsets_ns", options.shifts_ns.size());
  check_count("clock_errors_ns", options.clock_errors_ns.size());
  for (size_t i = 0; i < options.clock_errors_ns.size(); ++i)
    if (options.clock_errors_ns[i] < -1)
      fail(OPD_INVALID_ARGUMENT, "clock_errors_ns[", i, "] is ", options.clock_errors_ns[i],
           "; it must not be negative, but for -1: what the system said");
  for (size_t i = 0; i < options.labels.size(); ++i) {
    const auto first = std::ranges::find(options.labels, options.labels[i]) - options.labels.begin();
    if (!options.labels[i].empty() && first != static_cast<std::ptrdiff_t>(i))
      fail(OPD_INVALID_ARGUMENT, "labels ", first, " and ", i, " are both \"", options.labels[i], "\"");
  }
}

class Merger {
 public:
  explicit Merger(const TraceMergeOptions &options) : options_(options) { parts_.processes.clear(); }

  void add(const Trace &trace, size_t place) {
    const TraceParts &from = trace.parts;
    const auto first = static_cast<uint32_t>(parts_.processes.size());
    for (const TraceProcess &process : from.processes) add_process(process, from, place);
    for (const TraceTrack &track : from.tracks) parts_.tracks.emplace_back(track).process += first;
    parts_.has_memory |= from.has_memory;
    parts_.has_stacks |= from.has_stacks;
    for (const auto &[key, text] : from.metadata) add_metadata(key, text, parts_.processes[first].label);
  }
  TraceParts take() { return std::move(parts_); }

 private:
  void add_process(const TraceProcess &given, const TraceParts &from, size_t place) {
    TraceProcess made = given;
    const std::string label = choice(options_.labels, place, std::string());
    const bool is_alone = from.processes.size() == 1;
    made.label = free_label(label.empty() ? given.title()
                            : is_alone    ? label
                                          : concat(label, ": ", given.title()),
                            given);
    const int64_t shift = choice(options_.shifts_ns, place, int64_t{0});
    if (__builtin_add_overflow(made.shift_ns, shift, &made.shift_ns) || made.shift_ns > kMostShift ||
        made.shift_ns < -kMostShift)
      fail(OPD_INVALID_ARGUMENT, "offsets_ns[", place, "] is ", shift, "; times can be moved by at most ", kMostShift,
           " ns");
    if (const int64_t error = choice(options_.clock_errors_ns, place, int64_t{-1}); error >= 0)
      made.clock_error_ns = error;
    if (!made.clock_name.empty())
      if (const auto known = std::ranges::find(parts_.processes, made.clock_name, &TraceProcess::clock_name);
          known != parts_.processes.end())
        made.unix_offset_ns = known->unix_offset_ns;
    parts_.processes.push_back(std::move(made));
  }

  // Makes equal titles distinct: adds the process id, then the host, then a counter.
  std::string free_label(const std::string &wanted, const TraceProcess &process) {
    const std::string base = wanted.empty() ? "process" : wanted, numbered = concat(base, " ", process.id);
    for (const std::string &each : {base, numbered, concat(numbered, " on ", process.host)})
      if (labels_.insert(each).second) return each;
    for (size_t count = 2;; ++count)
      if (std::string each = concat(numbered, " on ", process.host, " #", count); labels_.insert(each).second)
        return each;
  }

  // If a key exists with another text, the process's label is added to the key.
  void add_metadata(const std::string &key, const std::string &text, const std::string &label) {
    const auto known = std::ranges::find(parts_.metadata, key, &std::pair<std::string, std::string>::first);
    if (known == parts_.metadata.end()) parts_.metadata.emplace_back(key, text);
    else if (known->second != text) add_metadata(concat(label, ": ", key), text, label);
  }

  const TraceMergeOptions &options_;
  TraceParts parts_;
  std::unordered_set<std::string> labels_;
};

}  // namespace

Ref<Trace> merge_traces(std::span<const Trace *const> traces, const TraceMergeOptions &options) {
  check(traces, options);
  Merger merger(options);
  for (size_t i = 0; i < traces.size(); ++i) merger.add(*traces[i], i);
  return make_object<Trace>(merger.take());
}

}  // namespace opd
