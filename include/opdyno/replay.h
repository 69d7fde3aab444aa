/** @file replay.h  Records calls of programs in files, and replays them. */
#ifndef OPDYNO_REPLAY_H_
#define OPDYNO_REPLAY_H_

#include <opdyno/report.h>
#include <opdyno/vm.h>

OPD_BEGIN_DECLS

/** Parts of a call that a recording keeps. */
typedef struct opd_record_options {
  uint32_t struct_size;   /**< Set by opd_record_options_init(). */
  int32_t with_program;   /**< 1: keeps the bytes of program and kernels; 0: keeps only their SHA-256, so that a replay
                               must be given the program. Default: 1 */
  int32_t with_outputs;   /**< 1: keeps the elements of the result; 0: keeps a hash of each tensor. Default: 0 */
  int32_t with_operators; /**< 1: keeps a hash of the values after each operator, so that a replay names the first
                               operator that differs. Default: 0 */
  int32_t with_paths; /**< 1: keeps the paths of program and libraries, and the machine's name; 0: keeps none of them.
                           Default: 0 */
  uint32_t reserved;  /**< Default: 0 */
} opd_record_options;

/** Writes struct_size and the defaults: with_program 1; the rest is 0 or NULL. NULL is allowed. Threads: safe. Since:
 * 0.2 */
static inline void opd_record_options_init(opd_record_options *options) {
  const opd_record_options defaults = {(uint32_t)sizeof *options, 1, 0, 0, 0, 0};
  if (options) *options = defaults;
}

/** Records the next call of @p vm, from any thread, in a file for opd_replay().
 *
 * The file has the program and its kernels, the function, its arguments, the options of the VM, and the relevant
 * environment variables. It also has the results of host functions that the program called, and how the call ended. The
 * file is written before the call begins, and completed afterwards: if the process ends within the call, the file has
 * everything up to this point. A problem with the file never affects the call. If the process is forked during the
 * call, only the parent writes the file. If the recorded call uses functions of the host, the memory that the program
 * allocates is filled with NaN, as in opd_compare().
 *
 * @param path    Borrowed. A file there is replaced. NULL: ends the recording. The result is then NULL if the call was
 *                recorded, or an error that says why not.
 * @param options Borrowed; NULL means all defaults.
 * @return NULL, or
 *   - OPD_FAILED_PRECONDITION: a call is to be recorded already; without @p path: no call was made, it has not ended,
 * or recording was not asked for;
 *   - OPD_UNSUPPORTED: a VM of a session (rpc.h); without @p path: an argument, or a result of a host function, that
 *     cannot be kept, such as a host function, which the file only names; or a library that was loaded from memory;
 *   - OPD_INVALID_ARGUMENT: a path that is not that of a regular file, or an option;
 *   - OPD_NOT_FOUND, OPD_IO: the directory is missing or cannot be written; without @p path: the file could not be
 *     written.
 * Threads: safe. Cost: the recorded call writes the file; later calls cost what they did. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_vm_record_next_call(opd_vm *vm, const char *path,
                                                         const opd_record_options *options);

/** Options of opd_replay(). */
typedef struct opd_replay_options {
  uint32_t struct_size; /**< Set by opd_replay_options_init(). */
  int32_t run;          /**< 1: the call is made again; 0: the file is only read. Default: 1 */
  opd_module *module;   /**< Borrowed. Module of kind "relax.VMExecutable" that runs instead of the recorded program.
                             Default: NULL: the recorded program */
  opd_function *instrument; /**< Borrowed. Function that is shown the calls, as by opd_vm_set_instrument(). Default:
                                 NULL: none */
  const char *minimise; /**< Borrowed. Path for a recording of a single operator: the one that fails, ends the process,
                             or is the first that differs. Default: NULL: none is written */
  const char *rtol;   /**< Borrowed. Relative tolerance for results whose elements were kept, as in opd_compare_options.
                           Default: NULL: as there */
  const char *atol;   /**< Borrowed. Absolute tolerance for these results, as in opd_compare_options. Default: NULL: as
                           there */
  int64_t timeout_ns; /**< Limit of time for the replayed call. Default: 0: no limit */
  opd_cancel_token *cancel; /**< Borrowed. Token that cancels the call. The thread's default token cancels it, too.
                                 Default: NULL: only the default token */
  int32_t repeat;    /**< Number of measured calls for out_profile, after an unmeasured one. 0: none. Default: 1 */
  uint32_t reserved; /**< Default: 0 */
  DLDevice device;   /**< Replaces the recorded VM's first device; its tensors move there. device_type 0: keep the
                          recorded device. Default: none */
} opd_replay_options;

/** Writes struct_size and the defaults: run 1, repeat 1; the rest is 0 or NULL. NULL is allowed. Threads: safe. Since:
 * 0.2 */
static inline void opd_replay_options_init(opd_replay_options *options) {
  const opd_replay_options defaults = {(uint32_t)sizeof *options, 1, NULL, NULL, NULL, NULL, NULL, 0, NULL, 1, 0,
                                       {(DLDeviceType)0, 0}};
  if (options) *options = defaults;
}

/** Makes a recorded call again, and compares the outcome with the recorded one.
 *
 * It runs the code in the file: replay only files that you trust. Functions of the host are not called: the program
 * gets the recorded results. Their arguments are compared with the recorded arguments.
 *
 * The report's configuration has the "Verdict", a sentence: "the call returned what was recorded: 1 tensor is equal bit
 * for bit"; and "Same", which is 1 if the call ended as recorded: with equal results, with kept elements within the
 * tolerances, or with the same error. "Minimised" is the operator that the option minimise wrote. Rows are the
 * arguments, the functions of the host, the operators that differ, and the tensors of the result. If run is 0, there
 * are no verdict and no states.
 *
 * @param path        Borrowed.
 * @param options     Borrowed; NULL means all defaults.
 * @param out_module  New reference: the program; NULL if it is not wanted. It becomes NULL if the file has only hashes,
 *                    and no module is given.
 * @param out_report  New reference.
 * @param out_profile New reference, as of opd_vm_profile(); NULL if it is not wanted; then nothing is measured. It
 *                    becomes NULL if the call did not return, or run or repeat is 0.
 * @return NULL, or
 *   - OPD_NOT_FOUND, OPD_IO: the file;
 *   - OPD_BAD_FORMAT: it is damaged, truncated, or not a recording;
 *   - OPD_UNSUPPORTED: it is of a newer version; it lacks an argument that could not be kept; a device is missing here,
 *     or the program has no kernels for it;
 *   - OPD_FAILED_PRECONDITION: it has only hashes of the program, and no module is given; or minimise found no operator
 *     that fails or differs. On another device, it looks only for one that fails;
 *   - OPD_INVALID_ARGUMENT: an option;
 *   - OPD_CANCELLED, OPD_DEADLINE_EXCEEDED: as the options say.
 * Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_replay(const char *path, const opd_replay_options *options,
                                            opd_module **out_module, opd_report **out_report, opd_report **out_profile);

OPD_END_DECLS
#endif
