// `opdyno bench`: how long a call takes, with nothing between the clock and the calls.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "command.h"
#include "file.h"
#include "json.h"
#include "runner.h"

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

struct Statistic {
  std::string_view name;
  double seconds;
};

std::vector<Statistic> statistics(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const size_t count = seconds.size();
  const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(count);
  double squares = 0;
  for (const double one : seconds) squares += (one - mean) * (one - mean);
  return {{"min", seconds.front()},
          {"median", (seconds[(count - 1) / 2] + seconds[count / 2]) / 2},
          {"mean", mean},
          {"max", seconds.back()},
          {"std", std::sqrt(squares / static_cast<double>(count))}};
}

// A time in the unit that suits it.
std::string time_text(double seconds) {
  if (seconds < 1e-6) return cat(fixed(seconds * 1e9, 1), " ns");
  if (seconds < 1e-3) return cat(fixed(seconds * 1e6, 3), " us");
  if (seconds < 1) return cat(fixed(seconds * 1e3, 3), " ms");
  return cat(fixed(seconds, 3), " s");
}

std::string bench_json(const std::string &function, const Bench &bench) {
  JsonWriter json;
  json.begin_object()
      .key("function")
      .string(function)
      .key("number")
      .number(bench.number())
      .key("repeat")
      .number(bench.seconds().size());
  for (const Statistic &statistic : statistics(bench.seconds()))
    json.key(cat(statistic.name, "_us")).number(statistic.seconds * 1e6);
  json.key("results_us").begin_array();
  for (const double one : bench.seconds()) json.number(one * 1e6);
  return json.end_array().end_object().take() + "\n";
}

std::string bench_csv(const std::string &function, const Bench &bench) {
  std::string head = "function,number,repeat", row = cat(function, ",", bench.number(), ",", bench.seconds().size());
  for (const Statistic &statistic : statistics(bench.seconds())) {
    head += cat(",", statistic.name, "_us");
    row += cat(",", statistic.seconds * 1e6);
  }
  return cat(head, "\n", row, "\n");
}

std::string bench_text(const std::string &function, const Bench &bench) {
  std::string text = cat(function, ": ", bench.seconds().size(), " repeats of ", bench.number(),
                         bench.number() == 1 ? " call\n" : " calls\n");
  for (const Statistic &statistic : statistics(bench.seconds()))
    text += cat("  ", pad_right(statistic.name, 8), pad_left(time_text(statistic.seconds), 12), "\n");
  return text;
}

}  // namespace

Exit run_bench(const Args &args) {
  if (args.has("json") && args.has("csv")) fail_usage("--json and --csv exclude each other");
  Runner runner(args);
  Bench bench(runner, args);
  bench.measure();
  runner.progress().clear();
  const std::string &function = runner.target().name();
  print(args.has("json")  ? bench_json(function, bench)
        : args.has("csv") ? bench_csv(function, bench)
                          : bench_text(function, bench));
  return Exit::ok;
}

}  // namespace opd::cli
