// Uses PAPI's events as per-thread counters. PAPI is loaded on first use. Only the few needed functions are declared.
// These functions are the same in all releases 7, so building needs no header of PAPI.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "profiler/counter_collector.h"

namespace opd {
namespace {

// ---- PAPI

// Numbers from PAPI's headers.
constexpr int kNullSet = -1;
constexpr int kEnumEvents = 0, kEnumFirst = 1, kEnumMasks = 15;
constexpr int kPresets = static_cast<int>(0x80000000u);
constexpr int kThreadsInited = 4;

unsigned long thread_id() { return static_cast<unsigned long>(syscall(SYS_gettid)); }

void *open_library() {
  const LoaderCall call;
  for (const char *name : {"libpapi.so.7.0", "libpapi.so.7.1", "libpapi.so.7.2", "libpapi.so"})
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  fail(OPD_UNSUPPORTED, "PAPI counters need the PAPI library, version 7, which cannot be loaded (",
       std::string_view(dlerror()), "); on Debian and Ubuntu: apt install libpapi7.0, or libpapi-dev");
}

// PAPI's error codes that are handled separately.
constexpr int kPapiNoMatchingComponent = -4, kPapiSystem = -3, kPapiNoEvent = -7, kPapiConflict = -8,
              kPapiRunning = -10, kPapiForbidden = -15, kPapiUnsupported = -18, kPapiTooMany = -23, kPapiDisabled = -25;

class Papi {
  // A query of an event makes PAPI enlarge its tables of events, while other threads may read them. So functions that
  // enlarge or read them are used by one thread at a time.
  template <class Signature>
  class Guarded;
  template <class... Args>
  class Guarded<int(Args...)> {
   public:
    int operator()(Args... args) const {
      const std::scoped_lock lock(tables());
      return function(args...);
    }
    int (*function)(Args...) = nullptr;
  };
  static ForkMutex &tables() {
    static auto &guard = *new ForkMutex(LockRank::kPapiTables);  // never freed, like the library
    return guard;
  }

 public:
  // Loaded once and never unloaded. Registers the calling thread for queries. Throws OPD_UNSUPPORTED with the reason.
  static const Papi &get() {
    const Papi &papi = loaded();
    papi.register_thread();  // PAPI crashes if an unregistered thread queries an event
    return papi;
  }

  // PAPI's functions, without their prefix. Each returns 0, or an error code below 0, unless the comment differs.
  int (*is_initialized)();
  int (*library_init)(int version);  // returns the version
  int (*thread_init)(unsigned long (*thread_id)());
  int (*multiplex_init)();
  int (*register_thread)();  // registers the calling thread; repeating it does nothing
  int (*start)(int set);
  int (*stop)(int set, long long *values);
  int (*read)(int set, long long *values);
  int (*num_components)();                           // returns the number or an error
  const char *(*get_component_info)(int component);  // returns a struct whose first field is the name
  char *(*strerror)(int error);
  Guarded<int(int *set)> create_eventset;
  Guarded<int(int set, int component)> assign_eventset_component;
  Guarded<int(int set)> set_multiplex;
  Guarded<int(int set, int event)> add_event;
  Guarded<int(int set)> cleanup_eventset;
  Guarded<int(int *set)> destroy_eventset;
  Guarded<int(const char *name, int *event)> event_name_to_code;
  Guarded<int(int event, char *name)> event_code_to_name;
  Guarded<int(int *event, int modifier)> enum_event;
  Guarded<int(int *event, int modifier, int component)> enum_cmp_event;
  Guarded<int(int event)> get_event_component;  // returns the component or an error

  // Describes an error, with a hint for the user.
  std::string reason(int error) const {
    switch (error) {
      case kPapiNoEvent:
      case kPapiNoMatchingComponent:
        return concat("this machine cannot count it (PAPI: ", strerror(error),
                      "); virtual machines often have no performance monitoring unit, and a container may hide it; ",
                      paranoia_text());
      case kPapiForbidden:
      case kPapiSystem:
        return concat(
            "it is forbidden (PAPI: ", strerror(error), "): ", paranoia_text(),
            ", where users may count their own code up to 2; in a container, perf_event_open must be allowed ",
            "as well (--cap-add PERFMON)");
      case kPapiConflict:
      case kPapiTooMany:
        return concat("it cannot be counted together with the others (PAPI: ", strerror(error), ")");
      case kPapiRunning:
        return "PAPI counts this thread already; one collector of the component can do so at a time";
      default:
        return concat("PAPI: ", strerror(error));
    }
  }
  // Whether the component counts each thread separately. False: it counts the process or the machine.
  bool counts_threads(int component) const {
    const char *name = get_component_info(component);
    return name && std::strcmp(name, "perf_event") == 0;
  }
  std::vector<std::string> countable_events() const;

 private:
  static const Papi &loaded() {
    static auto &guard = *new ForkMutex(LockRank::kPapi);
    static std::atomic<const Papi *> papi{nullptr};
    if (const Papi *known = papi.load(std::memory_order_acquire)) return *known;
    std::scoped_lock lock(guard);
    if (!papi.load(std::memory_order_relaxed))  // never freed, because threads may use it until the process ends
      papi.store(std::unique_ptr<Papi>(new Papi).release(), std::memory_order_release);
    return *papi.load(std::memory_order_relaxed);
  }
  Papi();
  void load_functions(void *library) {
    const auto load = [&]<class Function>(Function &function, const char *name) {
      void *const found = dlsym(library, name);
      if (!found) fail(OPD_UNSUPPORTED, "the PAPI library that is installed has no function ", name);
      if constexpr (std::is_pointer_v<Function>) function = reinterpret_cast<Function>(found);
      else function.function = reinterpret_cast<decltype(function.function)>(found);
    };
#define LOAD(NAME) load(NAME, "PAPI_" #NAME)
    LOAD(is_initialized), LOAD(library_init), LOAD(thread_init), LOAD(multiplex_init), LOAD(register_thread);
    LOAD(create_eventset), LOAD(assign_eventset_component), LOAD(set_multiplex);
    LOAD(add_event), LOAD(start), LOAD(stop), LOAD(read), LOAD(cleanup_eventset), LOAD(destroy_eventset);
    LOAD(event_name_to_code), LOAD(event_code_to_name), LOAD(enum_event), LOAD(enum_cmp_event);
    LOAD(get_event_component), LOAD(num_components), LOAD(get_component_info), LOAD(strerror);
#undef LOAD
  }
  // The library accepts only its own version number, and has no way to query it before.
  bool initialize() {
    for (int minor = 0; minor < 16; ++minor) {
      const int version = 7 << 24 | minor << 16;
      if (library_init(version) == version) return true;
    }
    return false;
  }
  std::string name_of(int event) const {
    char name[8192] = "";  // longer than PAPI's longest name
    return event_code_to_name(event, name) == 0 ? name : "";
  }
  void add_if_countable(int event, std::vector<std::string> &names) const;
};

// Events of one component that count together, on the thread that makes the set.
class PapiSet {
 public:
  PapiSet(const Papi &papi, int component, bool multiplexed = false);
  PapiSet(PapiSet &&other) noexcept
      : papi_(other.papi_), set_(std::exchange(other.set_, kNullSet)), runs_(std::exchange(other.runs_, false)) {}
  ~PapiSet() {
    if (set_ == kNullSet) return;
    long long ignored[256];
    if (runs_) papi_.stop(set_, ignored);
    papi_.cleanup_eventset(set_);
    papi_.destroy_eventset(&set_);
  }
  int add(int event) { return papi_.add_event(set_, event); }  // add() and the next function return PAPI's code
  int start() {
    const int error = papi_.start(set_);
    runs_ = error == 0;
    return error;
  }
  int read(long long *values) const { return papi_.read(set_, values); }

 private:
  const Papi &papi_;
  int set_ = -1;
  bool runs_ = false;
};

Papi::Papi() {
  load_functions(open_library());
  if (!initialize())
    fail(OPD_UNSUPPORTED, "the PAPI library that is installed cannot be initialised, or is not of version 7");
  if (!(is_initialized() & kThreadsInited))  // the program may use PAPI itself
    if (const int error = thread_init(thread_id)) fail(OPD_UNSUPPORTED, "PAPI cannot count threads: ", strerror(error));
  multiplex_init();  // if it fails, collectors that need it fail, too
}

void Papi::add_if_countable(int event, std::vector<std::string> &names) const {
  const int component = get_event_component(event);
  if (component < 0) return;
  PapiSet set(*this, component);
  if (set.add(event) == 0 && set.start() == 0) names.push_back(name_of(event));
}

std::vector<std::string> Papi::countable_events() const {
  std::vector<std::string> names;
  int event = kPresets;
  for (int more = enum_event(&event, kEnumFirst); more == 0; more = enum_event(&event, kEnumEvents))
    add_if_countable(event, names);
  for (int component = 0; component < num_components(); ++component) {
    int native = 0x40000000;
    for (int more = enum_cmp_event(&native, kEnumFirst, component); more == 0;
         more = enum_cmp_event(&native, kEnumEvents, component)) {
      add_if_countable(native, names);
      int with_mask = native;
      while (enum_cmp_event(&with_mask, kEnumMasks, component) == 0)
        if (name_of(with_mask).find('=') == std::string::npos) add_if_countable(with_mask, names);  // else modifiers
    }
  }
  return names;
}

PapiSet::PapiSet(const Papi &papi, int component, bool multiplexed) : papi_(papi) {
  set_ = kNullSet;
  int error = papi.create_eventset(&set_);
  if (!error) error = papi.assign_eventset_component(set_, component);
  if (!error && multiplexed) error = papi.set_multiplex(set_);
  if (error) {
    papi.destroy_eventset(&set_);
    fail(OPD_UNSUPPORTED, "PAPI cannot make a set of events: ", papi.reason(error));
  }
}

// ---- the collector

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
        unknown ? concat("PAPI has no such event here (", papi_.strerror(unknown),
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
