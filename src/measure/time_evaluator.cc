#include "measure/time_evaluator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "device/device.h"
#include "stats/steady_rule.h"

namespace opd {
namespace {

constexpr int64_t kMostCalls = int64_t{1} << 50;

void check(const char *name, int64_t value, int64_t least, int64_t most) {
  require(value >= least && value <= most, name, " must be ", least, " to ", most, ", but is ", value);
}

double elapsed(const std::vector<LoadThreads::Span> &spans) {  // seconds from the first begin to the last end
  uint64_t begin = UINT64_MAX, end = 0;
  for (const LoadThreads::Span &span : spans) begin = std::min(begin, span.begin), end = std::max(end, span.end);
  return static_cast<double>(end - begin) / 1e9;
}

void cool_down(const LoadThreads &callers, int64_t left_ms) {
  constexpr int64_t kStep = 50;  // ms between checks of the cancel token
  for (; left_ms > 0; left_ms -= kStep) {
    callers.require_not_cancelled();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(left_ms, kStep)));
  }
}

}  // namespace

int32_t TimeEvaluator::type() {
  static const int32_t index = register_type("opdyno.Evaluator");
  return index;
}

TimeEvaluator::TimeEvaluator(Ref<Function> function, EvaluatorOptions plan)
    : function_(std::move(function)), plan_(std::move(plan)) {
  constexpr int64_t kDay = 24 * 3600 * 1000;
  check("number", plan_.number, 1, INT32_MAX);
  check("repeat", plan_.repeat, 1, 1 << 30);
  check("min_repeat_ms", plan_.min_repeat_ms, 0, kDay);
  check("limit_zero_time_iterations", plan_.limit_zero_time_iterations, 0, INT32_MAX);
  check("cooldown_interval_ms", plan_.cooldown_interval_ms, 0, kDay);
  check("repeats_to_cooldown", plan_.repeats_to_cooldown, 1, INT32_MAX);
  check("cache_flush_bytes", plan_.cache_flush_bytes, 0, int64_t{1} << 40);
  check("warmup", plan_.warmup, 0, INT32_MAX);
  check("steady_ms", plan_.steady_ms, 0, kDay);
  check("concurrency", plan_.concurrency, 1, 1024);
  require(plan_.cache_flush_bytes == 0 || plan_.concurrency == 1,
          "cache_flush_bytes and concurrency exclude each other: the caches of other processors are not flushed");
  device_backend(plan_.device);  // throws if the device is absent
}

Ref<Benchmark> TimeEvaluator::call(Args args) {
  if (plan_.there) return plan_.there(args);
  LoadThreads callers(*function_, args, plan_.device, plan_.concurrency);
  Benchmark::Course course;
  warm_up(callers, course);
  flush_from_.resize(static_cast<size_t>(plan_.cache_flush_bytes));
  flush_to_.resize(flush_from_.size());
  std::vector<double> seconds;
  double calls = 0, passed = 0;
  for (int64_t i = 0; i < plan_.repeat; ++i) {
    if (plan_.preprocess) opd::call(*plan_.preprocess, args);
    passed += measure(callers, seconds);
    calls += static_cast<double>(plan_.number * plan_.concurrency);
    if (i % plan_.repeats_to_cooldown == 0) cool_down(callers, plan_.cooldown_interval_ms);
  }
  course.number = plan_.number;
  course.concurrency = static_cast<size_t>(plan_.concurrency);
  course.is_device_time = callers.is_device_time();
  course.calls_per_second = passed > 0 ? calls / passed : 0;
  return make_object<Benchmark>(std::move(seconds), course);
}

// Measures batches that are long enough for the clock. If a batch is too short, the number of its calls is doubled.
void TimeEvaluator::warm_up(LoadThreads &callers, Benchmark::Course &course) const {
  constexpr double kBatch = 1e-3;
  if (plan_.warmup > 0) callers.round(plan_.warmup);
  course.warmup_count = plan_.warmup * plan_.concurrency;
  if (plan_.steady_ms == 0) return;
  const uint64_t end = monotonic_ns() + static_cast<uint64_t>(plan_.steady_ms) * 1'000'000;
  SteadyRule rule;
  int64_t number = 1;
  do {
    const double seconds = elapsed(callers.round(number));
    course.warmup_count += number * plan_.concurrency;
    if (seconds >= kBatch) {
      course.is_steady = rule.add(seconds / static_cast<double>(number));
    } else {
      number = std::min(number * 2, kMostCalls);
      rule.restart();
    }
  } while (!course.is_steady && monotonic_ns() < end);
}

// Appends each thread's seconds per call; returns the total time. Increases the number of calls until it is long
// enough.
double TimeEvaluator::measure(LoadThreads &callers, std::vector<double> &seconds) {
  double duration_ms = 0;
  int64_t zeros = 0;
  const std::vector<LoadThreads::Span> *spans;
  do {
    if (duration_ms > 0) {
      const auto number = static_cast<double>(plan_.number);
      const double wanted = static_cast<double>(plan_.min_repeat_ms) / (duration_ms / number) + 1;
      plan_.number = static_cast<int64_t>(std::min(std::max(wanted, number * 1.618), static_cast<double>(kMostCalls)));
    }
    flush_caches();
    spans = &callers.round(plan_.number);
    duration_ms = elapsed(*spans) * 1e3;
    zeros += duration_ms == 0;
  } while (duration_ms < static_cast<double>(plan_.min_repeat_ms) && zeros < plan_.limit_zero_time_iterations);
  for (const LoadThreads::Span &span : *spans)
    seconds.push_back(static_cast<double>(span.duration_ns) / 1e9 / static_cast<double>(plan_.number));
  return duration_ms / 1e3;
}

void TimeEvaluator::flush_caches() {
  if (!flush_from_.empty()) std::memcpy(flush_to_.data(), flush_from_.data(), flush_from_.size());
}

}  // namespace opd
