/** @file benchmark.h  Benchmarks: TVM's time_evaluator and its results. */
#ifndef OPDYNO_BENCHMARK_H_
#define OPDYNO_BENCHMARK_H_

#include <opdyno/function.h>

OPD_BEGIN_DECLS

/** Measures one function. One thread at a time: later measurements reuse the number of calls that an earlier one
 * found. */
typedef struct opd_evaluator opd_evaluator;
OPD_HANDLE(opd_evaluator);

/** The results of a measurement. Immutable. */
typedef struct opd_benchmark opd_benchmark;
OPD_HANDLE(opd_benchmark);

/** How to measure. The names and defaults are those of TVM's time_evaluator. */
typedef struct opd_evaluator_options {
  uint32_t struct_size;               /**< set by opd_evaluator_options_init() */
  DLDevice device;                    /**< it is synchronised before the clock is read. If it has events or timestamps,
                                           its own clock measures, in the current stream of each thread; cpu:0 */
  uint32_t reserved;                  /**< 0 */
  int32_t number;                     /**< calls in each repeat; 10 */
  int32_t repeat;                     /**< measurements; 1 */
  int32_t limit_zero_time_iterations; /**< tries while the clock reads 0; 100 */
  int32_t repeats_to_cooldown;        /**< sleeps after every so many repeats; 1 */
  int32_t warmup;                     /**< calls of each thread before the measured ones; 1 */
  int32_t concurrency;                /**< threads that call at the same time; they begin each repeat together. Not with
                            cache_flush_bytes; 1: the calling thread */
  int64_t min_repeat_ms;              /**< a repeat is done again with more calls until it lasts that long; 0 */
  int64_t cooldown_interval_ms;       /**< sleep; 0: none */
  int64_t steady_ms; /**< longest time for further warm-up calls, which end once their times are steady; a running call
                          is not interrupted. Times are compared in windows of ten batches; a batch is 1 ms or one call.
                          Times are steady if two windows in a row do not differ by Mann-Whitney's test (5 %), or differ
                          by at most 1 %. Source: Georges, Buytaert, Eeckhout: Statistically Rigorous Java Performance
                          Evaluation (windows of calls that agree). 0: none */
  int64_t cache_flush_bytes; /**< copied from one array to another before each measurement; 0: none */
  opd_function *preprocess;  /**< borrowed; called with the arguments before each repeat; NULL: none */
} opd_evaluator_options;

/** Writes the defaults, and the size of the struct in this header. NULL is allowed. Threads: safe. Since: 0.1 */
static inline void opd_evaluator_options_init(opd_evaluator_options *options) {
  const opd_evaluator_options defaults = {
      (uint32_t)sizeof *options, {kDLCPU, 0}, 0, 10, 1, 100, 1, 1, 1, 0, 0, 0, 0, NULL};
  if (options) *options = defaults;
}

/** Makes an evaluator of any packed function: a module's, a VM's or a saved one. A function of a session (rpc.h) is
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

/** Makes a benchmark of times that were measured elsewhere.
 * @param seconds       Borrowed; seconds per call, one value for each repeat, in the order of measurement.
 * @param num           At least 1.
 * @param out_benchmark New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT: no value, or one that is not at least 0. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_benchmark_create(const double *seconds, int32_t num,
                                                      opd_benchmark **out_benchmark);

/** Returns seconds per call, one value for each repeat, in the order of measurement. With concurrency there is one for
 * each thread of a repeat; for number = 1 these are the latencies of the calls.
 * @param out_count The number of values; NULL if it is not wanted.
 * @return Borrowed; NULL for NULL. Threads: safe. Since: 0.2 */
OPD_API const double *opd_benchmark_seconds(const opd_benchmark *benchmark, int32_t *out_count);

/** Returns a percentile of the seconds per call, interpolated between two repeats.
 * @param percent 0 to 100; numbers outside are taken as the nearer end. Threads: safe. Since: 0.1 */
OPD_API double opd_benchmark_percentile(const opd_benchmark *benchmark, double percent);

/** The figures of a benchmark, and how far they can be relied on. Times are in seconds per call. */
typedef struct opd_benchmark_stats {
  uint32_t struct_size; /**< sizeof(opd_benchmark_stats), set by the caller; then the bytes that were filled */
  int32_t is_noisy;     /**< 1: too noisy to say: there are too few repeats for the interval, or it is wider than 5 % of
                             the median */
  double median_low;    /**< lower end of the 95 % confidence interval of the median: an order statistic from the
                             binomial distribution. If consecutive repeats or the threads of a repeat are correlated,
                             the interval is wider. 0 with too few repeats */
  double median_high;   /**< upper end; infinite with fewer than 6 repeats */
  double autocorrelation;  /**< of the ranks of consecutive repeats, as the interval accounts for it; 0 to 1 */
  int64_t outlier_count;   /**< repeats that lie more than 1.5 interquartile ranges outside the quartiles. All figures
                                include them */
  int64_t number;          /**< calls of a thread in the last repeat. This and the next three are 0 for times measured
                                elsewhere. */
  int64_t warmup_count;    /**< calls of all threads before the measured ones */
  double calls_per_second; /**< of all threads together, while the repeats ran */
  int32_t is_steady; /**< 1: the warm-up ended because the times were steady; 0: they were not within steady_ms, or
                           steady_ms was 0 */
  uint32_t reserved; /**< 0 */
  double mean;       /**< since 0.2, as the rest */
  double median;
  double std; /**< standard deviation of the population */
  double min;
  double max;
  int32_t is_device_time; /**< 1: the times are those of the device's own clock, from when its work before the calls of
                                 a repeat had ended until theirs had; 0: they are the host's, with the device
                                 synchronised, or were measured elsewhere */
  uint32_t reserved2;     /**< 0 */
} opd_benchmark_stats;

/** Gives the figures of a benchmark.
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
