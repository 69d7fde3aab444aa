// `opdyno info`: features of this build and this machine, or the content of a parameter file.
#include "cli/bench/machine_quality.h"
#include "cli/commands/command.h"
#include "cli/load/devices.h"
#include "cli/load/machine.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"
#include "cli/tensors/element.h"
#include "cli/tensors/tensor_make.h"

namespace opd::cli {

namespace {

// ---- a parameter file: names, dtypes and shapes, without loading tensors

std::string bytes_text(uint64_t bytes) {
  constexpr std::string_view units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < std::size(units); ++unit) number /= 1024;
  return cat(unit ? fixed(number, 1) : cat(bytes), " ", units[unit]);
}

std::string params_text(const Params &params) {
  TextTable table{{}, {1, 2}};
  uint64_t views = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    const opd_tensor_info is = params.info(i);
    if (is.is_view) views += is.bytes;
    table.lines.push_back({*is.name ? printable(is.name) : "(no name)",
                           cat(opdyno::to_string(is.dtype), dims_text(is.shape, is.ndim)), bytes_text(is.bytes)});
  }
  return cat(params.size() ? table.columns(SIZE_MAX) : "", params.size(),
             params.size() == 1 ? " tensor, " : " tensors, ", bytes_text(params.stats().total_bytes), ", of which ",
             bytes_text(views), " can be used where they lie\n");
}

std::string params_json(const Params &params) {
  JsonWriter json;
  json.begin_object().key("tensors").begin_array();
  for (size_t i = 0; i < params.size(); ++i) {
    json.begin_object().key("name").string(params.name(i)).key("dtype").string(opdyno::to_string(params.dtype(i)));
    json.key("shape")
        .list(params.shape(i))
        .key("bytes")
        .number(params.info(i).bytes)
        .key("view")
        .boolean(params.is_view(i))
        .end_object();
  }
  return cat(json.end_array().end_object().take(), "\n");
}

// ---- the machine

struct Attribute {
  opd_device_attr attr;
  std::string_view name;
};
constexpr Attribute attributes[] = {
    {OPD_ATTR_DEVICE_NAME, "name"},
    {OPD_ATTR_COMPUTE_VERSION, "compute version"},
    {OPD_ATTR_API_VERSION, "API version"},
    {OPD_ATTR_DRIVER_VERSION, "driver version"},
    {OPD_ATTR_MULTI_PROCESSOR_COUNT, "processors"},
    {OPD_ATTR_MAX_CLOCK_RATE, "clock (kHz)"},
    {OPD_ATTR_WARP_SIZE, "warp size"},
    {OPD_ATTR_MAX_THREADS_PER_BLOCK, "threads per block"},
    {OPD_ATTR_MAX_THREAD_DIMENSIONS, "thread dimensions"},
    {OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK, "shared memory per block (bytes)"},
    {OPD_ATTR_TEXTURE_SPATIAL_LIMIT, "texture limit (pixels)"},
    {OPD_ATTR_L2_CACHE_SIZE_BYTES, "L2 cache (bytes)"},
    {OPD_ATTR_TOTAL_GLOBAL_MEMORY, "memory (bytes)"},
    {OPD_ATTR_AVAILABLE_GLOBAL_MEMORY, "free memory (bytes)"},
};

void write_value(JsonWriter &json, const opd_value &value) {
  if (value.type == OPD_INT) json.number(value.u.int64);
  else if (value.type == OPD_BOOL) json.boolean(value.u.int64 != 0);
  else if (value.type == OPD_SHAPE) json.string(opdyno::to_string(value));
  else json.string(string_of(value));
}

void write_devices(JsonWriter &json, const Reach &reach = here) {
  json.key("devices").begin_array();
  for (const DLDevice device : devices(reach)) {
    json.begin_object().key("device").string(opdyno::to_string(device));
    for (const Attribute &attribute : attributes) {
      const Value value = attribute_of(reach(device), attribute.attr);
      if (value.type() != OPD_NONE) write_value(json.key(attribute.name), value.view());
    }
    json.end_object();
  }
  json.end_array().key("absent_devices").begin_object();
  for (const auto &[kind, reason] : absent_kinds(reach)) json.key(kind).string(reason);
  json.end_object();
}

std::string info_json(std::string_view build, const Args &args) {
  JsonWriter json;
  json.begin_object().key("build").raw(build).key("threads").number(opdyno::threads_count());
  write_devices(json);
  json.key("absent_tls").string(tls_absence());
  if (args.has("measure")) {
    const opd_machine_peak peak = opdyno::measure_peak();
    json.key("peak").begin_object().key("threads").number(peak.num_threads).key("gflops").number(peak.gflops);
    json.key("bandwidth_gbps").number(peak.bandwidth_gbps).key("spread").number(peak.spread).end_object();
  }
  if (args.has("functions")) json.key("functions").list(Function::list_global());
  return json.end_object().take() + "\n";
}

std::string devices_text(const Reach &reach = here) {
  std::string text = "devices:\n";
  for (const DLDevice device : devices(reach)) {
    text += cat("  ", opdyno::to_string(device), "\n");
    for (const Attribute &attribute : attributes) {
      const Value value = attribute_of(reach(device), attribute.attr);
      if (value.type() == OPD_NONE) continue;
      const bool is_text = value.type() >= OPD_OBJECT ? value.type() == OPD_STRING : value.type() == OPD_SMALL_STRING;
      text += cat("    ", pad_right(cat(attribute.name, ": "), 22),
                  is_text ? string_of(value.view()) : opdyno::to_string(value.view()), "\n");
    }
  }
  return text;
}

Exit show_machine(const MachineSpec &spec, const Args &args) {
  const Machine machine(spec, args);
  const Reach reach = [&](DLDevice there) { return machine.reach(there); };
  attempt(Exit::failed, machine.address(), [&] {
    if (args.has("json")) {
      JsonWriter json;
      json.begin_object().key("address").string(machine.address()).key("host").string(machine.host());
      json.key("server").string(machine.server());
      write_devices(json, reach);
      print(json.end_object().take() + "\n");
      return;
    }
    std::vector<std::string> absent;  // other machines do not report the reasons
    for (const auto &[kind, reason] : absent_kinds(reach)) absent.push_back(kind);
    print(cat(machine.text(), ", a server of ", machine.is_tvms() ? "TVM" : machine.server(), "\n", devices_text(reach),
              absent.empty() ? "" : "not there: ", join(absent, ", "), absent.empty() ? "" : "\n"));
  });
  return Exit::ok;
}

}  // namespace

Exit run_info(const Args &args) {
  if (!args.words().empty()) {
    for (const char *option : {"functions", "measure", "collectors", "on"})
      if (args.has(option)) fail_usage(cat("option '--", option, "' takes no file"));
    const Params params = Params::load(args.words()[0]);
    print(args.has("json") ? params_json(params) : params_text(params));
    return Exit::ok;
  }
  if (const std::optional<MachineSpec> spec = MachineSpec::of(args)) {
    for (const char *option : {"functions", "measure", "collectors"})
      if (args.has(option)) fail_usage(cat("option '--", option, "' is of this machine, and does not go with --on"));
    return show_machine(*spec, args);
  }
  if (args.has("collectors")) {
    if (args.has("json")) fail_usage("option '--collectors' has no JSON");
    print_fitted(collectors_text());
    return Exit::ok;
  }
  const std::string build = opdyno::build_info();
  if (args.has("json")) {
    print(info_json(build, args));
    return Exit::ok;
  }
  std::string text = version_text();
  const Json json = parse_json(build, "the build");
  text += cat("loads artifacts of TVM ", join(json_strings(json.get(), "tvm_artifacts"), ", "),
              "; tested with those of ", join(json_strings(json.get(), "tvm_tested"), ", "),
              "\nthreads: ", opdyno::threads_count(), "\n", devices_text());
  const std::string without_tls = tls_absence();
  if (without_tls.empty()) text += "TLS for other machines: by OpenSSL\n";
  text += "not here:\n";
  for (const auto &[kind, reason] : absent_kinds()) text += cat("  ", kind, ": ", reason, "\n");
  if (!without_tls.empty()) text += cat("  TLS for other machines: ", without_tls, "\n");
  if (args.has("measure")) {
    const opd_machine_peak peak = opdyno::measure_peak();
    text += cat("measured with ", peak.num_threads, " threads:\n  ", fixed(peak.gflops, 1), " GFLOP/s (float32)\n  ",
                fixed(peak.bandwidth_gbps, 1), " GB/s\n");
    if (const std::string warning = noise_of(peak); !warning.empty()) text += cat("  ", warning, "\n");
  }
  if (args.has("functions")) text += cat("global functions:\n  ", join(Function::list_global(), "\n  "), "\n");
  print(text);
  return Exit::ok;
}

}  // namespace opd::cli
