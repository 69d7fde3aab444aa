// Output forms of `opdyno bench`: text, JSON, CSV.
#include <algorithm>
#include <cmath>

#include "cli/bench/bench.h"
#include "cli/support/json.h"

namespace opd::cli {

std::string time_text(double seconds) {
  if (seconds < 1e-6) return cat(fixed(seconds * 1e9, 1), " ns");
  if (seconds < 1e-3) return cat(fixed(seconds * 1e6, 3), " us");
  if (seconds < 1) return cat(fixed(seconds * 1e3, 3), " ms");
  return cat(fixed(seconds, 3), " s");
}

std::string clock_name(const opd_benchmark_stats &stats) { return stats.is_device_time ? "device" : "host"; }

std::string rate_text(double rate) { return rate < 100 ? significant(rate, 3) : fixed(rate, 0); }

std::string interval_text(const opd_benchmark_stats &is) {
  if (!std::isfinite(is.median_high)) return "unknown";
  return cat(time_text(is.median_low), " to ", time_text(is.median_high));
}

std::string machine_text(const std::vector<MachineQuality::Entry> &quality) {
  std::string text = "  machine:";
  std::string_view between = " ";
  for (const auto &entry : quality) {
    text += cat(between, entry.name, " ", entry.value, entry.is_doubtful ? " (!)" : "");
    between = ", ";
  }
  return text + "\n";
}

void write_quality(JsonWriter &json, const std::vector<MachineQuality::Entry> &quality) {
  json.key("quality").begin_object();
  for (const auto &entry : quality) json.key(entry.name).string(entry.value);
  json.end_object();
}

std::string columns_text(const std::vector<std::vector<std::string>> &cells) {
  std::vector<size_t> widths(cells[0].size());
  for (const auto &line : cells)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (const auto &line : cells) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) row += cat("  ", pad_left(line[i], widths[i]));
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

namespace {

struct Statistic {
  std::string_view name;
  double seconds;
};

std::vector<Statistic> statistics(const BenchRow &row) {
  const opd_benchmark_stats &is = row.stats;
  return {{"min", is.min},
          {"median", is.median},
          {"mean", is.mean},
          {"p95", row.times.percentile(95)},
          {"p99", row.times.percentile(99)},
          {"max", is.max},
          {"std", is.std}};
}

// The number of warm-up calls, and whether they sufficed.
std::string warmup_text(const BenchResult &result) {
  int64_t calls = 0;
  std::vector<std::string> unsteady;
  for (const BenchRow &row : result.rows) {
    calls += row.stats.warmup_count;
    if (!row.stats.is_steady) unsteady.push_back(sizes_text(row.sizes));
  }
  const int64_t limit_ms = result.plan.options.steady_ms;
  std::string text = cat("  warm-up: ", counted(calls, "call"));
  if (limit_ms && unsteady.empty()) text += ", until their times were steady";
  else if (limit_ms)
    text += cat(", not steady after ", significant(static_cast<double>(limit_ms) * 1e-3, 4), " s",
                result.plan.is_sweep ? cat(" at ", join(unsteady, "; ")) : "",
                " (!): later calls may take another time; --warmup steady:TIME gives it longer");
  return text + "\n";
}

std::string clock_text(const BenchResult &result) {
  return result.rows[0].stats.is_device_time ? "  clock: the device's own\n" : "";
}

std::string cold_text(const BenchPlan &plan) {
  if (!plan.options.cache_flush_bytes) return "";
  const double mebibytes = static_cast<double>(plan.options.cache_flush_bytes) / 1048576;
  return cat("  cold: before each call ", significant(mebibytes, 6), " MiB were copied\n");
}

std::string row_text(const BenchResult &result) {
  const BenchRow &row = result.rows[0];
  const opd_benchmark_stats &is = row.stats;
  const int64_t threads = result.plan.options.concurrency;
  std::string text = cat(result.function, ": ", counted(result.plan.options.repeat, "repeat"), " of ",
                         counted(is.number, "call"), threads > 1 ? cat(" by each of ", threads, " threads") : "", "\n");
  text += warmup_text(result) + clock_text(result) + cold_text(result.plan);
  for (const Statistic &statistic : statistics(row))
    text += cat("  ", pad_right(statistic.name, 8), pad_left(time_text(statistic.seconds), 12), "\n");
  text += cat("  ", pad_right("calls/s", 8), pad_left(rate_text(is.calls_per_second), 9), "\n");
  if (std::isfinite(is.median_high)) text += cat("  95 % interval of the median: ", interval_text(is), "\n");
  text += cat("  outliers: ", is.outlier_count, ", autocorrelation: ", fixed(is.autocorrelation, 2), "\n");
  text += machine_text(result.quality);
  if (row.times.seconds().size() < 6)
    text += "  Too few repeats to say how far this can be relied on: 6 are the least.\n";
  else if (!std::isfinite(is.median_high)) text += "  Too noisy to say: the repeats drift; more of them would help.\n";
  else if (is.is_noisy) text += "  Too noisy to say: the interval is wider than 5 % of the median.\n";
  return text;
}

std::string sweep_text(const BenchResult &result) {
  std::vector<std::vector<std::string>> cells(1);
  for (const auto &entry : result.rows[0].sizes) cells[0].push_back(entry.first);
  for (const char *title : {"median", "95 % interval", "p99", "calls/s", ""}) cells[0].push_back(title);
  bool is_noisy = false;
  for (const BenchRow &row : result.rows) {
    std::vector<std::string> &line = cells.emplace_back();
    for (const auto &entry : row.sizes) line.push_back(cat(entry.second));
    const double median = row.stats.median, p99 = row.times.percentile(99);
    line.insert(line.end(), {time_text(median), interval_text(row.stats), time_text(p99),
                             rate_text(row.stats.calls_per_second), row.stats.is_noisy ? "(noisy)" : ""});
    is_noisy |= row.stats.is_noisy != 0;
  }
  const int64_t threads = result.plan.options.concurrency;
  std::string text = cat(result.function, ": ", counted(result.plan.options.repeat, "repeat"), " of each size",
                         threads > 1 ? cat(" by each of ", threads, " threads") : "", "\n");
  text += columns_text(cells);
  text += warmup_text(result) + clock_text(result) + cold_text(result.plan) + machine_text(result.quality);
  if (is_noisy) text += "  Noisy: too few repeats for an interval, or it is wider than 5 % of the median.\n";
  return text;
}

void write_sizes(JsonWriter &json, const Sizes &sizes) {
  json.key("sizes").begin_object();
  for (const auto &[name, size] : sizes) json.key(name).number(size);
  json.end_object();
}

void write_compared(JsonWriter &json, const DiffRow &is) {
  json.key("compare").begin_object().key("verdict").string(is.verdict);
  if (std::isfinite(is.change)) json.key("change").number(is.change);
  if (std::isfinite(is.high)) json.key("interval").begin_array().number(is.low).number(is.high).end_array();
  json.end_object();
}

// Writes members of an object.
void write_row(JsonWriter &json, const BenchRow &row, const BenchPlan &plan) {
  const opd_benchmark_stats &is = row.stats;
  json.key("arguments").list(row.arguments).key("number").number(is.number).key("repeat").number(plan.options.repeat);
  json.key("clock").string(clock_name(row.stats));
  for (const Statistic &statistic : statistics(row))
    json.key(cat(statistic.name, "_us")).number(statistic.seconds * 1e6);
  if (std::isfinite(is.median_high))
    json.key("median_low_us").number(is.median_low * 1e6).key("median_high_us").number(is.median_high * 1e6);
  json.key("calls_per_second").number(is.calls_per_second).key("warmup_calls").number(is.warmup_count);
  if (plan.options.steady_ms) json.key("steady").boolean(is.is_steady != 0);
  json.key("outliers").number(is.outlier_count).key("autocorrelation").number(is.autocorrelation);
  json.key("noisy").boolean(is.is_noisy != 0).key("results_us").begin_array();
  for (const double seconds : row.times.seconds()) json.number(seconds * 1e6);
  json.end_array();
  if (row.diff) write_compared(json, row.diff->total());
}

}  // namespace

std::string bench_json(const BenchResult &result) {
  JsonWriter json;
  json.begin_object().key("function").string(result.function).key("machine").string(result.machine);
  json.key("concurrency").number(result.plan.options.concurrency);
  if (result.threads) json.key("threads").number(result.threads);
  json.key("flushed_bytes").number(result.plan.options.cache_flush_bytes);
  write_quality(json, result.quality);
  if (result.plan.is_sweep) {
    json.key("rows").begin_array();
    for (const BenchRow &row : result.rows) {
      write_sizes(json.begin_object(), row.sizes);
      write_row(json, row, result.plan);
      json.end_object();
    }
    json.end_array();
  } else {
    write_row(json, result.rows[0], result.plan);
  }
  return json.end_object().take() + "\n";
}

std::string bench_csv(const BenchResult &result) {
  std::string csv = "function";
  for (const auto &entry : result.rows[0].sizes) csv += cat(",", csv_field(entry.first));
  csv += ",number,repeat";
  for (const Statistic &statistic : statistics(result.rows[0])) csv += cat(",", statistic.name, "_us");
  csv += ",median_low_us,median_high_us,calls_per_second,warmup_calls,noisy";
  csv += result.rows[0].diff ? ",verdict,change,change_low,change_high\n" : "\n";
  const auto number = [](double is, bool is_known) { return is_known ? cat(is) : std::string(); };
  for (const BenchRow &row : result.rows) {
    const opd_benchmark_stats &is = row.stats;
    csv += csv_field(result.function);
    for (const auto &entry : row.sizes) csv += cat(",", entry.second);
    csv += cat(",", is.number, ",", result.plan.options.repeat);
    for (const Statistic &statistic : statistics(row)) csv += cat(",", statistic.seconds * 1e6);
    const bool is_known = std::isfinite(is.median_high);
    csv += cat(",", number(is.median_low * 1e6, is_known), ",", number(is.median_high * 1e6, is_known), ",",
               is.calls_per_second, ",", is.warmup_count, ",", is.is_noisy);
    if (row.diff) {
      const DiffRow &one = row.diff->total();
      const bool is_bounded = std::isfinite(one.high);
      csv += cat(",", one.verdict, ",", number(one.change, std::isfinite(one.change)), ",", number(one.low, is_bounded),
                 ",", number(one.high, is_bounded));
    }
    csv += '\n';
  }
  return csv;
}

std::string bench_text(const BenchResult &result) {
  return result.plan.is_sweep ? sweep_text(result) : row_text(result);
}

std::string bench_changes(const BenchResult &result) {
  std::string text;
  for (const BenchRow &row : result.rows)
    if (row.diff)
      text += cat("\n", row.sizes.empty() ? "" : cat(sizes_text(row.sizes), ":\n"), row.diff->table(TableStyle::text),
                  row.diff->notes(TableStyle::text));
  return text;
}

}  // namespace opd::cli
