// Collectors measure something around each call and return it as metrics.
#pragma once
#include <opdyno/collector.h>

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/model/event.h"
#include "value/function.h"
#include "value/value.h"

namespace opd {

// The metrics of one call, by name. If two collectors set the same metric, the later one wins.
class MetricList {
 public:
  struct Item {
    uint32_t name;  // see name_of()
    Metric metric;  // text: an index into texts()
  };

  void clear() { texts_.clear(), items_.clear(), likely_ = 0; }
  void set(std::string_view name, Metric metric);
  void set_text(std::string_view name, std::string_view text);
  void set_value(std::string_view name, opd_metric_kind kind, const View &value);  // throws OPD_INVALID_ARGUMENT

  const std::string &name_of(const Item &item) const { return names_[item.name].text; }
  const std::vector<std::string> &texts() const { return texts_; }
  const std::vector<Item> &items() const { return items_; }
  void add_to(EventItems &out, Recordings recordings) const;

 private:
  uint32_t place_of(std::string_view name);

  struct Name {
    std::string text;
    NameId id;
  };
  std::vector<Name> names_;  // kept by clear(), like places_
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> places_;
  std::vector<Item> items_;
  uint32_t likely_ = 0;  // a guess: most calls have the same metrics in the same order
};

MetricKind metric_kind_of(opd_metric_kind kind);
inline Metric number_metric(opd_metric_kind kind, double number) {
  return Metric::of_number(metric_kind_of(kind), number);
}

struct CounterOptions {
  bool per_thread = false, best_effort = false;
  struct Event {
    std::string name;
    DLDevice device;
  };
  std::vector<Event> events;  // empty: the default events
  bool is_elsewhere = false;  // another machine measures, and checks whether it has the events
};

// The recipe of a built-in collector, by which the library can make another one, for example on another machine.
struct BuiltinCollector {
  opd_collector_kind kind;
  CounterOptions options;
};

// Belongs to one recording at a time. All functions except finish() may throw. start() and stop() run on the threads of
// the calls, and concurrently in a session.
class Collector : public Object {
 public:
  static int32_t type() { return registered_type<"opdyno.Collector">(); }
  explicit Collector(std::string name) : name_(std::move(name)) {}
  virtual ~Collector() = default;

  const std::string &name() const { return name_; }
  virtual void init(std::span<const DLDevice> devices) = 0;
  virtual void *start(DLDevice device) = 0;  // null: the device is not supported
  virtual void stop(void *state, MetricList &out) = 0;
  virtual void finish() noexcept {}            // called after the run
  virtual std::string note() { return {}; }    // text for the report's configuration, after finish(); "": none
  virtual std::string shared() { return {}; }  // the metrics that include concurrent calls; "": none

  std::optional<BuiltinCollector> builtin;  // none: the program's own collector

  bool claim() { return !in_use_.exchange(true); }
  void give_back() { in_use_ = false; }

 private:
  const std::string name_;
  std::atomic<bool> in_use_{false};
};

// Throws OPD_INVALID_ARGUMENT if the number is not a kind.
void require_kind(opd_collector_kind kind);
Ref<Collector> make_builtin_collector(const BuiltinCollector &of);  // throws OPD_INVALID_ARGUMENT
Ref<Collector> make_user_collector(std::string name, const opd_collector_table &table);
Ref<Collector> make_memory_collector();
Ref<Collector> make_energy_collector(const std::string &powercap_dir = "/sys/class/powercap");
Ref<Collector> make_nvml_collector();                                 // throws OPD_UNSUPPORTED
Ref<Collector> make_device_collector(const CounterOptions &options);  // throws OPD_UNSUPPORTED

Ref<Collector> make_time_collector(const CounterOptions &options);
Ref<Collector> make_perf_collector(const CounterOptions &options);
Ref<Collector> make_papi_collector(const CounterOptions &options);
// The events that this machine can count.
std::vector<std::string> perf_events();
std::vector<std::string> papi_events();

// Measures one function with collectors, as TVM's profile_function does. Returns a function with the same arguments
// whose result is a map: name of a metric to [kind, value].
Ref<Function> profile_function(Ref<Function> function, DLDevice device, std::vector<Ref<Collector>> collectors,
                               int32_t warmup_iters);

}  // namespace opd
