/** @file benchmark.h  How long functions take: TVM's time_evaluator and its results. */
#ifndef OPDYNO_BENCHMARK_H_
#define OPDYNO_BENCHMARK_H_

#include <opdyno/function.h>

OPD_BEGIN_DECLS

/** Measures one function. One at a time: the number of calls that it found carries over to later measurements. */
typedef struct opd_evaluator opd_evaluator;
/** What was measured. Immutable. */
typedef struct opd_benchmark opd_benchmark;

/** How to measure. The names and defaults are those of TVM's time_evaluator. */
typedef struct opd_evaluator_options {
  uint32_t struct_size;               /**< set by opd_evaluator_options_init() */
  DLDevice device;                    /**< cpu:0; it is synchronised before the clock is read */
  uint32_t reserved;                  /**< 0 */
  int64_t number;                     /**< calls per repeat; 10 */
  int64_t repeat;                     /**< measurements; 1 */
  int64_t min_repeat_ms;              /**< a repeat is done again with more calls until it lasts that long; 0 */
  int64_t limit_zero_time_iterations; /**< tries while the clock reads 0; 100 */
  int64_t cooldown_interval_ms;       /**< sleep; 0: none */
  int64_t repeats_to_cooldown;        /**< sleeps after every so many repeats; 1 */
  int64_t cache_flush_bytes;          /**< copied from one array to another before each measurement; 0: none */
  opd_function *preprocess;           /**< borrowed; called with the arguments before each repeat; NULL: none */
  int64_t warmup;                     /**< calls of each thread before those that are measured; 1 */
  int64_t steady_ms;   /**< further such calls until their times are steady, for no longer than this (but a call that
                            runs is not interrupted); 0: none. Times are compared in windows of ten batches of 1 ms or
                            one call: steady are two in a row that Mann-Whitney's test does not tell apart (5 %) or
                            that differ by 1 % at most. Source: Georges, Buytaert, Eeckhout: Statistically Rigorous
                            Java Performance Evaluation (windows of calls that agree) */
  int64_t concurrency; /**< threads that call at once, beginning together at each repeat; 1: the calling thread. Not
                            with cache_flush_bytes */
} opd_evaluator_options;
/** Writes the defaults. Since: 0.1 */
OPD_API void opd_evaluator_options_init(opd_evaluator_options *options);

/** Makes an evaluator of any packed function: of a module, a VM, a saved function.
 * @param function Borrowed; retained. @param options Borrowed; NULL means all defaults. @param out_evaluator New
 * reference.
 * @return NULL, or OPD_INVALID_ARGUMENT naming the option. Since: 0.1. Source: TVM Module.time_evaluator. */
OPD_API OPD_NODISCARD opd_error *opd_evaluator_create(opd_function *function, const opd_evaluator_options *options,
                                                      opd_evaluator **out_evaluator);
/** Calls the function warmup + number × repeat times (more where min_repeat_ms or steady_ms ask for it), by each of
 * `concurrency` threads; the warm-up is not measured.
 * @param args Borrowed, @p num_args values, the same for every call. With concurrency the function must bear calls from
 * several threads at once, as those of a VM do; the calling thread's cancel token holds for all of them.
 * @param out_benchmark New reference.
 * @return NULL, or the first error that the function raised, after which no thread calls it again.
 * Threads: one at a time.  Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_evaluator_call(opd_evaluator *evaluator, const opd_value *args, int32_t num_args,
                                                    opd_benchmark **out_benchmark);
/** Ends a reference. Since: 0.1 */
OPD_API void opd_evaluator_release(opd_evaluator *evaluator);

/** Makes a benchmark of times measured elsewhere. @param seconds Borrowed; per call, one value a repeat, in the order
 * in time. @param num At least 1. @param out_benchmark New reference. @return NULL, or OPD_INVALID_ARGUMENT: no value,
 * or one that is not a number from 0. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_benchmark_create(const double *seconds, size_t num, opd_benchmark **out_benchmark);
/** Returns the number of times: of repeats, times the threads of each. Threads: safe. Since: 0.1 */
OPD_API size_t opd_benchmark_count(const opd_benchmark *benchmark);
/** Returns seconds per call, one value a repeat, in their order; with concurrency one for each thread of a repeat,
 * which for number = 1 is each call's latency. Borrowed. Threads: safe. Since: 0.1 */
OPD_API const double *opd_benchmark_seconds(const opd_benchmark *benchmark);
/** Statistics over the repeats, in seconds per call; std is that of the population. Threads: safe. Since: 0.1 */
OPD_API double opd_benchmark_mean(const opd_benchmark *benchmark);
OPD_API double opd_benchmark_median(const opd_benchmark *benchmark);
OPD_API double opd_benchmark_std(const opd_benchmark *benchmark);
OPD_API double opd_benchmark_min(const opd_benchmark *benchmark);
OPD_API double opd_benchmark_max(const opd_benchmark *benchmark);
/** @param percent 0 to 100, cut to that; between two repeats the value is interpolated. Threads: safe. Since: 0.1 */
OPD_API double opd_benchmark_percentile(const opd_benchmark *benchmark, double percent);

/** How far the repeats can be relied on. */
typedef struct opd_benchmark_stats {
  uint32_t struct_size; /**< set by the caller */
  uint32_t is_noisy;    /**< 1: too noisy to say. There are too few repeats for the interval, or it is wider than 5 % of
                             the median */
  double median_low;    /**< lower end of the 95 % confidence interval of the median, in seconds: an order statistic by
                             the binomial distribution, further out where repeats resemble the ones before, or the
                             threads of a repeat each other; 0 with too few */
  double median_high;   /**< upper end; infinite with too few repeats: 6 are the least */
  double autocorrelation; /**< of the ranks of repeats that follow each other, as far as it is taken into account; 0 to
                             1 */
  int64_t outlier_count;  /**< repeats further from the quartiles than 1.5 times the distance between them; none is left
                               out of any number */
  int64_t number;         /**< calls of a thread in the last repeat; this and what follows is 0 of times measured
                               elsewhere */
  int64_t warmup_count;   /**< calls of all threads before the measured ones */
  double calls_per_second; /**< of all threads together, while the repeats ran */
  uint32_t is_steady;      /**< 1: the warm-up ended because the times were steady; 0: they were not within steady_ms,
                                or nobody asked */
  uint32_t reserved;       /**< 0 */
} opd_benchmark_stats;
/** Fills them. @param out_stats Its struct_size is set by the caller. Threads: safe. Since: 0.1. Source: the interval:
 * Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3.6; the outliers: Tukey: Exploratory Data Analysis. */
OPD_API OPD_NODISCARD opd_error *opd_benchmark_get_stats(const opd_benchmark *benchmark,
                                                         opd_benchmark_stats *out_stats);
/** Writes the summary that TVM's BenchmarkResult prints, in ms. @param out_text New reference. Threads: safe. Since:
 * 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_benchmark_to_text(const opd_benchmark *benchmark, opd_buffer **out_text);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_benchmark_release(opd_benchmark *benchmark);

OPD_END_DECLS
#endif
