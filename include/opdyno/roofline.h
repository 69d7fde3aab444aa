/** @file roofline.h  Rooflines: compares the arithmetic and the memory traffic of operators with the peaks of the
 * machine.
 */
#ifndef OPDYNO_ROOFLINE_H_
#define OPDYNO_ROOFLINE_H_

#include <opdyno/report.h>

OPD_BEGIN_DECLS

/** The peak performance of this machine's processors, all together. */
typedef struct opd_machine_peak {
  uint32_t struct_size;  /**< Set by the caller to sizeof(opd_machine_peak). */
  int32_t num_threads;   /**< Number of threads that measured. */
  double gflops;         /**< GFLOP/s of float32. A fused multiply-add counts as two operations. */
  double bandwidth_gbps; /**< GB/s of a[i] = b[i] + s * c[i] over arrays that no cache holds. Reads and writes count. */
  double spread; /**< Noise of the measurements: the median time divided by the shortest, minus 1. From 0.1 on, the
                      peaks may be too low. */
} opd_machine_peak;

/** Measures the peaks with as many threads as a parallel launch has, for about half a second. The best of several tries
 * counts, so that other load on the machine matters little.
 * @param out_peak Its struct_size must be set.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe, but two calls at once disturb each other. Blocks. Since: 0.1.
 *         Source: STREAM (triad) for the bandwidth. */
OPD_API OPD_NODISCARD opd_error *opd_machine_measure_peak(opd_machine_peak *out_peak);

/** Copies @p report and adds the operations and the memory traffic of its operators, if their names and shapes
 * determine these.
 *
 * New columns: "FLOP", "Tensors (bytes)" (unless it is there), "GFLOP/s", "Arithmetic Intensity (FLOP/byte)" and, if
 * the peaks are known, "Percent of Peak". This peak is the roofline: the lower of the arithmetic peak and the bandwidth
 * times the intensity. If its operator is not known, a call has no FLOP. Caches may deliver data faster than the
 * memory, so more than 100 percent is possible.
 *
 * Operators are recognised by the words in their names, as TVM gives them ("fused_conv2d_add1_relu"): Contractions
 * (matmul, dense, conv1d to conv3d and their transposes) count 2 operations for each multiply-add. Elementwise
 * operators and reductions count one or more for each element. The last tensor is the result, as destination-passing
 * kernels have it. If there is a global function "opdyno.flop.<name>" (the name without its last digits), it is called
 * first: it gets the text of "Argument Shapes" and returns the number of operations.
 *
 * @param report Borrowed.
 * @param peak_gflops, peak_bandwidth_gbps As opd_machine_measure_peak() gives them. The configuration gets them as
 *                                         "Peak GFLOP/s" and "Peak Bandwidth (GB/s)". 0 and 0: not known.
 * @param out_report New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for only one peak or a negative one, OPD_ALREADY_EXISTS if the report has such
 * columns, or the error of a global function. Threads: safe. Since: 0.1. Source: Williams, Waterman, Patterson:
 * Roofline, 2009. */
OPD_API OPD_NODISCARD opd_error *opd_report_add_roofline(const opd_report *report, double peak_gflops,
                                                         double peak_bandwidth_gbps, opd_report **out_report);

OPD_END_DECLS
#endif
