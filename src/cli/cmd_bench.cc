// `opdyno bench`: how long a call takes, with nothing between the clock and the calls.
#include <algorithm>
#include <cmath>

#include "command.h"
#include "file.h"
#include "json.h"
#include "quality.h"
#include "runner.h"
#include "runs.h"

namespace opd::cli {

namespace {

using Clock = std::chrono::steady_clock;

class Bench {
 public:
  Bench(Runner &runner, const Args &args)
      : runner_(runner),
        repeat_(args.integer("repeat", 10, 1, 1'000'000)),
        number_(args.integer("number", 1, 1, 1'000'000'000)),
        min_repeat_(args.real("min-repeat-ms", 10) * 1e-3) {}

  // Calls 1 + number × repeat times, the first discarded, as TVM's time_evaluator does.
  void measure() {
    runner_.start();
    call_many(1);
    for (int64_t i = 0; i < repeat_; ++i) {
      runner_.progress().stage(cat("bench ", runner_.target().name(), ", repeat ", i + 1, " of ", repeat_));
      seconds_.push_back(measure_repeat());
    }
  }

  int64_t number() const { return number_; }
  const std::vector<double> &seconds() const { return seconds_; }

 private:
  void call_many(int64_t number) {
    if (runner_.has_deadline())
      for (int64_t i = 0; i < number; ++i) runner_.call();
    else
      for (int64_t i = 0; i < number; ++i) runner_.call_bare();
  }

  double measure_repeat() {
    for (;;) {
      const Clock::time_point begin = Clock::now();
      call_many(number_);
      const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
      if (elapsed >= min_repeat_ || number_ >= 1'000'000'000) return elapsed / static_cast<double>(number_);
      const double needed = elapsed > 0 ? min_repeat_ / elapsed * static_cast<double>(number_) : 0;
      number_ =
          static_cast<int64_t>(std::min(1e9, std::ceil(std::max(needed * 1.05, static_cast<double>(number_) * 1.6))));
    }
  }

  Runner &runner_;
  int64_t repeat_, number_;
  double min_repeat_;  // seconds
  std::vector<double> seconds_;
};

using Benchmark = Handle<opd_benchmark>;

Benchmark benchmark_of(const std::vector<double> &seconds) {
  Benchmark made;
  check(opd_benchmark_create(seconds.data(), seconds.size(), made.out()), Exit::failed);
  return made;
}

struct Statistic {
  std::string_view name;
  double seconds;
};

std::vector<Statistic> statistics(const Benchmark &all) {
  return {{"min", opd_benchmark_min(all.get())},
          {"median", opd_benchmark_median(all.get())},
          {"mean", opd_benchmark_mean(all.get())},
          {"p95", opd_benchmark_percentile(all.get(), 95)},
          {"p99", opd_benchmark_percentile(all.get(), 99)},
          {"max", opd_benchmark_max(all.get())},
          {"std", opd_benchmark_std(all.get())}};
}

opd_benchmark_stats reliability(const Benchmark &all) {
  opd_benchmark_stats stats{};
  stats.struct_size = sizeof stats;
  check(opd_benchmark_get_stats(all.get(), &stats), Exit::failed);
  return stats;
}

// A time in the unit that suits it.
std::string time_text(double seconds) {
  if (seconds < 1e-6) return cat(fixed(seconds * 1e9, 1), " ns");
  if (seconds < 1e-3) return cat(fixed(seconds * 1e6, 3), " us");
  if (seconds < 1) return cat(fixed(seconds * 1e3, 3), " ms");
  return cat(fixed(seconds, 3), " s");
}

// What was measured, in one piece for all forms of output.
struct Result {
  const std::string &function;
  const Bench &bench;
  Benchmark all;
  opd_benchmark_stats reliability;
  std::vector<MachineQuality::Entry> quality;
};

std::string bench_json(const Result &result) {
  JsonWriter json;
  json.begin_object()
      .key("function")
      .string(result.function)
      .key("number")
      .number(result.bench.number())
      .key("repeat")
      .number(result.bench.seconds().size());
  for (const Statistic &statistic : statistics(result.all))
    json.key(cat(statistic.name, "_us")).number(statistic.seconds * 1e6);
  const opd_benchmark_stats &is = result.reliability;
  if (std::isfinite(is.median_high))
    json.key("median_low_us").number(is.median_low * 1e6).key("median_high_us").number(is.median_high * 1e6);
  json.key("outliers").number(is.outlier_count).key("autocorrelation").number(is.autocorrelation);
  json.key("noisy").boolean(is.is_noisy != 0).key("quality").begin_object();
  for (const auto &entry : result.quality) json.key(entry.name).string(entry.value);
  json.end_object().key("results_us").begin_array();
  for (const double one : result.bench.seconds()) json.number(one * 1e6);
  return json.end_array().end_object().take() + "\n";
}

std::string bench_csv(const Result &result) {
  std::string head = "function,number,repeat",
              row = cat(result.function, ",", result.bench.number(), ",", result.bench.seconds().size());
  for (const Statistic &statistic : statistics(result.all)) {
    head += cat(",", statistic.name, "_us");
    row += cat(",", statistic.seconds * 1e6);
  }
  return cat(head, "\n", row, "\n");
}

std::string bench_text(const Result &result) {
  std::string text = cat(result.function, ": ", result.bench.seconds().size(), " repeats of ", result.bench.number(),
                         result.bench.number() == 1 ? " call\n" : " calls\n");
  for (const Statistic &statistic : statistics(result.all))
    text += cat("  ", pad_right(statistic.name, 8), pad_left(time_text(statistic.seconds), 12), "\n");
  const opd_benchmark_stats &is = result.reliability;
  if (std::isfinite(is.median_high))
    text += cat("  95 % interval of the median: ", time_text(is.median_low), " to ", time_text(is.median_high), "\n");
  text += cat("  outliers: ", is.outlier_count, ", autocorrelation: ", fixed(is.autocorrelation, 2), "\n  machine:");
  std::string_view between = " ";
  for (const auto &entry : result.quality) {
    text += cat(between, entry.name, " ", entry.value, entry.is_doubtful ? " (!)" : "");
    between = ", ";
  }
  if (result.bench.seconds().size() < 6)
    text += "\n  Too few repeats to say how far this can be relied on: 6 are the least.";
  else if (!std::isfinite(is.median_high)) text += "\n  Too noisy to say: the repeats drift; more of them would help.";
  else if (is.is_noisy) text += "\n  Too noisy to say: the interval is wider than 5 % of the median.";
  return text + "\n";
}

// The samples of an earlier --json.
Benchmark read_benchmark(const std::string &path) {
  const std::string text = read_file(path);
  const Json json(cJSON_ParseWithLength(text.data(), text.size()));
  const cJSON *results = json ? json_member(json.get(), "results_us") : nullptr, *one = nullptr;
  std::vector<double> seconds;
  cJSON_ArrayForEach(one, results) {
    if (!cJSON_IsNumber(one)) throw Failure(Exit::failed, cat(path, ": results_us holds something else than numbers"));
    seconds.push_back(one->valuedouble * 1e-6);
  }
  if (!cJSON_IsArray(results) || seconds.empty())
    throw Failure(Exit::failed, cat(path, " is not what bench --json prints: it lacks results_us"));
  return benchmark_of(seconds);
}

Exit compare(const Result &result, const std::string &path, const Args &args) {
  const opd_diff_options options = diff_options(args);
  const Benchmark before = read_benchmark(path);
  Diff diff;
  check(opd_benchmark_diff(before.get(), result.all.get(), &options, diff.out()), Exit::failed);
  if (!args.has("json") && !args.has("csv"))
    print(cat("\n", diff_table(diff, TableStyle::text),
              open_text(diff, share_of(args, "fail-above", options.min_effect))));
  return judge(diff, args, "bench");
}

}  // namespace

Exit run_bench(const Args &args) {
  if (args.has("json") && args.has("csv")) fail_usage("--json and --csv exclude each other");
  if (args.has("fail-above") && !args.has("compare")) fail_usage("--fail-above needs --compare");
  share_of(args, "fail-above", 0);  // what is wrong is told before anything is measured
  diff_options(args);
  Runner runner(args);
  Bench bench(runner, args);
  const MachineQuality quality;
  bench.measure();
  runner.progress().clear();
  Result result{runner.target().name(), bench, benchmark_of(bench.seconds()), {}, quality.entries()};
  result.reliability = reliability(result.all);
  print(args.has("json") ? bench_json(result) : args.has("csv") ? bench_csv(result) : bench_text(result));
  const std::optional<std::string> base = args.value("compare");
  return base ? compare(result, *base, args) : Exit::ok;
}

}  // namespace opd::cli
