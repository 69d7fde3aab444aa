// include/opdyno/benchmark.h: how often an evaluator calls, and what it says of the times.
#include <atomic>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <set>
#include <thread>

#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

using Options = std::function<void(opd_evaluator_options &)>;

Handle<opd_evaluator> evaluator_of(const Function &function, const Options &change) {
  opd_evaluator_options options;
  opd_evaluator_options_init(&options);
  change(options);
  Handle<opd_evaluator> evaluator;
  check(opd_evaluator_create(function.get(), &options, evaluator.out()));
  return evaluator;
}

Handle<opd_benchmark> run(const Handle<opd_evaluator> &evaluator, const opd_value &arg = opd_int(5)) {
  Handle<opd_benchmark> benchmark;
  check(opd_evaluator_call(evaluator.get(), &arg, 1, benchmark.out()));
  return benchmark;
}

opd_benchmark_stats stats_of(const Handle<opd_benchmark> &benchmark) {
  opd_benchmark_stats stats{};
  stats.struct_size = sizeof stats;
  check(opd_benchmark_get_stats(benchmark.get(), &stats));
  return stats;
}

std::vector<double> seconds_of(const Handle<opd_benchmark> &benchmark) {
  int32_t count = 0;
  const double *seconds = opd_benchmark_seconds(benchmark.get(), &count);
  return {seconds, seconds + count};
}

}  // namespace

TEST(TimeEvaluator, CallsOncePlusNumberTimesRepeat) {
  int calls = 0, prepared = 0;
  const Function function = make_function([&](const opd_value *args, int32_t num_args, opd_value *) {
    EXPECT_EQ(num_args, 1);
    EXPECT_EQ(args[0].u.int64, 5);
    ++calls;
  });
  const Function prepare = make_function([&](const opd_value *args, int32_t, opd_value *) {
    EXPECT_EQ(args[0].u.int64, 5);
    EXPECT_EQ(calls, 1 + prepared++ * 7) << "before each repeat, after the call that does not count";
  });
  const auto evaluator =
      evaluator_of(function, [&](auto &o) { o.number = 7, o.repeat = 3, o.preprocess = prepare.get(); });
  const auto benchmark = run(evaluator);
  EXPECT_EQ(calls, 1 + 7 * 3);
  EXPECT_EQ(prepared, 3);
  EXPECT_EQ(seconds_of(benchmark).size(), 3u);
}

TEST(TimeEvaluator, CallsMoreOftenUntilARepeatIsLongEnoughAndRemembers) {
  int calls = 0;
  const Function function = make_function([&](const opd_value *, int32_t, opd_value *) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  });
  const auto evaluator = evaluator_of(function, [](auto &o) { o.number = 1, o.min_repeat_ms = 100; });
  const auto first = run(evaluator);
  EXPECT_GT(calls, 1 + 1);
  EXPECT_GE(stats_of(first).mean, 100e-6) << "seconds per call";
  calls = 0;
  run(evaluator);
  EXPECT_GT(calls, 2) << "later measurements begin with the number found";
}

TEST(TimeEvaluator, GivesTheStatisticsOfItsRepeats) {
  const Function function = make_function([](const opd_value *, int32_t, opd_value *) {});
  const auto benchmark = run(evaluator_of(function, [](auto &o) { o.repeat = 6, o.cache_flush_bytes = 1000; }));
  std::vector<double> all = seconds_of(benchmark);
  const opd_benchmark_stats stats = stats_of(benchmark);
  double sum = 0, squares = 0;
  for (const double x : all) sum += x;
  const double mean = sum / 6;
  for (const double x : all) squares += (x - mean) * (x - mean);
  std::sort(all.begin(), all.end());
  EXPECT_DOUBLE_EQ(stats.mean, mean);
  EXPECT_DOUBLE_EQ(stats.std, std::sqrt(squares / 6));
  EXPECT_DOUBLE_EQ(stats.median, (all[2] + all[3]) / 2);
  EXPECT_EQ(stats.min, all[0]);
  EXPECT_EQ(stats.max, all[5]);
  // numpy.percentile(x, 30) of six values: place 1.5
  EXPECT_DOUBLE_EQ(opd_benchmark_percentile(benchmark.get(), 30), (all[1] + all[2]) / 2);
  EXPECT_EQ(opd_benchmark_percentile(benchmark.get(), -5), all[0]);
  EXPECT_EQ(opd_benchmark_percentile(benchmark.get(), 500), all[5]);
  const std::string text = text_of(opd_benchmark_to_text, benchmark.get());
  const std::string head =
      "Execution time summary:\n mean (ms)   median (ms)    max (ms)     min (ms)     std (ms)  \n";
  EXPECT_EQ(text.substr(0, head.size()), head) << text;
  EXPECT_EQ(text.size(), head.size() + 5 * 12 + 4) << text;
}

TEST(TimeEvaluator, MeasuresSavedAndStatefulFunctions) {
  define("test.touch", [](const opd_value *args, int32_t, opd_value *) { elements(args[0])[0] += 1; });
  const Vm vm(Executable::assemble(".func f(x) {\n  call test.touch(%x)\n  ret %x\n}").to_module());
  const Tensor x = floats({0});
  const opd_value argument = arg(x);
  check(opd_vm_save_function(vm.get(), "f", "saved", &argument, 1, nullptr, 1));
  const Function saved = vm.function("saved");
  const auto evaluator = evaluator_of(saved, [](auto &o) { o.number = 4; });
  Handle<opd_benchmark> benchmark;
  check(opd_evaluator_call(evaluator.get(), nullptr, 0, benchmark.out()));
  EXPECT_EQ(x.data<float>()[0], 5);
}

TEST(TimeEvaluator, AnErrorOfTheFunctionIsItsError) {
  const Function function =
      make_function([](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("no such day"); });
  const auto evaluator = evaluator_of(function, [](auto &) {});
  Handle<opd_benchmark> benchmark;
  expect_error(opd_evaluator_call(evaluator.get(), nullptr, 0, benchmark.out()), OPD_CALL_FAILED, "no such day");
}

TEST(TimeEvaluator, TheWarmUpMayBeOfAnyNumberOfCalls) {
  int calls = 0;
  const Function function = make_function([&](const opd_value *, int32_t, opd_value *) { ++calls; });
  for (const int warmup : {0, 1, 25}) {
    calls = 0;
    const auto benchmark = run(evaluator_of(function, [&](auto &o) { o.number = 7, o.repeat = 3, o.warmup = warmup; }));
    EXPECT_EQ(calls, warmup + 7 * 3);
    const opd_benchmark_stats stats = stats_of(benchmark);
    EXPECT_EQ(stats.warmup_count, warmup);
    EXPECT_EQ(stats.number, 7);
    EXPECT_EQ(stats.is_steady, 0u) << "nobody asked";
    EXPECT_EQ(stats.is_device_time, 0u) << "it is the CPU";
    EXPECT_GT(stats.calls_per_second, 0);
  }
}

TEST(TimeEvaluator, TheWarmUpUntilSteadyIsCountedAndBounded) {
  int calls = 0;
  const Function function = make_function([&](const opd_value *, int32_t, opd_value *) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  });
  const auto bounded = run(evaluator_of(function, [](auto &o) { o.number = 1, o.steady_ms = 1; }));
  EXPECT_EQ(calls, 1 + 1 + 1) << "the first call of the search outlasts its millisecond";
  EXPECT_EQ(stats_of(bounded).warmup_count, 2);
  EXPECT_EQ(stats_of(bounded).is_steady, 0u);
  calls = 0;
  const auto searched = run(evaluator_of(function, [](auto &o) { o.number = 1, o.steady_ms = 60'000; }));
  EXPECT_EQ(stats_of(searched).warmup_count, calls - 1) << "as many as were made, whatever the times were";
  EXPECT_GE(calls, 1 + 20 + 1) << "two windows of ten";
}

TEST(TimeEvaluator, ThreadsCallAtOnce) {
  std::atomic<int> inside{0}, calls{0};
  std::mutex guard;
  std::set<std::thread::id> threads;
  const Function function = make_function([&](const opd_value *args, int32_t, opd_value *) {
    EXPECT_EQ(args[0].u.int64, 5);
    ++calls;
    {
      const std::lock_guard lock(guard);
      threads.insert(std::this_thread::get_id());
    }
    for (++inside; inside % 3 != 0;) std::this_thread::yield();  // ends only once all three are here
  });
  const auto evaluator =
      evaluator_of(function, [](auto &o) { o.number = 1, o.repeat = 4, o.concurrency = 3, o.warmup = 1; });
  const auto benchmark = run(evaluator);
  EXPECT_EQ(calls, 3 * (1 + 4));
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_EQ(seconds_of(benchmark).size(), 3u * 4) << "one time for each thread and repeat";
  const opd_benchmark_stats stats = stats_of(benchmark);
  EXPECT_EQ(stats.warmup_count, 3);
  EXPECT_EQ(stats.number, 1);
  Report diff;
  check(opd_benchmark_diff(benchmark.get(), benchmark.get(), nullptr, diff.out()));
  EXPECT_EQ(diff.value(OPD_REPORT_CALLS, 0, "Runs Before").view().u.int64, 4) << "the unit is the repeat";
  // In a repeat that takes as long as its slowest call, three calls are made.
  double slowest = 0;
  const std::vector<double> seconds = seconds_of(benchmark);
  for (size_t i = 0; i < 4; ++i) slowest += *std::max_element(&seconds[3 * i], &seconds[3 * i] + 3);
  EXPECT_GT(stats.calls_per_second, 0);
  EXPECT_LE(stats.calls_per_second, 3 * 4 / slowest * (1 + 1e-9));
}

TEST(TimeEvaluator, AnErrorOfOneThreadEndsAll) {
  std::atomic<int> calls{0};
  std::atomic<bool> has_failed{false};
  const Function function = make_function([&](const opd_value *, int32_t, opd_value *) {
    if (++calls == 10) {
      has_failed = true;
      throw std::runtime_error("the tenth call fails");
    }
    while (calls > 10 && !has_failed) std::this_thread::yield();
  });
  const auto evaluator = evaluator_of(function, [](auto &o) { o.number = 1'000'000'000, o.concurrency = 4; });
  const opd_value argument = opd_int(5);
  Handle<opd_benchmark> benchmark;
  expect_error(opd_evaluator_call(evaluator.get(), &argument, 1, benchmark.out()), OPD_CALL_FAILED,
               "the tenth call fails");
  EXPECT_FALSE(benchmark);
}

TEST(TimeEvaluator, ThreadsCallAProgramAndEndByTheCallersCancelToken) {
  std::atomic<int> calls{0};
  Handle<opd_cancel_token> token;
  check(opd_cancel_token_create(token.out()));
  define("test.count", [&](const opd_value *, int32_t, opd_value *) {
    if (++calls == 100) opd_cancel_token_cancel(token.get());
  });
  const Vm vm(Executable::assemble(".func f(x) {\n  call test.count(%x)\n  ret %x\n}").to_module());
  const auto few = run(evaluator_of(vm.function("f"), [](auto &o) { o.concurrency = 2; }));
  EXPECT_EQ(calls, 2 * (1 + 10));
  check(opd_cancel_token_set_default(token.get()));
  const auto many = evaluator_of(vm.function("f"), [](auto &o) { o.number = 1'000'000'000, o.concurrency = 2; });
  const opd_value argument = opd_int(5);
  Handle<opd_benchmark> benchmark;
  expect_error(opd_evaluator_call(many.get(), &argument, 1, benchmark.out()), OPD_CANCELLED, "");
  check(opd_cancel_token_set_default(nullptr));
}

// Both threads are in a loop without end once the token is cancelled; so each has to look at it.
TEST(TimeEvaluator, EachThreadLooksAtTheCallersCancelToken) {
  std::mutex guard;
  std::set<std::thread::id> threads;
  Handle<opd_cancel_token> token;
  check(opd_cancel_token_create(token.out()));
  define("test.note_thread", [&](const opd_value *, int32_t, opd_value *) {
    const std::scoped_lock lock(guard);
    if (threads.insert(std::this_thread::get_id()).second && threads.size() == 2) opd_cancel_token_cancel(token.get());
  });
  const Vm vm(Executable::assemble(".func f(x) {\nagain:\n  call test.note_thread(%x)\n  goto again\n}").to_module());
  check(opd_cancel_token_set_default(token.get()));
  const auto endless = evaluator_of(vm.function("f"), [](auto &o) { o.warmup = 0, o.concurrency = 2; });
  const opd_value argument = opd_int(5);
  Handle<opd_benchmark> benchmark;
  expect_error(opd_evaluator_call(endless.get(), &argument, 1, benchmark.out()), OPD_CANCELLED, "");
  check(opd_cancel_token_set_default(nullptr));
  EXPECT_EQ(threads.size(), 2u);
}

// A program built with headers that end before the warm-up's fields.
TEST(TimeEvaluator, CallersWithOlderHeadersHaveOneWarmUpCall) {
  int calls = 0;
  const Function function = make_function([&](const opd_value *, int32_t, opd_value *) { ++calls; });
  const auto evaluator = evaluator_of(function, [](auto &o) {
    o.warmup = 100, o.concurrency = 100;
    o.struct_size = offsetof(opd_evaluator_options, warmup);
  });
  const auto benchmark = run(evaluator);
  EXPECT_EQ(calls, 1 + 10);
  opd_benchmark_stats stats{};
  stats.struct_size = offsetof(opd_benchmark_stats, number);
  stats.number = -1;
  check(opd_benchmark_get_stats(benchmark.get(), &stats));
  EXPECT_EQ(stats.number, -1) << "left alone";
}

// The limits themselves are allowed.
TEST(TimeEvaluator, AcceptsTheLargestNumbers) {
  const Function function = make_function([](const opd_value *, int32_t, opd_value *) {});
  evaluator_of(function, [](auto &o) {
    o.number = o.warmup = INT32_MAX, o.repeat = 1 << 30, o.concurrency = 1024;
    o.min_repeat_ms = o.cooldown_interval_ms = o.steady_ms = 86'400'000;
    o.limit_zero_time_iterations = o.repeats_to_cooldown = INT32_MAX;
  });
  evaluator_of(function, [](auto &o) { o.cache_flush_bytes = int64_t{1} << 40; });
}

// Of a function that does not look at the token itself.
TEST(TimeEvaluator, MakesNoFurtherCallOnceTheTokenIsCancelled) {
  Handle<opd_cancel_token> token;
  check(opd_cancel_token_create(token.out()));
  int calls = 0;
  const Function function = make_function([&](const opd_value *, int32_t, opd_value *) {
    if (++calls == 5) opd_cancel_token_cancel(token.get());
  });
  const auto evaluator = evaluator_of(function, [](auto &o) { o.warmup = 0, o.number = 3, o.repeat = 100; });
  check(opd_cancel_token_set_default(token.get()));
  const opd_value argument = opd_int(5);
  Handle<opd_benchmark> benchmark;
  expect_error(opd_evaluator_call(evaluator.get(), &argument, 1, benchmark.out()), OPD_CANCELLED,
               "before the next measured call");
  check(opd_cancel_token_set_default(nullptr));
  EXPECT_EQ(calls, 5);
  run(evaluator);
  EXPECT_EQ(calls, 5 + 3 * 100) << "without a token";
}

TEST(TimeEvaluator, RefusesNumbersThatMakeNoSense) {
  const Function function = make_function([](const opd_value *, int32_t, opd_value *) {});
  const auto refused = [&](const Options &change, const std::string &part) {
    opd_evaluator_options options;
    opd_evaluator_options_init(&options);
    change(options);
    Handle<opd_evaluator> evaluator;
    expect_error(opd_evaluator_create(function.get(), &options, evaluator.out()), OPD_INVALID_ARGUMENT, part);
  };
  const std::string day = " to 86400000, but is ", calls = " to 2147483647, but is ";
  refused([](auto &o) { o.number = 0; }, "number must be 1" + calls + "0");
  refused([](auto &o) { o.repeat = 0; }, "repeat must be 1 to 1073741824, but is 0");
  refused([](auto &o) { o.repeat = (1 << 30) + 1; }, "repeat must be 1 to 1073741824, but is 1073741825");
  refused([](auto &o) { o.min_repeat_ms = -1; }, "min_repeat_ms must be 0" + day + "-1");
  refused([](auto &o) { o.min_repeat_ms = 86'400'001; }, "min_repeat_ms must be 0" + day + "86400001");
  refused([](auto &o) { o.limit_zero_time_iterations = -1; }, "limit_zero_time_iterations must be 0 to");
  refused([](auto &o) { o.cooldown_interval_ms = -1; }, "cooldown_interval_ms must be 0" + day + "-1");
  refused([](auto &o) { o.cooldown_interval_ms = 86'400'001; }, "cooldown_interval_ms must be 0" + day + "86400001");
  refused([](auto &o) { o.repeats_to_cooldown = 0; }, "repeats_to_cooldown must be 1 to");
  refused([](auto &o) { o.cache_flush_bytes = -4; }, "cache_flush_bytes must be 0 to 1099511627776, but is -4");
  refused([](auto &o) { o.cache_flush_bytes = (int64_t{1} << 40) + 1; },
          "cache_flush_bytes must be 0 to 1099511627776, but is 1099511627777");
  refused([](auto &o) { o.warmup = -1; }, "warmup must be 0" + calls + "-1");
  refused([](auto &o) { o.steady_ms = -1; }, "steady_ms must be 0" + day + "-1");
  refused([](auto &o) { o.steady_ms = 86'400'001; }, "steady_ms must be 0" + day + "86400001");
  refused([](auto &o) { o.concurrency = 0; }, "concurrency must be 1 to 1024, but is 0");
  refused([](auto &o) { o.concurrency = 1025; }, "concurrency must be 1 to 1024, but is 1025");
  refused([](auto &o) { o.concurrency = 2, o.cache_flush_bytes = 4096; }, "exclude each other");
}

namespace {

opd_benchmark_stats stats_of(const std::vector<double> &seconds) {
  Handle<opd_benchmark> benchmark;
  check(opd_benchmark_create(seconds.data(), seconds.size(), benchmark.out()));
  return stats_of(benchmark);
}

// 100, 101 … from both ends in turn, so that neighbours do not resemble each other.
std::vector<double> shuffled(size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(100 + static_cast<double>(i % 2 ? count - 1 - i / 2 : i / 2));
  return values;
}

}  // namespace

// scipy.stats.binom.cdf(k - 1, n, 0.5) * 2 is at most 0.05 up to k = 1 for 6 values, 2 for 10, 10 for 30 and 956 for
// 2000.
TEST(Benchmark, TheIntervalOfTheMedianHasTheBinomialsRanks) {
  for (const auto &[count, k] : {std::pair<size_t, size_t>{6, 1}, {10, 2}, {30, 10}, {2000, 956}}) {
    const opd_benchmark_stats stats = stats_of(shuffled(count));
    EXPECT_LT(stats.autocorrelation, 0.06) << count;
    EXPECT_EQ(stats.median_low, 100 + static_cast<double>(k - 1)) << count;
    EXPECT_EQ(stats.median_high, 100 + static_cast<double>(count - k)) << count;
  }
  const opd_benchmark_stats few = stats_of(shuffled(5));
  EXPECT_EQ(few.median_low, 0);
  EXPECT_TRUE(std::isinf(few.median_high));
  EXPECT_EQ(few.is_noisy, 1u);
}

// Quartiles 2.25 and 6.75 of 0 … 9 with 9 replaced: fences at -4.5 and 13.5.
TEST(Benchmark, OutliersLieBeyondTheFences) {
  EXPECT_EQ(stats_of({3, 0, 7, 4, 1, 8, 5, 2, 13.4, 6}).outlier_count, 0);
  EXPECT_EQ(stats_of({3, 0, 7, 4, 1, 8, 5, 2, 13.6, 6}).outlier_count, 1);
  EXPECT_EQ(stats_of({3, 0, 7, 4, 1, 8, 5, 2, 13.5, 6}).outlier_count, 0);
  // Quartiles 12.25 and 16.75: the lower fence is at 5.5.
  EXPECT_EQ(stats_of({13, 5.5, 17, 14, 11, 18, 15, 12, 19, 16}).outlier_count, 0);
  EXPECT_EQ(stats_of({13, 5.4, 17, 14, 11, 18, 15, 12, 19, 16}).outlier_count, 1);
}

TEST(Benchmark, DriftWidensTheInterval) {
  std::vector<double> rising;
  for (int i = 0; i < 30; ++i) rising.push_back(100 + i);
  const opd_benchmark_stats drifting = stats_of(rising), steady = stats_of(shuffled(30));
  EXPECT_GT(drifting.autocorrelation, 0.8);
  EXPECT_GT(drifting.median_high - drifting.median_low, steady.median_high - steady.median_low);
}

TEST(Benchmark, AWideIntervalIsTooNoisyToSay) {
  EXPECT_EQ(stats_of(shuffled(30)).is_noisy, 1u) << "119 - 109 is more than 5 % of 114.5";
  std::vector<double> quiet = shuffled(30);
  for (double &value : quiet) value += 900;
  EXPECT_EQ(stats_of(quiet).is_noisy, 0u);
  // Of six values the interval is from the smallest to the largest one: 5 of a median of 100 are 5 %.
  EXPECT_EQ(stats_of({100, 97.5, 102.5, 100, 98, 101}).is_noisy, 0u);
  EXPECT_EQ(stats_of({100, 97.5, 102.75, 100, 98, 101}).is_noisy, 1u);
}
