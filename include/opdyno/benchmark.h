/** @file benchmark.h  Benchmarks: TVM's time_evaluator and its results. */
#ifndef OPDYNO_BENCHMARK_H_
#define OPDYNO_BENCHMARK_H_

#include <opdyno/function.h>

OPD_BEGIN_DECLS

/** Measures one function. May be used by one thread at a time. Later measurements reuse the number of calls that an
 * earlier one found. */
typedef struct opd_evaluator opd_evaluator;
OPD_HANDLE(opd_evaluator);

/** The results of a measurement. Immutable. */
typedef struct opd_benchmark opd_benchmark;
OPD_HANDLE(opd_benchmark);

/** How to measure. The names and defaults are those of TVM's time_evaluator. */
typedef struct opd_evaluator_options {
  uint32_t struct_size; /**< Set by opd_evaluator_options_init(). */
  DLDevice device;   /**< Device that is synchronised before the clock is read. If the device has events or timestamps,
                          its own clock measures, in the current stream of each thread. Default: cpu:0 */
  uint32_t reserved; /**< Default: 0 */
  int32_t number;    /**< Calls in each repeat. Default: 10 */
  int32_t repeat;    /**< Number of repeats, each of which is one measurement. Default: 1 */
  int32_t limit_zero_time_iterations; /**< Limit of attempts at a repeat whose time is 0. Default: 100 */
  int32_t repeats_to_cooldown;        /**< Number of repeats between two pauses. Default: 1 */
  int32_t warmup;                     /**< Calls of each thread before the measured calls. Default: 1 */
  int32_t concurrency;   /**< Number of threads that call at the same time. They begin each repeat together. 1: only the
                              calling thread. More threads exclude cache_flush_bytes. Default: 1 */
  int64_t min_repeat_ms; /**< Least duration of a repeat. A shorter repeat is made again with more calls. Default: 0 */
  int64_t cooldown_interval_ms; /**< Duration of a pause between repeats. Default: 0: no pause */
  /** Limit of the time for further warm-up calls. They end once their times are steady. A running call is not
   * interrupted. Times are compared in windows of ten batches. A batch is 1 ms of calls, or one longer call. Times are
   * steady if two consecutive windows show no significant difference (Mann-Whitney test, 5 %), or a difference of at
   * most 1 %. Source: Georges, Buytaert, Eeckhout: Statistically Rigorous Java Performance Evaluation (windows of calls
   * that agree). Default: 0: no further calls */
  int64_t steady_ms;
  int64_t cache_flush_bytes; /**< Bytes that are copied between two arrays before each measurement, to flush the caches.
                                  Default: 0: none */
  opd_function *preprocess; /**< Borrowed. Function that is called with the arguments before each repeat. Default: NULL:
                                 none */
} opd_evaluator_options;

/** Writes struct_size and the defaults: device cpu:0, number 10, repeat 1, limit_zero_time_iterations 100,
 * repeats_to_cooldown 1, warmup 1, concurrency 1; the rest is 0 or NULL. NULL is allowed. Threads: safe. Since: 0.1 */
static inline void opd_evaluator_options_init(opd_evaluator_options *options) {
  const opd_evaluator_options defaults = {
      (uint32_t)sizeof *options, {kDLCPU, 0}, 0, 10, 1, 100, 1, 1, 1, 0, 0, 0, 0, NULL};
  if (options) *options = defaults;
}

/** Makes an evaluator of a packed function: a module's, a VM's or a saved one. A function of a session (rpc.h) is
 * measured on the server; its preprocess must be a function of the same session. If the server is TVM's, preprocess,
 * steady_ms and concurrency are not available, and warmup must be 1.
 * @param function      Borrowed; retained.
 * @param options       Borrowed; NULL means all defaults.
 * @param out_evaluator New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT with the option; OPD_UNSUPPORTED device.
 * Threads: safe. Blocks. Since: 0.1. Source: TVM Module.time_evaluator. */
OPD_API OPD_NODISCARD opd_error *opd_evaluator_create(opd_function *function, const opd_evaluator_options *options,
                                                      opd_evaluator **out_evaluator);

/** Calls the function warmup + number × repeat times (more with min_repeat_ms or steady_ms) on each of `concurrency`
 * threads. The warm-up is not measured.
 * @param args          Borrowed, @p num_args values, the same for every call. With concurrency, several threads call
 *                      the function at once, which a VM's functions allow. The calling thread's cancel token applies to
 *                      all of them.
 * @param out_benchmark New reference.
 * @return NULL, or the first error that the function raised (OPD_CALL_FAILED …). After an error, no thread calls it
 *         again.
 * Threads: one at a time. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_evaluator_call(opd_evaluator *evaluator, const opd_value *args, int32_t num_args,
                                                    opd_benchmark **out_benchmark);

/** Makes a benchmark from times that were measured elsewhere.
 * @param seconds       Borrowed; seconds per call, one value for each repeat, in the order of measurement.
 * @param num           At least 1.
 * @param out_benchmark New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT: no values, or a value that is negative or NaN. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_benchmark_create(const double *seconds, int32_t num,
                                                      opd_benchmark **out_benchmark);

/** Returns seconds per call, one value for each repeat, in the order of measurement. With concurrency there is one
 * value for each thread of a repeat. If number is 1, the values are the latencies of the calls.
 * @param out_count The number of values; NULL if it is not wanted.
 * @return Borrowed; NULL for NULL. Threads: safe. Since: 0.2 */
OPD_API const double *opd_benchmark_seconds(const opd_benchmark *benchmark, int32_t *out_count);

/** Returns a percentile of the seconds per call, interpolated between two repeats.
 * @param percent 0 to 100; a number outside this range is clamped. Threads: safe. Since: 0.1 */
OPD_API double opd_benchmark_percentile(const opd_benchmark *benchmark, double percent);

/** Statistics of a benchmark. Times are in seconds per call. */
typedef struct opd_benchmark_stats {
  uint32_t struct_size; /**< Set by the caller to sizeof(opd_benchmark_stats). The library sets it to the number of
                             bytes that it filled. */
  int32_t is_noisy;  /**< 1: the times are too noisy: the interval is wider than 5 % of the median, or there are too few
                          repeats for an interval. */
  double median_low; /**< Lower end of the 95 % confidence interval of the median: an order statistic from the binomial
                          distribution. If consecutive repeats or the threads of a repeat are correlated, the interval
                          is wider. With too few repeats: 0. */
  double median_high;     /**< Upper end of the interval. With fewer than 6 repeats: infinite. */
  double autocorrelation; /**< Autocorrelation of the ranks of consecutive repeats, as the interval accounts for it: 0
                               to 1. */
  int64_t outlier_count; /**< Number of repeats more than 1.5 interquartile ranges outside the quartiles. All statistics
                              include them. */
  int64_t number; /**< Calls of each thread in the last repeat. If the times were measured elsewhere, this field and the
                       next three are 0. */
  int64_t warmup_count;    /**< Calls of all threads before the measured calls. */
  double calls_per_second; /**< Calls per second of all threads together, while the repeats ran. */
  int32_t is_steady;       /**< 1: the warm-up ended because the times were steady; 0: the times were not steady within
                                steady_ms, or steady_ms was 0. */
  uint32_t reserved;       /**< Always 0. */
  double mean;             /**< Mean; since 0.2, as the following fields. */
  double median;           /**< Median. */
  double std;              /**< Standard deviation of the population. */
  double min;              /**< Shortest time. */
  double max;              /**< Longest time. */
  int32_t is_device_time; /**< 1: the device's clock measured the times, from the end of its work before a repeat to the
                               end of the repeat's calls; 0: the host's clock measured them, with the device
                               synchronised, or they were measured elsewhere. */
  uint32_t reserved2;     /**< Always 0. */
} opd_benchmark_stats;

/** Gives the statistics of a benchmark.
 * @param out_stats Written. Its struct_size must be set.
 * @return NULL, or OPD_INVALID_ARGUMENT for a wrong struct_size. Threads: safe. Since: 0.1. Source: the interval:
 * Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3.6; the outliers: Tukey: Exploratory Data Analysis. */
OPD_API OPD_NODISCARD opd_error *opd_benchmark_get_stats(const opd_benchmark *benchmark,
                                                         opd_benchmark_stats *out_stats);

/** Writes the summary that TVM's BenchmarkResult prints, in ms.
 * @param out_text New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_benchmark_to_text(const opd_benchmark *benchmark, opd_buffer **out_text);

OPD_END_DECLS
#endif
