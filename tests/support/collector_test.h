// Profiles with collectors, and what their reports say.
#pragma once
#include <map>
#include <set>

#include "support/report_test.h"

namespace opdyno_test {

inline std::string string_of(const Value &value) {
  const char *data = nullptr;
  size_t size = 0;
  const opd_value view = value.view();
  check(opd_string_get(&view, &data, &size));
  return {data, size};
}

inline opd_profile_options profile_options(const std::vector<opd_collector *> &handles) {
  opd_profile_options options;
  opd_profile_options_init(&options);
  options.max_records = 1000;
  options.collectors = handles.data();
  options.num_collectors = static_cast<int32_t>(handles.size());
  return options;
}
/** A report of a run of the VM. */
struct RunReport {
  Report report;

  size_t rows() const {  // without (dispatch) and (profiler), which each run has
    size_t calls = 0;
    for (int32_t row = 0; row < opd_report_call_count(report.get()); ++row)
      calls += report.kind(OPD_REPORT_CALLS, row, "Row Kind") == OPD_METRIC_NONE;
    return calls;
  }
  Value call(size_t row, const char *column) const { return call_value(report, row, column); }
  int64_t count(size_t row, const char *column) const { return call(row, column).view().u.int64; }
  double number(size_t row, const char *column) const { return call(row, column).view().u.float64; }
  std::string text(size_t row, const char *column) const { return string_of(call(row, column)); }
  int64_t device(const char *name, const char *metric) const {
    return device_value(report, name, metric).view().u.int64;
  }
  double device_number(const char *name, const char *metric) const {
    return device_value(report, name, metric).view().u.float64;
  }
  std::string configured(const char *key) const { return string_of(configuration_value(report, key)); }
  double configured_number(const char *key) const { return number_of(configuration_value(report, key)); }
  std::set<std::string> columns() const { return names(OPD_REPORT_CALLS); }
  bool has_configuration(const std::string &key) const { return names(OPD_REPORT_CONFIGURATION).count(key); }

 private:
  std::set<std::string> names(opd_report_section section) const {
    Handle<opd_array> array;
    check(opd_report_list(report.get(), section, array.out()));
    std::set<std::string> names;
    for (int32_t i = 0; i < opd_array_count(array.get()); ++i) {
      Value item;
      check(opd_array_get(array.get(), i, item.out()));
      names.insert(string_of(item));
    }
    return names;
  }
};

/** A profile of `main`. */
struct MainProfile : RunReport {
  MainProfile(const Vm &vm, const std::vector<Collector> &collectors, const Tensor &argument, int32_t warmup = 1,
              int32_t repeat = 1, uint64_t max_records = 1000)
      : MainProfile(vm, collectors, std::vector<opd_value>{arg(argument)}, warmup, repeat, max_records) {}
  MainProfile(const Vm &vm, const std::vector<Collector> &collectors, const std::vector<opd_value> &args,
              int32_t warmup = 1, int32_t repeat = 1, uint64_t max_records = 1000) {
    const std::vector<opd_collector *> handles = handles_of(collectors);
    opd_profile_options options = profile_options(handles);
    options.warmup = warmup;
    options.repeat = repeat;
    options.max_records = max_records;
    check(opd_vm_profile(vm.get(), "main", args.data(), static_cast<int32_t>(args.size()), nullptr, &options,
                         report.out(), nullptr));
  }
};

/** Starts to record every call of @p vm, one of @p interval, with the columns for where it ran. */
inline void start_profile(const Vm &vm, const std::vector<Collector> &collectors, uint64_t interval = 1) {
  const std::vector<opd_collector *> handles = handles_of(collectors);
  opd_profile_options options = profile_options(handles);
  options.max_records = 1 << 20;
  options.sample_interval = interval;
  options.details = 1;
  check(opd_vm_profile_start(vm.get(), &options));
}
inline RunReport stop_profile(const Vm &vm) {
  RunReport stopped;
  check(opd_vm_profile_stop(vm.get(), stopped.report.out(), nullptr));
  return stopped;
}

struct MetricValue {
  opd_metric_kind kind;
  double number;
};
/** What a function of opd_function_profile() gave; of numbers. */
inline std::map<std::string, MetricValue> metrics_of(const Value &given) {
  std::map<std::string, MetricValue> metrics;
  auto *map = reinterpret_cast<const opd_map *>(given.view().u.object);
  for (int32_t i = 0; i < opd_map_count(map); ++i) {
    Value name, pair, kind, value;
    check(opd_map_entry(map, i, name.out(), pair.out()));
    auto *array = reinterpret_cast<const opd_array *>(pair.view().u.object);
    check(opd_array_get(array, 0, kind.out()));
    check(opd_array_get(array, 1, value.out()));
    metrics[string_of(name)] = {static_cast<opd_metric_kind>(kind.view().u.int64), number_of(value)};
  }
  return metrics;
}

}  // namespace opdyno_test
