// include/opdyno/collector.h
#include "profile/collector.h"

#include "base/json_writer.h"
#include "capi/handles.h"
#include "device/device.h"
#include "profile/profile_function.h"

using namespace opd;

opd_error *opd_metrics_set(opd_metrics *metrics, const char *name, opd_metric_kind kind, const opd_value *value) {
  return guard([&] {
    require(metrics && name && value, "metrics, name and value must not be NULL");
    reinterpret_cast<MetricRows *>(metrics)->set_value(name, kind, *value);
  });
}

namespace {

void init_table(opd_collector_table *table) { *table = {}; }

CounterWishes wishes_of(const opd_counter_options *given) {
  const opd_counter_options options = read_sized(given, opd_counter_options_init);
  require(options.num_events >= 0 && (options.events || options.num_events == 0),
          "events must not be NULL and num_events not negative");
  CounterWishes wishes{options.per_thread != 0, options.best_effort != 0, {}};
  for (int32_t i = 0; i < options.num_events; ++i) {
    require(options.events[i], "events must not be NULL, but number ", i, " is");
    wishes.events.push_back({options.events[i], options.devices ? options.devices[i] : kHost});
  }
  return wishes;
}

opd_error *create(opd_collector **out_collector, Ref<Collector> (*make)(const CounterWishes &),
                  const opd_counter_options *options) {
  return guard([&] {
    require(out_collector, "out_collector must not be NULL");
    *out_collector = wrap<opd_collector>(make(wishes_of(options)));
  });
}

}  // namespace

opd_error *opd_collector_create(const char *name, const opd_collector_table *table, opd_collector **out_collector) {
  return guard([&] {
    require(name && *name && table && out_collector, "name, table and out_collector must not be NULL, nor name empty");
    require(is_utf8(name), "the collector's name is not UTF-8");
    *out_collector = wrap<opd_collector>(make_user_collector(name, read_sized(table, init_table)));
  });
}

void opd_counter_options_init(opd_counter_options *options) {
  if (!options) return;
  *options = {};
  options->struct_size = sizeof *options;
}

opd_error *opd_collector_create_time(const opd_counter_options *options, opd_collector **out_collector) {
  return create(out_collector, make_time_collector, options);
}

opd_error *opd_collector_create_memory(opd_collector **out_collector) {
  return guard([&] {
    require(out_collector, "out_collector must not be NULL");
    *out_collector = wrap<opd_collector>(make_memory_collector());
  });
}

opd_error *opd_collector_create_perf(const opd_counter_options *options, opd_collector **out_collector) {
  return create(out_collector, make_perf_collector, options);
}

opd_error *opd_collector_create_papi(const opd_counter_options *options, opd_collector **out_collector) {
  return create(out_collector, make_papi_collector, options);
}

opd_error *opd_papi_list_events(opd_array **out_names) {
  return guard([&] {
    require(out_names, "out_names must not be NULL");
    *out_names = wrap_names(papi_events());
  });
}

opd_error *opd_collector_create_energy(opd_collector **out_collector) {
  return guard([&] {
    require(out_collector, "out_collector must not be NULL");
    *out_collector = wrap<opd_collector>(make_energy_collector());
  });
}

void opd_collector_release(opd_collector *collector) { release_handle(collector); }

opd_error *opd_profile_function(opd_function *function, DLDevice device, opd_collector *const *collectors,
                                int32_t num_collectors, int32_t warmup_iters, opd_function **out_function) {
  return guard([&] {
    require(function && out_function, "function and out_function must not be NULL");
    require(warmup_iters >= 0, "warmup_iters must not be negative, but is ", warmup_iters);
    device_backend(device);  // throws for one that is absent
    *out_function = wrap<opd_function>(profile_function(Ref<Function>::share(unwrap<Function>(function)), device,
                                                        share_all<Collector>(collectors, num_collectors, "collectors"),
                                                        warmup_iters));
  });
}
