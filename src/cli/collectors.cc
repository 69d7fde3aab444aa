#include "collectors.h"

#include "failure.h"
#include "text.h"
#include "value_read.h"

namespace opd::cli {

namespace {

struct Known {
  std::string_view name, what;
  opd_error *(*create)(const opd_counter_options *options, opd_collector **out_collector);
  bool has_events;
};
const Known known[] = {
    {"time", "wall time and the processor time of all threads", opd_collector_create_time, false},
    {"memory", "bytes allocated and freed, and the peak",
     [](const opd_counter_options *, opd_collector **out) { return opd_collector_create_memory(out); }, false},
    {"perf", "the kernel's counters: cycles, instructions, cache and branch misses", opd_collector_create_perf, true},
    {"papi", "PAPI's events; TVM's five unless others are named", opd_collector_create_papi, true},
    {"energy", "energy of the processor's packages",
     [](const opd_counter_options *, opd_collector **out) { return opd_collector_create_energy(out); }, false},
};

const Known &find(std::string_view name) {
  std::vector<std::string> names;
  for (const Known &one : known) {
    if (one.name == name) return one;
    names.emplace_back(one.name);
  }
  fail_usage(cat("there is no collector '", name, "'; there are ", join(names, ", ")));
}

}  // namespace

// A comma ends an event's name only outside of parentheses; colons are part of it.
Collector make_collector(std::string_view spec) {
  const size_t colon = spec.find(':');
  const Known &one = find(spec.substr(0, colon));
  std::vector<std::string> names;
  if (colon != std::string_view::npos) {
    if (!one.has_events) fail_usage(cat("the collector ", one.name, " has no events to choose from"));
    for (const std::string_view name : split(spec.substr(colon + 1), ',')) names.emplace_back(trim(name));
  }
  std::vector<const char *> events;
  for (const std::string &name : names) events.push_back(name.c_str());
  opd_counter_options options;
  opd_counter_options_init(&options);
  options.best_effort = events.empty();
  options.events = events.data();
  options.num_events = static_cast<int32_t>(events.size());
  Collector collector;
  check(one.create(&options, collector.out()), Exit::failed);
  return collector;
}

std::string collectors_text() {
  std::string text = "collectors:\n";
  for (const Known &one : known) {
    Collector collector;
    std::string state = "yes";
    if (opd_error *error = one.create(nullptr, collector.out())) {
      state = cat("no: ", opd_error_message(error));
      opd_error_release(error);
    }
    text += cat("  ", pad_right(one.name, 8), one.what, "\n          here: ", state, "\n");
  }
  Handle<opd_array> events;
  if (opd_error *error = opd_papi_list_events(events.out())) {
    opd_error_release(error);
    return text;
  }
  const std::vector<std::string> names = strings_of(events.get());
  text += cat("PAPI events that can be counted here: ", names.empty() ? "none" : "", "\n");
  for (const std::string &name : names) text += cat("  ", name, "\n");
  return text;
}

}  // namespace opd::cli
