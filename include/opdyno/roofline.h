/** @file roofline.h  How near operators come to what the machine can do: their arithmetic, the bytes that they move,
 * and the peaks of both.
 */
#ifndef OPDYNO_ROOFLINE_H_
#define OPDYNO_ROOFLINE_H_

#include <opdyno/report.h>

OPD_BEGIN_DECLS

/** What this machine's processors reach at most, all together. */
typedef struct opd_machine_peak {
  uint32_t struct_size;  /**< set by the caller to sizeof(opd_machine_peak) */
  int32_t num_threads;   /**< that were at work */
  double gflops;         /**< GFLOP/s: fused multiply-adds of float32, each two operations */
  double bandwidth_gbps; /**< GB/s: a[i] = b[i] + s * c[i] over arrays that no cache holds; reads and writes counted */
  double spread; /**< how noisy the tries were: by which share the middle one took longer than the shortest. From 0.1 on
                      the peaks may be too low. */
} opd_machine_peak;

/** Measures the peaks with as many threads as a parallel launch has, for about half a second: the best of several
 * tries, so that what else runs on the machine matters little.
 * @param out_peak Its struct_size must be set.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe, but two at once measure each other. Blocks. Since: 0.1. Source:
 * STREAM (triad) for the bandwidth. */
OPD_API OPD_NODISCARD opd_error *opd_machine_measure_peak(opd_machine_peak *out_peak);

/** Gives @p report with what its operators compute and move, as far as their names and shapes tell.
 *
 * New columns: "FLOP", "Tensors (bytes)" (unless it is there), "GFLOP/s", "Arithmetic Intensity (FLOP/byte)" and, where
 * the peaks are known, "Percent of Peak": of the roofline, which is the lower of the peak of arithmetic and the
 * bandwidth times the intensity. Calls whose operator is not known have no FLOP. What lies in caches may be moved
 * faster than memory allows: more than 100 percent.
 *
 * Operators are known by the words of their names as TVM gives them ("fused_conv2d_add1_relu"): contractions (matmul,
 * dense, conv1d to conv3d and their transposes) count 2 operations for each multiply-add, elementwise ones and
 * reductions one or more for each element. The last tensor is the result, as destination-passing kernels have it. A
 * global function "opdyno.flop.<name>", of the name without its last digits, is asked first: it gets the text of
 * "Argument Shapes" and returns the number of operations.
 *
 * @param report Borrowed. @param peak_gflops, peak_bandwidth_gbps As opd_machine_measure_peak() gives them, which the
 * configuration gets as "Peak GFLOP/s" and "Peak Bandwidth (GB/s)"; 0 and 0: not known. @param out_report New
 * reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for only one peak or a negative one, OPD_ALREADY_EXISTS if the report has such
 * columns, or the error of a global function. Threads: safe. Since: 0.1. Source: Williams, Waterman, Patterson:
 * Roofline, 2009. */
OPD_API OPD_NODISCARD opd_error *opd_report_add_roofline(const opd_report *report, double peak_gflops,
                                                         double peak_bandwidth_gbps, opd_report **out_report);

OPD_END_DECLS
#endif
