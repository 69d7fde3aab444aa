// Implements include/opdyno/collector.h.
#include "profiler/collector.h"

#include "base/json_writer.h"
#include "capi/handles.h"
#include "device/device.h"

using namespace opd;

opd_error *opd_metrics_set(opd_metrics *metrics, const char *name, opd_metric_kind kind, const opd_value *value) {
  return guard([&] {
    OPD_REQUIRE(metrics, name, value);
    reinterpret_cast<MetricList *>(metrics)->set_value(name, kind, *value);
  });
}

namespace {

CounterOptions options_of(const opd_counter_options *given) {
  const opd_counter_options full = read_options(given, opd_counter_options_init);
  OPD_REQUIRE_ITEMS(full.events, full.num_events);
  require(full.reserved == 0, "reserved must be 0, but is ", full.reserved);
  CounterOptions options{full.per_thread != 0, full.best_effort != 0, {}, full.elsewhere != 0};
  for (int32_t i = 0; i < full.num_events; ++i) {
    require(full.events[i], "events[", i, "] must not be NULL");
    options.events.push_back({full.events[i], full.devices ? full.devices[i] : kHost});
  }
  return options;
}

std::vector<std::string> events_of(opd_collector_kind kind) {
  require_kind(kind);
  if (kind == OPD_COLLECTOR_PERF) return perf_events();
  if (kind == OPD_COLLECTOR_PAPI) return papi_events();
  return {};
}

}  // namespace

opd_error *opd_collector_create(const char *name, const opd_collector_table *table, opd_collector **out_collector) {
  return guard([&] {
    OPD_REQUIRE(name, table, out_collector);
    require(*name, "name must not be empty");
    require(is_utf8(name), "the collector's name is not UTF-8");
    *out_collector = wrap<opd_collector>(make_user_collector(name, read_table(*table)));
  });
}

opd_error *opd_collector_create_builtin(opd_collector_kind kind, const opd_counter_options *options,
                                        opd_collector **out_collector) {
  return guard([&] {
    OPD_REQUIRE(out_collector);
    *out_collector = wrap<opd_collector>(make_builtin_collector({kind, options_of(options)}));
  });
}

opd_error *opd_collector_list_events(opd_collector_kind kind, opd_array **out_names) {
  return guard([&] {
    OPD_REQUIRE(out_names);
    *out_names = wrap_names(events_of(kind));
  });
}

opd_error *opd_function_profile(opd_function *function, DLDevice device, opd_collector *const *collectors,
                                int32_t num_collectors, int32_t warmup_iters, opd_function **out_function) {
  return guard([&] {
    OPD_REQUIRE(function, out_function);
    const auto given = OPD_REQUIRE_ITEMS(collectors, num_collectors);
    require(warmup_iters >= 0, "warmup_iters must not be negative, but is ", warmup_iters);
    device_backend(device);  // throws if the device is absent
    *out_function = wrap<opd_function>(profile_function(Ref<Function>::share(unwrap<Function>(function)), device,
                                                        objects_of<Ref<Collector>>(given, "collectors"), warmup_iters));
  });
}
