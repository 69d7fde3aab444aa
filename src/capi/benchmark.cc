// include/opdyno/benchmark.h
#include <cfloat>

#include "capi/handles.h"
#include "profile/time_evaluator.h"

using namespace opd;

void opd_evaluator_options_init(opd_evaluator_options *options) {
  if (!options) return;
  *options = {};
  options->struct_size = sizeof *options;
  options->device = {kDLCPU, 0};
  options->number = 10;
  options->repeat = options->repeats_to_cooldown = 1;
  options->limit_zero_time_iterations = 100;
  options->warmup = options->concurrency = 1;
}

opd_error *opd_evaluator_create(opd_function *function, const opd_evaluator_options *options,
                                opd_evaluator **out_evaluator) {
  return guard([&] {
    require(function && out_evaluator, "function and out_evaluator must not be NULL");
    const opd_evaluator_options how = read_sized(options, opd_evaluator_options_init);
    EvaluatorPlan plan{how.device,
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
                       how.concurrency};
    *out_evaluator = wrap<opd_evaluator>(
        make_object<TimeEvaluator>(Ref<Function>::share(unwrap<Function>(function)), std::move(plan)));
  });
}

opd_error *opd_evaluator_call(opd_evaluator *evaluator, const opd_value *args, int32_t num_args,
                              opd_benchmark **out_benchmark) {
  return guard([&] {
    require(evaluator && out_benchmark, "evaluator and out_benchmark must not be NULL");
    *out_benchmark = wrap<opd_benchmark>(unwrap<TimeEvaluator>(evaluator)->call(args_of(args, num_args)));
  });
}

void opd_evaluator_release(opd_evaluator *evaluator) { release_handle(evaluator); }

opd_error *opd_benchmark_create(const double *seconds, size_t num, opd_benchmark **out_benchmark) {
  return guard([&] {
    require(seconds && num && out_benchmark, "seconds and out_benchmark must not be NULL, and num not 0");
    for (size_t i = 0; i < num; ++i)
      require(seconds[i] >= 0 && seconds[i] <= DBL_MAX, "second ", i, " is ", seconds[i], ", not a number from 0");
    *out_benchmark =
        wrap<opd_benchmark>(make_object<Benchmark>(std::vector<double>(seconds, seconds + num), Benchmark::Course()));
  });
}

size_t opd_benchmark_count(const opd_benchmark *b) { return b ? unwrap<Benchmark>(b)->seconds.size() : 0; }
const double *opd_benchmark_seconds(const opd_benchmark *b) {
  return b ? unwrap<Benchmark>(b)->seconds.data() : nullptr;
}
double opd_benchmark_mean(const opd_benchmark *b) { return b ? unwrap<Benchmark>(b)->mean() : 0; }
double opd_benchmark_median(const opd_benchmark *b) { return opd_benchmark_percentile(b, 50); }
double opd_benchmark_std(const opd_benchmark *b) { return b ? unwrap<Benchmark>(b)->std() : 0; }
double opd_benchmark_min(const opd_benchmark *b) { return b ? unwrap<Benchmark>(b)->min() : 0; }
double opd_benchmark_max(const opd_benchmark *b) { return b ? unwrap<Benchmark>(b)->max() : 0; }
double opd_benchmark_percentile(const opd_benchmark *b, double percent) {
  return b ? unwrap<Benchmark>(b)->percentile(percent) : 0;
}

opd_error *opd_benchmark_get_stats(const opd_benchmark *benchmark, opd_benchmark_stats *out_stats) {
  return guard([&] {
    require(benchmark && out_stats, "benchmark and out_stats must not be NULL");
    const Benchmark &its = *unwrap<Benchmark>(benchmark);
    const Benchmark::Reliability is = its.reliability();
    give_sized(
        opd_benchmark_stats{0, is.is_noisy, is.low, is.high, is.autocorrelation, is.num_outliers, its.course.number,
                            its.course.warmup_count, its.course.calls_per_second, its.course.is_steady, 0},
        out_stats);
  });
}

opd_error *opd_benchmark_to_text(const opd_benchmark *benchmark, opd_buffer **out_text) {
  return guard([&] {
    require(benchmark && out_text, "benchmark and out_text must not be NULL");
    give_text(unwrap<Benchmark>(benchmark)->to_text(), out_text);
  });
}

void opd_benchmark_release(opd_benchmark *benchmark) { release_handle(benchmark); }
