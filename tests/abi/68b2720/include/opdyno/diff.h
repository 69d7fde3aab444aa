/** @file diff.h  Differences between two sets of runs: which operators became slower, and when the data cannot tell.
 *
 * The unit is a run, not a call. For each operator the durations of its calls are summed per run, and the two sets of
 * sums are compared by Mann-Whitney's rank test, exact for up to 10,000 pairs of runs without ties, with the
 * Hodges-Lehmann shift of the logarithms as the change and the interval that belongs to it. Times are skewed and have
 * several modes; a rank test needs no shape, and one outlier does not move it. Runs that resemble their neighbours in
 * time count less. The verdicts of one diff are wrong in at most `level` of the operators that they name
 * (Benjamini-Hochberg), weighted by the operators' shares of the time. docs/diff.md says more.
 */
#ifndef OPDYNO_DIFF_H_
#define OPDYNO_DIFF_H_

#include <opdyno/benchmark.h>
#include <opdyno/report.h>

OPD_BEGIN_DECLS

/** A comparison of runs. Immutable. */
typedef struct opd_diff opd_diff;

/** What is said of an operator. */
typedef enum opd_verdict {
  OPD_VERDICT_SAME = 0,        /**< the interval of the change lies within the minimum effect */
  OPD_VERDICT_REGRESSION = 1,  /**< slower by the minimum effect or more, and that is no chance */
  OPD_VERDICT_IMPROVEMENT = 2, /**< faster, likewise */
  OPD_VERDICT_UNDECIDED = 3,   /**< the data cannot tell */
  OPD_VERDICT_NEW = 4,         /**< in no run before */
  OPD_VERDICT_VANISHED = 5     /**< in no run after */
} opd_verdict;
/** Returns a verdict's name in lower case: "same" … ; "?" for none of them. Threads: safe. Since: 0.1 */
OPD_API const char *opd_verdict_name(int32_t verdict);

/** How runs are compared. */
typedef struct opd_diff_options {
  uint32_t struct_size; /**< set by opd_diff_options_init() */
  uint32_t reserved;    /**< 0 */
  double min_effect;    /**< changes below it do not matter; 0.01 is 1 % */
  double level;         /**< most false verdicts of regression or improvement, as a share of them; 0.05 */
  double confidence;    /**< of the intervals; 0.95 */
  const char *metric;   /**< the column that is compared, counts or durations; NULL: "Duration (us)" */
} opd_diff_options;
/** Writes the defaults. Since: 0.1 */
OPD_API void opd_diff_options_init(opd_diff_options *options);

/** One operator of a diff. Texts are borrowed from the diff. */
typedef struct opd_diff_operator {
  uint32_t struct_size;   /**< set by the caller */
  int32_t verdict;        /**< opd_verdict */
  const char *name;       /**< column "Name" */
  const char *shapes;     /**< column "Argument Shapes"; "" without one */
  const char *device;     /**< column "Device"; "" without one */
  int64_t before_runs;    /**< runs that have the operator */
  int64_t after_runs;     /**< likewise */
  double before;          /**< median over the runs of the sums, in µs for durations; NaN without runs */
  double after;           /**< likewise */
  double change;          /**< after / before - 1: 0.02 is 2 % slower; NaN for new and vanished ones, as the rest */
  double low;             /**< lower end of the change's interval; -1 where there are too few runs for one */
  double high;            /**< upper end; infinite where there are too few runs for one */
  double p_value;         /**< of the test alone, in both directions */
  double adjusted_p;      /**< the level at which the operator would be named */
  double autocorrelation; /**< of runs that follow each other, as far as it was taken into account */
  int64_t runs_needed;    /**< runs on each side that would show a change of min_effect in 9 of 10 diffs */
} opd_diff_operator;

/** Compares two sets of runs. A report is one run; one with a column "Run", as opd_report_merge() makes it, holds a run
 * for each value of it. Operators are told apart by name, argument shapes and device.
 * @param before Borrowed, @p num_before reports in the order in time. @param after Likewise, @p num_after.
 * @param options Borrowed; NULL means all defaults. @param out_diff New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT (no reports on one side, an option out of range, a metric that is no number ≥
 * 0: the message gives report and row) or OPD_NOT_FOUND (a report with calls lacks the metric). Threads: safe.  Cost:
 * 10 ms for two reports of 30,000 rows.  Since: 0.1.  Source: Hollander, Wolfe, Chicken: Nonparametric Statistical
 * Methods, 4.1-4.3; Genovese, Roeder, Wasserman: False discovery control with p-value weighting, Biometrika 93 (2006).
 */
OPD_API OPD_NODISCARD opd_error *opd_report_diff(const opd_report *const *before, size_t num_before,
                                                 const opd_report *const *after, size_t num_after,
                                                 const opd_diff_options *options, opd_diff **out_diff);
/** Compares two benchmarks: each repeat is a run of the one operator "call". As above. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_benchmark_diff(const opd_benchmark *before, const opd_benchmark *after,
                                                    const opd_diff_options *options, opd_diff **out_diff);

/** Returns the number of operators. Threads: safe. Since: 0.1 */
OPD_API size_t opd_diff_operator_count(const opd_diff *diff);
/** Gives one operator. @param index Place in the order in which operators first appeared. @param out_operator Its
 * struct_size is set by the caller. OPD_OUT_OF_RANGE. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_diff_get_operator(const opd_diff *diff, size_t index,
                                                       opd_diff_operator *out_operator);
/** Returns the verdict on all: regression if an operator has it, else undecided if one is, else improvement if one is,
 * else same; new and vanished operators count as undecided. Threads: safe. Since: 0.1 */
OPD_API opd_verdict opd_diff_verdict(const opd_diff *diff);
/** Returns how many runs on each side would show a change of an operator's duration by @p effect in 9 of 10 diffs, by
 * the noise seen here; -1 where there is nothing to compare. @param effect 0.03 is 3 %. Threads: safe. Since: 0.1 */
OPD_API int64_t opd_diff_runs_needed(const opd_diff *diff, size_t index, double effect);
/** Makes a report of it, for all views that reports have: a row for each operator, with columns as the fields above.
 * @param out_report New reference. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_diff_to_report(const opd_diff *diff, opd_report **out_report);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_diff_release(opd_diff *diff);

OPD_END_DECLS
#endif
