#include "profiler/profile_function.h"

#include "device/device.h"
#include "profiler/collector_run.h"
#include "value/map.h"

namespace opd {
namespace {

static_assert(int{OPD_METRIC_STRING} == static_cast<int>(MetricKind::kString));

void insert(Map &map, std::string_view name, MetricKind kind, const Value &value) {
  const View pair[] = {opd_int(static_cast<int64_t>(kind)), value.view()};
  map.insert(Value(name).view(), view_of(Array::make(pair).get()));
}

Ref<Map> map_of(const MetricList &metrics) {
  Ref<Map> map = Map::make({});
  for (const MetricList::Item &item : metrics.items()) {
    const Metric metric = item.metric;
    Value value;
    if (metric.kind == MetricKind::kString) value = Value(std::string_view(metrics.texts()[metric.text()]));
    else value = Value(metric.is_integer() ? opd_int(metric.count()) : opd_float(metric.number()));
    insert(*map, metrics.name_of(item), metric.kind, value);
  }
  return map;
}

Value measure(Function &function, DLDevice device, std::span<const Ref<Collector>> collectors, int32_t warmup_iters,
              Args args) {
  for (int32_t i = 0; i < warmup_iters; ++i) call(function, args);
  CollectorSet set(collectors, {&device, 1});
  CollectorRun &run = set.of_thread(0);
  wait_for_device(device);
  const ClockId clock = tick_clock();
  run.begin_call(device);
  const uint64_t begin = ticks_of(clock);
  call(function, args);
  wait_for_device(device);
  const uint64_t ticks = ticks_of(clock) - begin;
  EventItems items;
  run.end_call(begin, items);
  set.end();
  if (const auto error = set.first_error()) throw Exception(error);
  const uint64_t empty = empty_interval_ticks(clock);
  const double us = ClockCalibration::measure(clock).duration_ns(ticks > empty ? ticks - empty : 0) / 1000;
  const Ref<Map> map = map_of(run.metrics());
  insert(*map, "Duration (us)", MetricKind::kDuration, Value(opd_float(us)));
  return Value(view_of(map.get()));
}

}  // namespace

Ref<Function> profile_function(Ref<Function> function, DLDevice device, std::vector<Ref<Collector>> collectors,
                               int32_t warmup_iters) {
  return make_function([=](Args args) { return measure(*function, device, collectors, warmup_iters, args); });
}

}  // namespace opd
