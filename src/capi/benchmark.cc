// Implements include/opdyno/benchmark.h.
#include <cfloat>

#include "capi/handles.h"
#include "measure/time_evaluator.h"
#include "rpc/client/remote_evaluator.h"

using namespace opd;

opd_error *opd_evaluator_create(opd_function *function, const opd_evaluator_options *options,
                                opd_evaluator **out_evaluator) {
  return guard([&] {
    OPD_REQUIRE(function, out_evaluator);
    const opd_evaluator_options how = read_options(options, opd_evaluator_options_init);
    EvaluatorOptions plan{how.device,
                          how.number,
                          how.repeat,
                          how.min_repeat_ms,
                          how.limit_zero_time_iterations,
                          how.cooldown_interval_ms,
                          how.repeats_to_cooldown,
                          how.cache_flush_bytes,
                          Ref<Function>::share(unwrap<Function>(how.preprocess)),
                          how.warmup,
                          how.steady_ms,
                          how.concurrency,
                          {}};
    auto shared = Ref<Function>::share(unwrap<Function>(function));
    plan.there = rpc::measured_there(*shared, plan);
    *out_evaluator = wrap<opd_evaluator>(make_object<TimeEvaluator>(std::move(shared), std::move(plan)));
  });
}

opd_error *opd_evaluator_call(opd_evaluator *evaluator, const opd_value *args, int32_t num_args,
                              opd_benchmark **out_benchmark) {
  return guard([&] {
    OPD_REQUIRE(evaluator, out_benchmark);
    *out_benchmark = wrap<opd_benchmark>(unwrap<TimeEvaluator>(evaluator)->call(args_of(args, num_args)));
  });
}

opd_error *opd_benchmark_create(const double *seconds, int32_t num, opd_benchmark **out_benchmark) {
  return guard([&] {
    OPD_REQUIRE(seconds, out_benchmark);
    require(num > 0, "num must be > 0, but is ", num);
    std::vector<double> all(seconds, seconds + num);
    for (size_t i = 0; i < all.size(); ++i)
      require(all[i] >= 0 && all[i] <= DBL_MAX, "seconds[", i, "] must be at least 0, but is ", all[i]);
    *out_benchmark = wrap<opd_benchmark>(make_object<Benchmark>(std::move(all), Benchmark::Course()));
  });
}

const double *opd_benchmark_seconds(const opd_benchmark *benchmark, int32_t *out_count) {
  if (out_count) *out_count = benchmark ? count_of_items(unwrap<Benchmark>(benchmark)->seconds.size()) : 0;
  return benchmark ? unwrap<Benchmark>(benchmark)->seconds.data() : nullptr;
}

double opd_benchmark_percentile(const opd_benchmark *benchmark, double percent) {
  return benchmark ? unwrap<Benchmark>(benchmark)->percentile(percent) : 0;
}

opd_error *opd_benchmark_get_stats(const opd_benchmark *benchmark, opd_benchmark_stats *out_stats) {
  return guard([&] {
    OPD_REQUIRE(benchmark, out_stats);
    const Benchmark &its = *unwrap<Benchmark>(benchmark);
    const Benchmark::Reliability is = its.reliability();
    opd_benchmark_stats stats{};
    stats.is_noisy = is.is_noisy;
    stats.median_low = is.low, stats.median_high = is.high;
    stats.autocorrelation = is.autocorrelation;
    stats.outlier_count = is.num_outliers;
    stats.number = its.course.number;
    stats.warmup_count = its.course.warmup_count;
    stats.calls_per_second = its.course.calls_per_second;
    stats.is_steady = its.course.is_steady;
    stats.mean = its.mean(), stats.median = its.percentile(50), stats.std = its.std();
    stats.min = its.min(), stats.max = its.max();
    stats.is_device_time = its.course.is_device_time;
    write_sized(stats, out_stats);
  });
}

opd_error *opd_benchmark_to_text(const opd_benchmark *benchmark, opd_buffer **out_text) {
  return guard([&] {
    OPD_REQUIRE(benchmark, out_text);
    give_text(unwrap<Benchmark>(benchmark)->to_text(), out_text);
  });
}
