// `opdyno bench --copies`: how fast memory is copied to a device, from it, and within it.
#include <algorithm>
#include <array>
#include <cmath>

#include "cli/bench/bench.h"
#include "cli/load/machine.h"
#include "cli/load/target.h"
#include "cli/support/file.h"
#include "cli/support/json.h"

namespace opd::cli {

namespace {

constexpr std::string_view kSizes = "4K,1M,64M";

std::vector<int64_t> read_sizes(std::string_view text) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  std::vector<int64_t> sizes;
  for (const std::string_view part : split(text.empty() ? kSizes : text, ',')) {
    const std::optional<uint64_t> size = read_bytes(part);
    if (!size || *size == 0 || *size > kMost)
      fail_usage(cat("option '--copies' takes sizes from 1 to 1T, as 4K,1M,64M, not '", part, "'"));
    sizes.push_back(static_cast<int64_t>(*size));
  }
  return sizes;
}

// Refuses options that only apply to calls of a module.
void refuse_others(const Args &args) {
  if (!args.words().empty()) fail_usage("--copies measures no module: leave MOD out, or leave --copies out");
  for (const char *name :
       {"sweep", "csv", "compare", "fail-above", "min-effect", "flush-cache", "concurrency", "input", "params", "dim",
        "seed", "import", "c-flags", "copy", "allocator", "memory-limit", "threads", "timeout"})
    if (args.has(name)) fail_usage(cat("--", name, " does not go with --copies"));
}

struct CopyTimes {
  std::string from, to;
  int64_t bytes;
  int64_t repeat;
  opd_benchmark_stats stats;
  double rate(double seconds) const { return static_cast<double>(bytes) / seconds * 1e-9; }  // GB/s
};

struct Place {
  DLDevice device;
  std::string name;
};

CopyTimes measure(const Place &source_place, const Place &target_place, DLDevice waits_for, int64_t bytes,
                  opd_evaluator_options options) {
  const DLDevice from = source_place.device, to = target_place.device;
  const Tensor source({bytes}, "uint8", from), target({bytes}, "uint8", to);
  if (from.device_type == kDLCPU) std::fill_n(static_cast<char *>(source.view().data), bytes, '\1');
  if (to.device_type == kDLCPU) std::fill_n(static_cast<char *>(target.view().data), bytes, '\0');
  const auto copy = Function::of([&](const opd_value *, int32_t) { target.copy_from(source); });
  options.device = waits_for;
  const Benchmark times = Evaluator(copy, &options).call({});
  return {source_place.name, target_place.name, bytes, options.repeat, times.stats()};
}

// The local number of a session's device means nothing to users.
Place place_of(const Args &args, const std::optional<Machine> &machine) {
  if (!machine) return {device_option(args), opdyno::to_string(device_option(args))};
  return {machine->device(args), cat(args.value("device").value_or("cpu:0"), " of ", machine->address())};
}

std::string size_text(int64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {" B", " KiB", " MiB", " GiB"};
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  return cat(significant(number, 4), kUnits[unit]);
}

std::string copies_text(const std::vector<CopyTimes> &rows, const std::vector<MachineQuality::Entry> &quality) {
  std::vector<std::vector<std::string>> cells{{"from", "to", "size", "median", "GB/s", "95 % interval"}};
  for (const CopyTimes &row : rows) {
    const opd_benchmark_stats &is = row.stats;
    const bool is_known = std::isfinite(is.median_high);
    cells.push_back({row.from, row.to, size_text(row.bytes), time_text(is.median), significant(row.rate(is.median), 3),
                     is_known ? cat(significant(row.rate(is.median_high), 3), " to ",
                                    significant(row.rate(is.median_low), 3), is.is_noisy ? " (noisy)" : "")
                              : "unknown"});
  }
  return cat("copies: ", counted(rows[0].repeat, "repeat"), " of each\n", columns_text(cells), machine_text(quality));
}

std::string copies_json(const std::vector<CopyTimes> &rows, const std::vector<MachineQuality::Entry> &quality,
                        const std::string &machine) {
  JsonWriter json;
  write_quality(json.begin_object().key("machine").string(machine), quality);
  json.key("copies").begin_array();
  for (const CopyTimes &row : rows) {
    const opd_benchmark_stats &is = row.stats;
    json.begin_object().key("from").string(row.from).key("to").string(row.to).key("bytes").number(row.bytes);
    json.key("repeat").number(row.repeat).key("number").number(is.number).key("median_us").number(is.median * 1e6);
    if (std::isfinite(is.median_high))
      json.key("median_low_us").number(is.median_low * 1e6).key("median_high_us").number(is.median_high * 1e6);
    json.key("gb_per_s").number(row.rate(is.median)).key("noisy").boolean(is.is_noisy != 0);
    json.key("clock").string(clock_name(is)).end_object();
  }
  return json.end_array().end_object().take() + "\n";
}

}  // namespace

Exit run_bench_copies(const Args &args) {
  refuse_others(args);
  const std::vector<int64_t> sizes = read_sizes(*args.value("copies"));
  const BenchPlan plan = BenchPlan::from(args);
  std::optional<Machine> machine;  // its session must outlive the measurements
  if (const auto spec = MachineSpec::of(args)) machine.emplace(*spec, args);
  const Place host = {{kDLCPU, 0}, "cpu:0"}, device = place_of(args, machine);
  const MachineQuality quality;
  std::vector<CopyTimes> rows;
  for (const int64_t bytes : sizes) {
    if (device.device.device_type != kDLCPU) {
      rows.push_back(measure(host, device, device.device, bytes, plan.options));
      rows.push_back(measure(device, host, device.device, bytes, plan.options));
    }
    rows.push_back(measure(device, device, device.device, bytes, plan.options));
  }
  print(args.has("json") ? copies_json(rows, quality.entries(), machine_name(machine ? &*machine : nullptr))
                         : copies_text(rows, quality.entries()));
  return Exit::ok;
}

}  // namespace opd::cli
