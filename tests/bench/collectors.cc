// What collectors add to each recorded call of the chain; and PAPI alone, as far as this machine has it.
#include <dlfcn.h>

#include "chain.h"

namespace {

using opdyno::Collector;

// One thread is counted, as the chain uses one.
bench::Sampler time_with(const Collector &collector) {
  const bench::Chain chain;
  auto sample = bench::time_of_records(chain, 1, bench::settings().quick ? 1 : 9, collector.get());
  return [=]() mutable {
    const Collector kept = collector;
    opdyno::check(opd_threads_set_count(1));
    const double ns = sample();
    opdyno::check(opd_threads_set_count(0));
    return ns;
  };
}

const bench::AddRow empty("profile_collector", "ns", [] {
  opd_collector_table table{};
  table.struct_size = sizeof table;
  table.start = [](void *, DLDevice, void **out_state) -> opd_error * { return *out_state = out_state, nullptr; };
  table.stop = [](void *, void *, opd_metrics *) -> opd_error * { return nullptr; };
  Collector collector;
  opdyno::check(opd_collector_create("empty", &table, collector.out()));
  return time_with(collector);
});

const char *const kEvents[] = {"perf::PAGE-FAULTS", "perf::TASK-CLOCK"};

Collector papi_collector() {
  opd_counter_options options;
  opd_counter_options_init(&options);
  options.events = kEvents;
  options.num_events = 2;
  Collector collector;
  if (opd_error *error = opd_collector_create_builtin(OPD_COLLECTOR_PAPI, &options, collector.out()))
    throw bench::Missing(opdyno::Error(error).message());
  return collector;
}

const bench::AddRow papi("profile_papi", "ns", [] { return time_with(papi_collector()); });

// The two events in a set of PAPI's own; opdyno has loaded and initialised it.
struct PapiSet {
  template <class F>
  static F *function(const char *name) {
    void *library = dlopen("libpapi.so.7.0", RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : nullptr;
    if (!found) throw bench::Missing(std::string("no ") + name);
    return reinterpret_cast<F *>(found);
  }
  int (*start)(int) = function<int(int)>("PAPI_start");
  int (*stop)(int, long long *) = function<int(int, long long *)>("PAPI_stop");
  int (*read)(int, long long *) = function<int(int, long long *)>("PAPI_read");
  int set = -1;

  PapiSet() {
    int failed = function<int(int *)>("PAPI_create_eventset")(&set);
    for (const char *event : kEvents) failed |= function<int(int, const char *)>("PAPI_add_named_event")(set, event);
    if (failed) throw bench::Missing("PAPI cannot count here");
  }
};

const bench::AddRow start_stop("papi_start_stop", "ns", [] {
  papi_collector();
  const PapiSet papi;
  return bench::timed(1, [=](int64_t n) {
    long long values[2];
    for (int64_t i = 0; i < n; ++i)
      if (papi.start(papi.set) || papi.stop(papi.set, values)) throw std::runtime_error("PAPI failed");
  });
});

const bench::AddRow read("papi_read", "ns", [] {
  papi_collector();
  const PapiSet papi;
  return bench::timed(1, [=](int64_t n) {
    long long values[2];
    int failed = papi.start(papi.set);
    for (int64_t i = 0; i < n; ++i) failed |= papi.read(papi.set, values);
    if (papi.stop(papi.set, values) || failed) throw std::runtime_error("PAPI failed");
  });
});

}  // namespace
