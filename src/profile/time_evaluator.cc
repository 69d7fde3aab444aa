#include "profile/time_evaluator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "device/device.h"

namespace opd {
namespace {

constexpr int64_t kMostCalls = int64_t{1} << 50;

void check(const char *name, int64_t value, int64_t least, int64_t most) {
  require(value >= least && value <= most, name, " must be ", least, " to ", most, ", but is ", value);
}

}  // namespace

int32_t TimeEvaluator::type() {
  static const int32_t index = register_type("opdyno.Evaluator");
  return index;
}

TimeEvaluator::TimeEvaluator(Ref<Function> function, EvaluatorPlan plan)
    : function_(std::move(function)), plan_(std::move(plan)) {
  constexpr int64_t kDay = 24 * 3600 * 1000;
  check("number", plan_.number, 1, kMostCalls);
  check("repeat", plan_.repeat, 1, 1 << 30);
  check("min_repeat_ms", plan_.min_repeat_ms, 0, kDay);
  check("limit_zero_time_iterations", plan_.limit_zero_time_iterations, 0, INT64_MAX);
  check("cooldown_interval_ms", plan_.cooldown_interval_ms, 0, kDay);
  check("repeats_to_cooldown", plan_.repeats_to_cooldown, 1, INT64_MAX);
  check("cache_flush_bytes", plan_.cache_flush_bytes, 0, int64_t{1} << 40);
  device_backend(plan_.device);  // throws for one that is absent
}

Ref<Benchmark> TimeEvaluator::call(Args args) {
  opd::call(*function_, args);  // not measured
  flush_from_.resize(static_cast<size_t>(plan_.cache_flush_bytes));
  flush_to_.resize(flush_from_.size());
  std::vector<double> seconds;
  for (int64_t i = 0; i < plan_.repeat; ++i) {
    if (plan_.preprocess) opd::call(*plan_.preprocess, args);
    seconds.push_back(measure(args));
    if (plan_.cooldown_interval_ms > 0 && i % plan_.repeats_to_cooldown == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(plan_.cooldown_interval_ms));
  }
  return make_object<Benchmark>(std::move(seconds));
}

// Seconds per call. Calls more often until the repeat lasts long enough.
double TimeEvaluator::measure(Args args) {
  double duration_ms = 0;
  int64_t zeros = 0;
  do {
    if (duration_ms > 0) {
      const auto number = static_cast<double>(plan_.number);
      const double wanted = static_cast<double>(plan_.min_repeat_ms) / (duration_ms / number) + 1;
      plan_.number = static_cast<int64_t>(std::min(std::max(wanted, number * 1.618), static_cast<double>(kMostCalls)));
    }
    flush_caches();
    device_backend(plan_.device).sync(plan_.device.device_id);
    const uint64_t begin = monotonic_ns();
    for (int64_t i = 0; i < plan_.number; ++i) opd::call(*function_, args);
    device_backend(plan_.device).sync(plan_.device.device_id);
    const uint64_t elapsed = monotonic_ns() - begin;
    zeros += elapsed == 0;
    duration_ms = static_cast<double>(elapsed) / 1e6;
  } while (duration_ms < static_cast<double>(plan_.min_repeat_ms) && zeros < plan_.limit_zero_time_iterations);
  return duration_ms / 1e3 / static_cast<double>(plan_.number);
}

void TimeEvaluator::flush_caches() {
  if (!flush_from_.empty()) std::memcpy(flush_to_.data(), flush_from_.data(), flush_from_.size());
}

}  // namespace opd
