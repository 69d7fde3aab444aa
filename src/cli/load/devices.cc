#include "cli/load/devices.h"

#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr DLDeviceType kinds[] = {kDLCPU, kDLCUDA, kDLOpenCL, kDLVulkan, kDLROCM, kDLMetal, kDLOneAPI, kDLWebGPU};

struct Known {
  std::string_view name, what;
  opd_collector_kind kind;
  bool has_events;
  const char *fallback = nullptr;  // events to use if the usual ones are unavailable
};
const Known known[] = {
    {"time", "wall time and the processor time of all threads", OPD_COLLECTOR_TIME, false},
    {"memory", "bytes allocated and freed, and the peak", OPD_COLLECTOR_MEMORY, false},
    {"perf", "the kernel's counters: cycles, instructions, cache and branch misses", OPD_COLLECTOR_PERF, true,
     "task-clock,page-faults"},
    {"papi", "PAPI's events; TVM's five unless others are named", OPD_COLLECTOR_PAPI, true},
    {"energy", "energy of the processor's packages", OPD_COLLECTOR_ENERGY, false},
    {"nvml", "power, temperature, clocks and utilization of NVIDIA's GPUs", OPD_COLLECTOR_NVML, false},
    {"device", "what a device counts of its kernels: threads on Vulkan, CUPTI's metrics on CUDA", OPD_COLLECTOR_DEVICE,
     true},
};

const Known &find(std::string_view name) {
  for (const Known &one : known)
    if (one.name == name) return one;
  fail_usage(cat("there is no collector '", name, "'; there are ", join(names_of(known), ", ")));
}

// The state of a collector on this machine. If it works only in part: how to ask for that part.
std::string state_of(const Known &one) {
  const std::string problem = collector_problem(one.name);
  if (problem.empty()) return "yes";
  if (!one.fallback) return cat("no: ", problem);
  const std::string spec = cat(one.name, ":", one.fallback);
  try {
    make_collector(spec);
  } catch (const Failure &) { return cat("no: ", problem); }
  return cat("in part, as --collector ", spec, "; not the usual events: ", problem);
}

}  // namespace

Value attribute_of(DLDevice device, opd_device_attr attr) {
  try {
    return opdyno::device_attr(device, attr);
  } catch (const opdyno::Error &error) {
    if (error.kind() == std::string_view("ConnectionError")) throw;
    return {};
  }
}

std::string kind_name(DLDeviceType kind) {
  const std::string name = opdyno::to_string(DLDevice{kind, 0});
  return name.substr(0, name.find(':'));
}

std::vector<DLDevice> devices_of(DLDeviceType kind, const Reach &reach) {
  std::vector<DLDevice> found;
  for (DLDevice device = {kind, 0}; attribute_of(reach(device), OPD_ATTR_EXIST).view().u.int64 != 0;
       ++device.device_id) {
    found.push_back(device);
    if (kind == kDLCPU) break;
  }
  return found;
}

std::vector<DLDevice> devices(const Reach &reach) {
  std::vector<DLDevice> found;
  for (const DLDeviceType kind : kinds)
    for (const DLDevice device : devices_of(kind, reach)) found.push_back(device);
  return found;
}

std::string absence_of(DLDeviceType kind, const Reach &reach) {
  const Value reason = attribute_of(reach({kind, 0}), OPD_ATTR_ABSENCE);
  return reason.type() == OPD_NONE ? "" : reason.string();
}

std::vector<std::pair<std::string, std::string>> absent_kinds(const Reach &reach) {
  std::vector<std::pair<std::string, std::string>> absent;
  for (const DLDeviceType kind : kinds)
    if (std::string reason = absence_of(kind, reach); !reason.empty())
      absent.emplace_back(kind_name(kind), std::move(reason));
  return absent;
}

std::string tls_absence() {
  const Json facts = parse_json(opdyno::rpc_serve_describe(), "the description of sessions");
  return json_string(facts.get(), "tls_absence");
}

// Commas separate names of events, but not within parentheses. Colons are parts of names.
Collector make_collector(std::string_view spec, bool elsewhere) {
  const size_t colon = spec.find(':');
  const Known &one = find(spec.substr(0, colon));
  std::vector<std::string> names;
  if (colon != std::string_view::npos) {
    if (!one.has_events) fail_usage(cat("the collector ", one.name, " has no events to choose from"));
    for (const std::string_view name : split(spec.substr(colon + 1), ',')) names.emplace_back(trim(name));
  }
  std::vector<const char *> events = c_strings(names);
  auto options = opdyno::defaults(opd_counter_options_init);
  options.best_effort = events.empty();
  options.elsewhere = elsewhere;
  options.events = events.data();
  options.num_events = static_cast<int32_t>(events.size());
  try {
    return Collector::builtin(one.kind, &options);
  } catch (const opdyno::Error &error) {
    throw Failure(Exit::failed, message_of(error), error.code(), error.code() == OPD_UNSUPPORTED ? "doctor" : "");
  }
}

std::string collector_problem(std::string_view name) {
  try {
    Collector::builtin(find(name).kind);
    return "";
  } catch (const opdyno::Error &error) { return error.message(); }
}

std::string collectors_text() {
  std::string text = "collectors:\n";
  for (const Known &one : known)
    text += cat("  ", pad_right(one.name, 8), one.what, "\n          here: ", state_of(one), "\n");
  std::vector<std::string> names;
  try {
    names = Collector::list_events(OPD_COLLECTOR_PAPI);
  } catch (const opdyno::Error &) { return text; }
  text += cat("PAPI events that can be counted here: ", names.empty() ? "none" : "", "\n");
  for (const std::string &name : names) text += cat("  ", name, "\n");
  return text;
}

void warn_of_cpu_number(DLDevice device) {
  if (device.device_type != kDLCPU || device.device_id == 0) return;
  print_message(cat("opdyno: warning: ", opdyno::to_string(device),
                    " has the same processors as cpu:0: all processors of a machine are one device\n"));
}

}  // namespace opd::cli
