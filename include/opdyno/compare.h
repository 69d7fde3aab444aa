/** @file compare.h  Finds where two builds of one program diverge: the first operator with different values, and the
 * operator that caused the difference.
 */
#ifndef OPDYNO_COMPARE_H_
#define OPDYNO_COMPARE_H_

#include <opdyno/report.h>
#include <opdyno/vm.h>

OPD_BEGIN_DECLS

/** How two programs are compared. Two numbers agree if |a - b| <= atol + rtol * |a|. */
typedef struct opd_compare_options {
  uint32_t struct_size; /**< Set by opd_compare_options_init(). */
  int32_t repeat;       /**< Number of measured runs of each program, for out_times. 0: none. Default: 20 */
  const char *rtol; /**< Borrowed. Relative tolerance: "1e-4" for all real dtypes, or "float16=1e-2,float32=1e-5" for
                         single dtypes. Other dtypes have the tolerance of PyTorch's assert_close(): float16 1e-3,
                         bfloat16 1.6e-2, float32 1.3e-6, float64 1e-7, integers 0. If the dtypes of two tensors differ,
                         the larger tolerance counts. Default: NULL */
  const char *atol; /**< Borrowed. Absolute tolerance, written like rtol. Other dtypes have 1e-5, float64 1e-7, integers
                         0. Default: NULL */
  uint64_t keep_bytes; /**< Limit of memory for copies of values. If a value does not fit, only its hash is kept, which
                            shows only bitwise equality. Default: 2^31 */
  const char *save_directory; /**< Borrowed. Directory for a.npz and b.npz, the tensors around the first difference.
                                   Default: NULL: they are not written */
  int64_t timeout_ns;         /**< Limit of time for the whole comparison. Default: 0: no limit */
  opd_cancel_token *cancel;   /**< Borrowed. Token that cancels the comparison. The thread's default token cancels it,
                                   too. Default: NULL: only the default token */
  int32_t equal_nan;          /**< 1: NaN agrees with NaN. Default: 1 */
  uint32_t reserved;          /**< Default: 0 */
  opd_array *b_args; /**< Borrowed. Arguments of B, as many as B takes: for a KV cache that B made, or for quantised
                          weights. Default: NULL: those of A */
} opd_compare_options;

/** Writes struct_size and the defaults: repeat 20, keep_bytes 2^31, equal_nan 1; the rest is 0 or NULL. NULL is
 * allowed. Threads: safe. Since: 0.2 */
static inline void opd_compare_options_init(opd_compare_options *options) {
  const opd_compare_options defaults = {
      (uint32_t)sizeof *options, 20, NULL, NULL, (uint64_t)2 << 30, NULL, 0, NULL, 1, 0, NULL};
  if (options) *options = defaults;
}

/** Runs a function of two programs on the same arguments, and compares the values that their operators read and
 * write.
 *
 * The report's configuration has the "Verdict", a sentence: "first difference at softmax1: max abs 3.1e-3 (tolerance
 * 1e-5), caused by matmul3 whose inputs agree"; and "Equal". It is 1 if both programs return, nothing differs, and
 * nothing is undecided. Values that were not kept and functions as results are undecided. The report's rows are the
 * operators of both programs, then the tensors of the results. "State" is "equal" (bit for bit), "agrees" (within the
 * tolerance), "differs", "unknown" (not kept), "only in A" or "only in B". "Matched By" says how an operator of A was
 * matched with one of B: by "name" and shapes, by "order", "value" or "data flow". "Max Abs", "Max Rel", "Tolerance",
 * "Mismatches" and "Elements" describe the output that differs most.
 *
 * Each program runs once, and gets copies of the tensors among the arguments. If a tensor is on A's first device, B's
 * copy is on B's first device. If the program expects another floating-point dtype than a tensor has, the copy is
 * converted. If all parameters of B have names of A's, but in another order or fewer of them, B gets the arguments by
 * these names, and a note says so. For a paged KV cache or RNN state, B gets a copy of A's initial state, with B's
 * kernels of the same names. Other objects cannot be copied: B gets them as A left them, and a note says so. If
 * options->b_args is given, B gets those arguments instead. Memory that a program allocates is filled with NaN, so that
 * elements which a kernel leaves unwritten show as differences. If an operator fails, its program's run ends. The
 * operators before it are compared, and the verdict begins with the failure.
 *
 * @param a          Borrowed. During the comparison its instrument is not called, also not for calls of other threads.
 * @param b          Borrowed; another VM than @p a.
 * @param function   Borrowed: a function of both programs.
 * @param args       As in opd_vm_call(): @p num_args values.
 * @param options    Borrowed; NULL means all defaults.
 * @param out_report New reference.
 * @param out_times  New reference: the operators that became slower, as opd_report_diff() reports them for paired runs.
 *                   NULL if it is not wanted; then nothing is measured. It becomes NULL if repeat is 0, or a program
 *                   failed.
 * @return NULL, or
 *   - OPD_INVALID_ARGUMENT: programs that take different arguments; arguments as in opd_vm_call(); an option;
 *   - OPD_NOT_FOUND: the function, with close names;
 *   - OPD_UNSUPPORTED: a VM of a session (rpc.h);
 *   - OPD_CANCELLED, OPD_DEADLINE_EXCEEDED, OPD_OUT_OF_MEMORY;
 *   - OPD_IO: the directory cannot be written.
 * Threads: safe. Cost: two runs, and hashes and copies of all values that operators read and write. Blocks. Since: 0.2.
 * Source: PyTorch torch.testing.assert_close for tolerances. */
OPD_API OPD_NODISCARD opd_error *opd_compare(opd_vm *a, opd_vm *b, const char *function, const opd_value *args,
                                             int32_t num_args, const opd_compare_options *options,
                                             opd_report **out_report, opd_report **out_times);

OPD_END_DECLS
#endif
