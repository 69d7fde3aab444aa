// `opdyno bench --on tracker=…`: the same measurement on several machines at once, and how they differ.
#include <algorithm>
#include <cmath>
#include <thread>

#include "cli/bench/bench.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// A machine's measurements, or the reason why it has none.
struct MachineResult {
  std::string address, host, device, function;
  std::vector<BenchRow> rows;  // one for each size; none after a failure
  std::optional<Failure> failure;
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// The medians of one size over the machines that measured it.
struct Spread {
  std::vector<double> medians;
  double median = 0, least = 0, most = 0, deviation = 0;  // in s; `deviation`: the median absolute deviation

  Spread(const std::vector<MachineResult> &machines, size_t row) {
    for (const MachineResult &machine : machines)
      if (!machine.failure) medians.push_back(machine.rows[row].stats.median);
    if (medians.empty()) return;
    median = median_of(medians);
    least = *std::ranges::min_element(medians), most = *std::ranges::max_element(medians);
    std::vector<double> distances;
    for (const double one : medians) distances.push_back(std::abs(one - median));
    deviation = median_of(distances);
  }
  double relative() const { return median > 0 ? (most - least) / median : 0; }

  // An outlier: its distance is more than 3.5 estimated standard deviations, and its own measurement's noise does not
  // explain it. With two machines it is unknown which one is the outlier. Differences below 2 % are common between
  // equal machines.
  bool is_outlier(const BenchRow &row) const {
    constexpr double kSigma = 1.4826, kMost = 3.5, kLeast = 0.02;
    if (medians.size() < 3) return false;
    const double distance = std::abs(row.stats.median - median);
    const bool may_be_chance =
        std::isfinite(row.stats.median_high) && row.stats.median_low <= median && median <= row.stats.median_high;
    return !may_be_chance && distance > std::max(kMost * kSigma * deviation, kLeast * median);
  }
};

struct FleetResult {
  std::string function;
  BenchPlan plan;
  std::vector<Sizes> sizes;
  std::vector<MachineResult> machines;
};

std::string percent(double ratio) { return cat(fixed(ratio * 100, 1), " %"); }

std::string distance_text(const Spread &spread, const BenchRow &row) {
  if (spread.medians.size() < 2 || spread.median <= 0) return "";
  const double distance = row.stats.median / spread.median - 1;
  return cat(distance < 0 ? "" : "+", percent(distance), spread.is_outlier(row) ? " (outlier)" : "");
}

std::string size_text(const FleetResult &fleet, size_t row) {
  const Spread spread(fleet.machines, row);
  std::vector<std::vector<std::string>> cells{
      {"machine", "host", "median", "95 % interval", "p99", "calls/s", "against the median", ""}};
  for (const MachineResult &machine : fleet.machines) {
    if (machine.failure) continue;
    const BenchRow &its = machine.rows[row];
    cells.push_back({machine.address, machine.host, time_text(its.stats.median), interval_text(its.stats),
                     time_text(its.times.percentile(99)), rate_text(its.stats.calls_per_second),
                     distance_text(spread, its), its.stats.is_noisy ? "(noisy)" : ""});
  }
  std::string text = fleet.plan.is_sweep ? cat(sizes_text(fleet.sizes[row]), ":\n") : "";
  if (spread.medians.empty()) return text;
  text += columns_text(cells);
  if (spread.medians.size() > 1)
    text +=
        cat("  over ", spread.medians.size(), " machines: median ", time_text(spread.median), ", from ",
            time_text(spread.least), " to ", time_text(spread.most), " (spread ", percent(spread.relative()), ")\n");
  return text;
}

std::string message_from(const MachineResult &machine) {
  const std::string message = machine.failure->what();
  return message.find(machine.address) == message.npos ? cat(machine.address, ": ", message) : message;
}

std::string fleet_text(const FleetResult &fleet) {
  std::string text = cat(fleet.function, ": ", counted(fleet.plan.options.repeat, "repeat"), " on each of ",
                         counted(static_cast<int64_t>(fleet.machines.size()), "machine"), "\n");
  for (size_t row = 0; row < fleet.sizes.size(); ++row) text += size_text(fleet, row);
  for (const MachineResult &machine : fleet.machines)
    if (machine.failure) text += cat("  failed: ", message_from(machine), "\n");
  return text;
}

std::string fleet_json(const FleetResult &fleet) {
  JsonWriter json;
  json.begin_object().key("function").string(fleet.function).key("machines").begin_array();
  for (const MachineResult &machine : fleet.machines) {
    json.begin_object().key("address").string(machine.address).key("host").string(machine.host);
    json.key("device").string(machine.device);
    if (machine.failure) json.key("error").string(machine.failure->what());
    json.key("rows").begin_array();
    for (size_t row = 0; row < machine.rows.size(); ++row) {
      write_sizes(json.begin_object(), machine.rows[row].sizes);
      write_row(json, machine.rows[row], fleet.plan);
      json.key("outlier").boolean(Spread(fleet.machines, row).is_outlier(machine.rows[row])).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("spread").begin_array();
  for (size_t row = 0; row < fleet.sizes.size(); ++row) {
    const Spread spread(fleet.machines, row);
    if (spread.medians.empty()) continue;
    write_sizes(json.begin_object(), fleet.sizes[row]);
    json.key("machines").number(static_cast<int64_t>(spread.medians.size()));
    json.key("median_us").number(spread.median * 1e6).key("min_us").number(spread.least * 1e6);
    json.key("max_us").number(spread.most * 1e6).key("relative").number(spread.relative()).end_object();
  }
  return json.end_array().end_object().take() + "\n";
}

std::string fleet_csv(const FleetResult &fleet) {
  std::string csv = "function,address,host,device";
  for (const auto &entry : fleet.sizes[0]) csv += cat(",", csv_field(entry.first));
  csv += ",repeat,number,median_us,median_low_us,median_high_us,p99_us,calls_per_second,noisy,outlier,error\n";
  for (const MachineResult &machine : fleet.machines)
    for (size_t row = 0; row < fleet.sizes.size(); ++row) {
      csv += cat(csv_field(fleet.function), ",", csv_field(machine.address), ",", csv_field(machine.host), ",",
                 csv_field(machine.device));
      for (const auto &entry : fleet.sizes[row]) csv += cat(",", entry.second);
      csv += cat(",", fleet.plan.options.repeat);
      if (machine.failure) {
        csv += cat(",,,,,,,,,", csv_field(machine.failure->what()), "\n");
        continue;
      }
      const opd_benchmark_stats &is = machine.rows[row].stats;
      const auto bound = [&](double seconds) { return std::isfinite(is.median_high) ? cat(seconds * 1e6) : ""; };
      csv += cat(",", is.number, ",", is.median * 1e6, ",", bound(is.median_low), ",", bound(is.median_high), ",",
                 machine.rows[row].times.percentile(99) * 1e6, ",", is.calls_per_second, ",", is.is_noisy, ",",
                 Spread(fleet.machines, row).is_outlier(machine.rows[row]) ? 1 : 0, ",\n");
    }
  return csv;
}

// Runs on its own thread. If a machine fails, the other measurements go on.
void measure_on(Machine machine, const Args &args, FleetResult &fleet, MachineResult &result) {
  try {
    Runner runner(args, fleet.sizes[0], std::move(machine));
    result.function = runner.target().name();
    const Value name = opdyno::device_attr(runner.target().device(), OPD_ATTR_DEVICE_NAME);
    if (name.type() != OPD_NONE) result.device = name.string();  // TVM's servers give no name for a CPU
    const BenchPlan plan = runner.machine()->is_tvms() ? fleet.plan.for_tvms(args) : fleet.plan;
    runner.start();
    for (const Sizes &sizes : fleet.sizes) {
      if (&sizes != &fleet.sizes[0]) runner.resize(args, sizes);
      result.rows.push_back(measure_row(runner, sizes, plan));
    }
  } catch (const Failure &failure) { result.failure = failure; } catch (const opdyno::Error &error) {
    result.failure.emplace(Exit::failed, message_of(error), error.code());
  }
  if (result.failure) result.rows.clear();
}

}  // namespace

Exit run_bench_fleet(const Args &args, const MachineSpec &spec) {
  if (args.words().empty()) fail_usage("expected MOD [FN] after 'bench', found nothing");
  if (args.has("json") && args.has("csv")) fail_usage("--json and --csv exclude each other");
  for (const char *name : {"compare", "fail-above", "min-effect"})
    if (args.has(name)) fail_usage(cat("--", name, " is for one machine, without n"));
  FleetResult fleet{"", BenchPlan::from(args), sweep_of(args), {}};
  refuse_local_options(args);
  Progress progress;
  std::vector<Machine> machines =
      Machine::connect_all(spec, args, [&](const std::string &what) { progress.stage(what); });
  for (const Machine &machine : machines) fleet.machines.push_back({machine.address(), machine.host(), "", "", {}, {}});
  progress.stage(cat("measuring on ", machines.size(), " machines"));
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < machines.size(); ++i)
      threads.emplace_back([&, i] { measure_on(std::move(machines[i]), args, fleet, fleet.machines[i]); });
  }
  progress.clear();
  for (const MachineResult &machine : fleet.machines)
    if (fleet.function.empty()) fleet.function = machine.function;
  // A wrong command line is an error on all machines, and is reported once.
  const std::optional<Failure> &first = fleet.machines[0].failure;
  if (first && std::ranges::all_of(fleet.machines, [&](const auto &one) { return one.function.empty(); })) throw *first;
  print(args.has("json") ? fleet_json(fleet) : args.has("csv") ? fleet_csv(fleet) : fleet_text(fleet));
  const bool is_whole = std::ranges::all_of(fleet.machines, [](const auto &one) { return !one.failure; });
  return is_whole ? Exit::ok : Exit::failed;
}

}  // namespace opd::cli
