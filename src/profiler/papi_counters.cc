// Uses PAPI's events as per-thread counters.
#include <deque>

#include "base/fork_mutex.h"
#include "profiler/counter_collector.h"
#include "profiler/papi.h"

namespace opd {
namespace {

constexpr std::string_view usual_events[] = {  // TVM's defaults
    "perf::CYCLES", "perf::STALLED-CYCLES-FRONTEND", "perf::STALLED-CYCLES-BACKEND", "perf::INSTRUCTIONS",
    "perf::CACHE-MISSES"};
constexpr size_t kMostEvents = 256;

// Events of one component, because PAPI cannot count those of several components together.
struct Group {
  int component;
  bool of_threads, multiplexed = false;
  std::vector<int> events;
  std::vector<size_t> places;  // indices among the collector's counters
};

class GroupCounters final : public CounterReader {
 public:
  explicit GroupCounters(const Papi &papi) : papi_(papi) {}
  void add(const Group &group, PapiSet set) { parts_.push_back({&group, std::move(set)}); }

  void read(uint64_t *values) override {
    std::scoped_lock lock(guard_);
    for (const auto &[group, set] : parts_) {
      long long counts[kMostEvents];
      if (const int error = set.read(counts))
        fail(OPD_UNSUPPORTED, "counters can no longer be read: ", papi_.reason(error));
      for (size_t i = 0; i < group->places.size(); ++i) values[group->places[i]] = static_cast<uint64_t>(counts[i]);
    }
  }
  bool is_estimated(size_t place) const override {
    for (const auto &part : parts_)
      if (part.group->multiplexed)
        for (const size_t each : part.group->places)
          if (each == place) return true;
    return false;
  }

 private:
  struct Part {
    const Group *group;
    PapiSet set;
  };
  const Papi &papi_;
  ForkMutex guard_{LockRank::kPapiCounters};  // because several threads read counters of the process
  std::vector<Part> parts_;
};

class PapiCollector final : public CounterCollector {
 public:
  explicit PapiCollector(const CounterOptions &options)
      : CounterCollector("papi", options.per_thread), papi_(Papi::get()), best_effort_(options.best_effort) {
    require(options.events.size() <= kMostEvents, "at most ", kMostEvents, " events can be counted at a time");
    for (const auto &event : options.events) add_event(event.name, event.device);
    if (options.events.empty())
      for (const auto name : usual_events) add_event(std::string(name), {kDLCPU, -1});
    for (Group &group : groups_) choose_multiplexing(group);
    const auto rest = open_rest();  // checks that all events can be counted
    open_thread();
  }

 private:
  void add_event(const std::string &name, DLDevice device) {
    int event = 0;
    const int unknown = papi_.event_name_to_code(name.c_str(), &event);
    const int component = unknown ? unknown : papi_.get_event_component(event);
    int refusal = 0;
    if (!unknown && component >= 0) {
      PapiSet alone(papi_, component);
      refusal = alone.add(event);
      if (!refusal) refusal = alone.start();
    }
    if (unknown || component < 0 || refusal) return leave_out(name, unknown, component < 0 ? component : refusal);
    Group &group = group_of(component);
    group.events.push_back(event);
    group.places.push_back(counters().size());
    Counter counter{name};
    counter.device = device;
    if (!group.of_threads) counter.of = Counter::Of::kProcess;
    add_counter(std::move(counter));
  }

  void leave_out(const std::string &name, int unknown, int refusal) {
    const std::string reason =
        unknown ? concat("PAPI knows no such event here (", papi_.strerror(unknown),
                         "); opdyno info --collectors and papi_native_avail list those that there are")
                : papi_.reason(refusal);
    if (!best_effort_) fail(unknown ? OPD_NOT_FOUND : OPD_UNSUPPORTED, "event ", name, " cannot be counted: ", reason);
    add_note(concat("event ", name, " is left out: ", reason));
  }

  Group &group_of(int component) {
    for (Group &group : groups_)
      if (group.component == component) return group;
    return groups_.emplace_back(Group{component, papi_.counts_threads(component), false, {}, {}});
  }

  // If events do not fit into the processor's counters, they are multiplexed.
  void choose_multiplexing(Group &group) {
    try {
      open(group);
    } catch (const Exception &) { group.multiplexed = true; }
  }

  PapiSet open(const Group &group) {
    PapiSet set(papi_, group.component, group.multiplexed);
    for (const int event : group.events)
      if (const int error = set.add(event)) refuse(group, error);
    if (const int error = set.start()) refuse(group, error);
    return set;
  }

  [[noreturn]] void refuse(const Group &group, int error) {
    std::string names;
    for (const size_t place : group.places) names += concat(names.empty() ? "" : ", ", counters()[place].name);
    fail(OPD_UNSUPPORTED, "events ", names, " cannot be counted: ", papi_.reason(error));
  }

  std::unique_ptr<CounterReader> open_thread() override { return open_all(true); }
  std::unique_ptr<CounterReader> open_rest() override { return open_all(false); }
  std::unique_ptr<CounterReader> open_all(bool of_threads) {
    std::unique_ptr<GroupCounters> counters;
    for (const Group &group : groups_) {
      if (group.of_threads != of_threads) continue;
      if (!counters) counters = std::make_unique<GroupCounters>(papi_);
      counters->add(group, open(group));
    }
    return counters;
  }

  const Papi &papi_;
  const bool best_effort_;
  std::deque<Group> groups_;
};

}  // namespace

Ref<Collector> make_papi_collector(const CounterOptions &options) { return make_object<PapiCollector>(options); }

std::vector<std::string> papi_events() { return Papi::get().countable_events(); }

}  // namespace opd
