/** @file diff.h  Compares two sets of runs, and finds the operators that became slower or faster.
 *
 * The unit is a run, not a call. For each operator, the durations of its calls are summed per run. Mann-Whitney's rank
 * test compares the two sets of sums; for paired runs, it is Wilcoxon's signed-rank test. The change is the
 * Hodges-Lehmann shift of the logarithms, with its confidence interval. If runs call the program different numbers of
 * times, times are per call of the program. If a side has fewer than 15 runs, they must be independent of each other,
 * because so few runs do not show the correlation of consecutive runs. docs/diff.md says more.
 *
 * A diff is a report. It has a row for each operator, then rows for replaced operators and for the total. The columns
 * Name, Argument Shapes and Device identify the operator. Verdict and Change, with its interval, are the result. Other
 * columns are the medians, runs and calls of both sides, the p-values, and the number of runs needed to see a change.
 * The last columns say whether the row counts for the overall verdict ("decides") and whether it fails. A verdict is
 * "same", "regression", "improvement", "undecided", "new" or "vanished". The configuration has the overall verdict
 * ("Verdict"), the number of rows that fail ("Fails"), and the options.
 */
#ifndef OPDYNO_DIFF_H_
#define OPDYNO_DIFF_H_

#include <opdyno/benchmark.h>
#include <opdyno/report.h>

OPD_BEGIN_DECLS

/** How runs are compared. */
typedef struct opd_diff_options {
  uint32_t struct_size; /**< Set by opd_diff_options_init(). */
  int32_t is_paired; /**< 1: run i before is paired with run i after; 0: only runs whose turns are recorded are paired
                          (docs/diff.md). Default: 0 */
  double min_effect; /**< Smallest relative change that matters. Default: 0.01 */
  double level; /**< Largest share of false verdicts among the verdicts of regression or improvement. Default: 0.05 */
  double confidence;  /**< Confidence level of the intervals. Default: 0.95 */
  const char *metric; /**< Name of the column that is compared: counts or durations. Default: NULL: "Duration (us)" */
  double min_share;   /**< An operator decides if it takes at least this share of the total, before or after. Default:
                           0.01 */
  double fail_above;  /**< A row fails if it decides and is slower by more than this share. Negative: no row fails.
                           Default: -1 */
} opd_diff_options;

/** Writes struct_size and the defaults: min_effect 0.01, level 0.05, confidence 0.95, min_share 0.01, fail_above -1;
 * the rest is 0 or NULL. NULL is allowed. Threads: safe. Since: 0.1 */
static inline void opd_diff_options_init(opd_diff_options *options) {
  const opd_diff_options defaults = {(uint32_t)sizeof *options, 0, 0.01, 0.05, 0.95, NULL, 0.01, -1};
  if (options) *options = defaults;
}

/** Compares two sets of runs. A report is one run; a report with a column "Run", as opd_report_merge() makes it, holds
 * a run for each value of it. Rows with equal name, argument shapes and device are one operator.
 * @param before     Borrowed, @p num_before reports in the order of time.
 * @param after      Borrowed, @p num_after reports in the order of time.
 * @param options    Borrowed; NULL means all defaults.
 * @param out_report New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT (no reports on one side; an option out of range; a value of the metric that is
 *         negative or not a number, with report and row), OPD_NOT_FOUND (a report with calls lacks the metric).
 * Threads: safe. Cost: 10 ms for two reports of 30,000 rows. Blocks. Since: 0.2. Source: Hollander, Wolfe, Chicken:
 * Nonparametric Statistical Methods, 4.1-4.3; Genovese, Roeder, Wasserman: False discovery control with p-value
 * weighting, Biometrika 93 (2006). */
OPD_API OPD_NODISCARD opd_error *opd_report_diff(const opd_report *const *before, int32_t num_before,
                                                 const opd_report *const *after, int32_t num_after,
                                                 const opd_diff_options *options, opd_report **out_report);

/** Compares two benchmarks. Each repeat is a run of the one operator "call". If a repeat has several threads, their
 * mean counts.
 * @param before     Borrowed.
 * @param after      Borrowed.
 * @param options    Borrowed; NULL means all defaults.
 * @param out_report New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an option. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_benchmark_diff(const opd_benchmark *before, const opd_benchmark *after,
                                                    const opd_diff_options *options, opd_report **out_report);

OPD_END_DECLS
#endif
