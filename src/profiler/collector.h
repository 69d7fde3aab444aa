// Collectors measure something around each call and write it into rows of metrics.
#pragma once
#include <opdyno/collector.h>

#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/report.h"

namespace opd {

// Metrics by name. Rows come in rising order. Texts are kept here until there is a report.
class MetricRows {
 public:
  struct Cell {
    uint64_t row;
    uint32_t name;
    Metric metric;  // text: an index into texts()
  };

  void begin_row(uint64_t row) { row_ = row, likely_ = 0; }
  void set(std::string_view name, Metric metric);
  void set_text(std::string_view name, std::string_view text);
  void set_value(std::string_view name, opd_metric_kind kind, const View &value);  // throws OPD_INVALID_ARGUMENT

  void clear() { texts_.clear(), cells_.clear(); }
  const std::vector<std::string> &names() const { return names_; }
  const std::vector<std::string> &texts() const { return texts_; }
  const std::vector<Cell> &cells() const { return cells_; }

 private:
  uint32_t name_of(std::string_view name);

  std::vector<std::string> names_, texts_;
  std::unordered_map<std::string, uint32_t> places_;
  std::vector<Cell> cells_;
  uint64_t row_ = 0;
  uint32_t likely_ = 0;  // a guess: rows mostly have the same metrics in the same order
};

// The report's kind for a metric: sizes are counts, rates are ratios.
MetricKind metric_kind_of(opd_metric_kind kind);
inline Metric number_metric(opd_metric_kind kind, double number) {
  return Metric::of_number(metric_kind_of(kind), number);
}

// Belongs to one recording at a time. Every function but finish() may throw. start() and stop() run on the threads of
// the calls, several at once in a session.
class Collector : public Object {
 public:
  static int32_t type();  // "opdyno.Collector"
  explicit Collector(std::string name) : name_(std::move(name)) {}
  virtual ~Collector() = default;

  const std::string &name() const { return name_; }
  virtual void init(std::span<const DLDevice> devices) = 0;
  virtual void *start(DLDevice device) = 0;  // null: the device is not supported
  virtual void stop(void *state, MetricRows &out) = 0;
  virtual void finish() noexcept {}            // the run is over
  virtual std::string note() { return {}; }    // for the configuration, after finish(); "" if there is nothing to say
  virtual std::string shared() { return {}; }  // the metrics that include concurrent calls; "" if there are none

  bool claim() { return !in_use_.exchange(true); }
  void give_back() { in_use_ = false; }

 private:
  const std::string name_;
  std::atomic<bool> in_use_{false};
};

Ref<Collector> make_user_collector(std::string name, const opd_collector_table &table);
Ref<Collector> make_memory_collector();
Ref<Collector> make_energy_collector(const std::string &powercap_dir = "/sys/class/powercap");

struct CounterOptions {
  bool per_thread = false, best_effort = false;
  struct Event {
    std::string name;
    DLDevice device;
  };
  std::vector<Event> events;  // none: the usual ones
};
Ref<Collector> make_time_collector(const CounterOptions &options);
Ref<Collector> make_perf_collector(const CounterOptions &options);
Ref<Collector> make_papi_collector(const CounterOptions &options);
// The events that can be counted on this machine.
std::vector<std::string> perf_events();
std::vector<std::string> papi_events();

}  // namespace opd
