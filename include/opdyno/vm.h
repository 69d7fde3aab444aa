/** @file vm.h  The VM: a program bound to devices and allocators, ready to be called from any thread. */
#ifndef OPDYNO_VM_H_
#define OPDYNO_VM_H_

#include <opdyno/cancel_token.h>
#include <opdyno/collector.h>
#include <opdyno/executable.h>
#include <opdyno/tensor.h>
#include <opdyno/trace.h>

OPD_BEGIN_DECLS

/** A program bound to devices. Thread-safe: registers belong to the call. Source: TVM relax.VirtualMachine. */
typedef struct opd_vm opd_vm;
OPD_HANDLE(opd_vm);

/** Options of opd_vm_create(). */
typedef struct opd_vm_options {
  uint32_t struct_size;    /**< Set by opd_vm_options_init(). */
  int32_t num_devices;     /**< Number of @p devices. Default: 0 */
  const DLDevice *devices; /**< Borrowed for the call. Programs name devices by their index in this list. Constants lie
                                on the first device. If the last device is not a CPU, the host is added at the end.
                                Default: NULL: cpu:0 */
  const opd_allocator_kind *allocators; /**< Kind of allocator for each of @p devices. Default: NULL: pooled */
  uint64_t memory_limit_bytes; /**< Limit of the live storages of one VM together. Default: 0: the memory of the cgroup
                                    or machine */
  int32_t max_depth;           /**< Limit of nested program calls. Default: 1000 */
  uint32_t reserved;           /**< Default: 0 */
} opd_vm_options;

/** Writes struct_size and the defaults: max_depth 1000; the rest is 0 or NULL. NULL is allowed. Threads: safe. Since:
 * 0.1 */
static inline void opd_vm_options_init(opd_vm_options *options) {
  const opd_vm_options defaults = {(uint32_t)sizeof *options, 0, NULL, NULL, 0, 1000, 0};
  if (options) *options = defaults;
}

/** Makes a VM of a module of kind "relax.VMExecutable". Kernels are looked up in its imports, then among the global
 * functions. If the module belongs to a session (rpc.h), the VM is on the server. Its devices are then the session's,
 * or cpu:0 if none is given, and memory_limit_bytes and max_depth must have their defaults.
 * @param module  Borrowed; retained.
 * @param options Borrowed; NULL means all defaults.
 * @param out_vm  New reference.
 * @return NULL, or OPD_NOT_FOUND with the functions that are missing; OPD_UNSUPPORTED device or program;
 *         OPD_INVALID_ARGUMENT for a module of another kind or an option.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_create(opd_module *module, const opd_vm_options *options, opd_vm **out_vm);

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/** Options of one call. */
typedef struct opd_call_options {
  uint32_t struct_size;     /**< Set by opd_call_options_init(). */
  uint32_t reserved;        /**< Default: 0 */
  const char *const *names; /**< Borrowed. A parameter name for each of @p args, with NULL for positional ones. Default:
                                 NULL: all are positional */
  int64_t timeout_ns; /**< Limit of time from the beginning of the call. It is checked at calls, at backward jumps, and
                           where a kernel starts parallel tasks. A running task is not interrupted. Default: 0: no
                           limit */
  opd_cancel_token *cancel;   /**< Borrowed. Token that cancels the call. The thread's default token cancels it, too.
                                   Default: NULL: only the default token */
  opd_tensor *const *outputs; /**< Borrowed. @p num_outputs tensors. Once the program has run, the results are copied
                                   into them in order. Default: NULL: none */
  int32_t num_outputs;        /**< Number of @p outputs. Default: 0 */
  uint32_t reserved2;         /**< Default: 0 */
  opd_module *param_module;   /**< Borrowed. For opd_vm_set_input() only: the result of its function `get_params` is the
                                   last argument. Since: 0.2. Default: NULL: none */
} opd_call_options;

/** Writes struct_size and the defaults, which are all 0 or NULL. NULL is allowed. Threads: safe. Since: 0.1 */
static inline void opd_call_options_init(opd_call_options *options) {
  const opd_call_options defaults = {(uint32_t)sizeof *options, 0, NULL, 0, NULL, NULL, 0, 0, NULL};
  if (options) *options = defaults;
}

/** Calls function @p name of @p vm and waits for its result.
 *
 * @param vm        Borrowed. May be called from several threads at once.
 * @param name      Borrowed.
 * @param args      Borrowed, @p num_args values. Tensors must lie on a device of the VM. An OPD_TENSOR is passed on
 *                  unchanged, with its strides and byte offset, which kernels check. Its data must be 64-byte aligned.
 *                  An OPD_DLTENSOR may have any alignment: it is copied into a compact tensor on every call, and writes
 *                  of the program do not reach the original. To avoid the copy, make a tensor from it once by
 *                  opd_tensor_from_dlpack().
 * @param options   Borrowed; NULL means all defaults.
 * @param out_value New reference; a tuple arrives as an array, nested as the program returns it.
 * @return NULL, or
 *   - OPD_NOT_FOUND with close names;
 *   - OPD_INVALID_ARGUMENT: count, dtype or shape (the message has the parameter, expected and given); outputs that do
 *     not fit; a negative timeout;
 *   - OPD_CANCELLED, OPD_DEADLINE_EXCEEDED, OPD_OUT_OF_MEMORY, OPD_OUT_OF_RANGE (depth);
 *   - the error that an operator raised, with the operator's name.
 * Threads: safe. Cost: one frame; no allocation once the pool is warm. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_call(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                                             const opd_call_options *options, opd_value *out_value);

/** Gives a function of the program. It keeps the VM and is called without a look-up by name.
 * @param name         Borrowed.
 * @param out_function New reference.
 * @return NULL, or OPD_NOT_FOUND with close names. Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_vm_get_function(opd_vm *vm, const char *name, opd_function **out_function);

/** Calls a closure that a function of @p vm returned, or any packed function, as opd_vm_call() calls a function: with
 * deadline and cancel token, and seen by profiles and the instrument. Closures that a program returns keep their VM.
 * @param closure   Borrowed.
 * @param args      As in opd_vm_call(): @p num_args values.
 * @param options   Borrowed; without names and outputs; NULL means all defaults.
 * @param out_value New reference.
 * @return NULL, or an error of opd_vm_call(): OPD_CANCELLED, OPD_CALL_FAILED …
 * Threads: safe. Blocks. Since: 0.1. Source: TVM invoke_closure. */
OPD_API OPD_NODISCARD opd_error *opd_vm_invoke_closure(opd_vm *vm, opd_function *closure, const opd_value *args,
                                                       int32_t num_args, const opd_call_options *options,
                                                       opd_value *out_value);

/** Saves a function with its arguments under a name. Calls by this name need no arguments.
 * @param name           Borrowed: a function of the program.
 * @param saved_name     Borrowed. A saved function of that name is replaced.
 * @param args           As in opd_vm_call(): @p num_args values; kept until the name is saved again or the VM ends.
 * @param options        Borrowed; only names are used.
 * @param include_return 0: a call of the saved function gives OPD_NONE.
 * @return NULL, or OPD_ALREADY_EXISTS if the program has a function named @p saved_name; OPD_NOT_FOUND;
 *         OPD_INVALID_ARGUMENT as in opd_vm_call().
 * Threads: safe; running calls keep the function they began with. Blocks. Since: 0.1. Source: TVM save_function. */
OPD_API OPD_NODISCARD opd_error *opd_vm_save_function(opd_vm *vm, const char *name, const char *saved_name,
                                                      const opd_value *args, int32_t num_args,
                                                      const opd_call_options *options, int32_t include_return);

/* ---- calls in three steps --------------------------------------------------------------------------------------- */

/* opd_vm_set_input(), opd_vm_invoke_stateful(), opd_vm_get_outputs(): for each function, one thread at a time. Once its
 * inputs are set, a plain call without arguments fails with OPD_FAILED_PRECONDITION. Source: TVM relax.VirtualMachine.
 */

/** Keeps the arguments of a function for opd_vm_invoke_stateful(). Tensors on the VM's device are not copied.
 * @param name    Borrowed.
 * @param args    As in opd_vm_call(): @p num_args values.
 * @param options Borrowed; only names and param_module are used. NULL means all defaults.
 * @return NULL, or OPD_NOT_FOUND, OPD_INVALID_ARGUMENT as in opd_vm_call().
 * Threads: one at a time. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_set_input(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                                                  const opd_call_options *options);

/** Runs a function on its inputs and keeps the result.
 * @param name    Borrowed.
 * @param options Borrowed; NULL means all defaults.
 * @return NULL, or OPD_FAILED_PRECONDITION if its inputs were not set; errors of opd_vm_call().
 * Threads: one at a time. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_invoke_stateful(opd_vm *vm, const char *name, const opd_call_options *options);

/** Gives the result of the last opd_vm_invoke_stateful(), or an item of it.
 * @param name      Borrowed.
 * @param path      Borrowed: @p path_size indices into nested tuples; none for the whole result.
 * @param out_value New reference.
 * @return NULL, or OPD_FAILED_PRECONDITION if it did not run yet, OPD_OUT_OF_RANGE, OPD_INVALID_ARGUMENT for an index
 *         into a value that is not a tuple.
 * Threads: one at a time. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_get_outputs(opd_vm *vm, const char *name, const int64_t *path,
                                                    int32_t path_size, opd_value *out_value);

/** Gives the number of items of a tuple in the result; -1 if it is not a tuple.
 * @param name      Borrowed.
 * @param path      As in opd_vm_get_outputs(): @p path_size indices.
 * @param out_arity Written.
 * @return NULL, or an error of opd_vm_get_outputs(): OPD_FAILED_PRECONDITION, OPD_OUT_OF_RANGE, OPD_INVALID_ARGUMENT.
 * Threads: one at a time. Blocks. Since: 0.1 */
static inline OPD_NODISCARD opd_error *opd_vm_get_output_arity(opd_vm *vm, const char *name, const int64_t *path,
                                                               int32_t path_size, int64_t *out_arity) {
  opd_value value = opd_none();
  opd_error *error = opd_vm_get_outputs(vm, name, path, path_size, &value);
  if (error) return error;
  if (out_arity)
    *out_arity = value.type == OPD_ARRAY ? (int64_t)opd_array_count((const opd_array *)value.u.object) : -1;
  opd_value_release(&value);
  return NULL;
}

/* ---- instrument ------------------------------------------------------------------------------------------------ */

/** Return values of an instrument before a call. Source: TVM VMInstrumentReturnKind. */
typedef enum opd_instrument_action OPD_ENUM_TYPE {
  OPD_INSTRUMENT_NO_OP = 0,    /**< The call runs. It also runs after any other result. */
  OPD_INSTRUMENT_SKIP_RUN = 1, /**< The call is skipped, its result is OPD_NONE, and the instrument is not called after
                                    it. */
  OPD_INSTRUMENT_ACTION_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_instrument_action;

/** Shows every call of the VM's programs to a function: `instrument(function, name, before, result, arguments …)`, once
 * before the call (before is true, result OPD_NONE) and once after it. An error that it raises ends the call. Calls
 * that it makes itself are not shown. In compiled functions, calls of kernels come with OPD_NONE as the function.
 * @param instrument Borrowed; retained. NULL: none. Running calls keep theirs.
 * @return NULL, or OPD_INVALID_ARGUMENT.
 * Threads: safe; the instrument runs on the thread of the call. Blocks. Since: 0.1. Source: TVM set_instrument. */
OPD_API OPD_NODISCARD opd_error *opd_vm_set_instrument(opd_vm *vm, opd_function *instrument);

/* ---- functions and memory -------------------------------------------------------------------------------------- */

/** Returns 1 if the program has a function named @p name, or if a function was saved under that name; else 0.
 * Threads: safe. Blocks. Since: 0.1 */
OPD_API int32_t opd_vm_has_function(opd_vm *vm, const char *name);

/** Lists the program's functions.
 * @param out_names New reference: an array of strings.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_list_functions(opd_vm *vm, opd_array **out_names);

/** Lists the names of a function's parameters.
 * @param name      Borrowed.
 * @param out_names New reference: an array of strings.
 * @return NULL, or OPD_NOT_FOUND. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_list_params(opd_vm *vm, const char *name, opd_array **out_names);

/** Returns memory to the system: what idle frames keep, and what the pools of the VM's devices keep.
 * @return NULL, or OPD_INVALID_ARGUMENT. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_trim(opd_vm *vm);

/* ---- profiles -------------------------------------------------------------------------------------------------- */

/** Which calls a profile shows in addition to calls of kernels and of the program's own functions. */
typedef enum opd_profile_builtins OPD_ENUM_TYPE {
  OPD_BUILTINS_WITH_TENSORS = 0, /**< Calls with a tensor among their arguments, as in TVM's profiler. */
  OPD_BUILTINS_ALL = 1,          /**< Every call. */
  OPD_BUILTINS_FOLDED = 2, /**< Every call. Outermost calls of vm.builtin.* share one row, "(builtins)". Others count in
                                the row of the function that made them. */
  OPD_PROFILE_BUILTINS_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_profile_builtins;

/** Options of opd_vm_profile() and opd_vm_profile_start(). */
typedef struct opd_profile_options {
  uint32_t struct_size; /**< Set by opd_profile_options_init(). */
  int32_t warmup;       /**< Number of calls before the measured calls, as in TVM. Default: 1 */
  int32_t repeat;       /**< Number of measured calls. Default: 1 */
  uint32_t reserved;    /**< Default: 0 */
  uint64_t max_records; /**< Limit of calls that are kept for each thread. Later calls are counted and dropped. Default:
                             2^20 */
  opd_profile_builtins builtins; /**< Which calls have rows, in addition to kernels and functions. Default:
                                      OPD_BUILTINS_WITH_TENSORS */
  int32_t details; /**< 1: adds columns Start (us), Self (us), Run, Thread, Tensors (bytes), Call Path. Default: 0 */
  uint64_t sample_interval; /**< For opd_vm_profile_start(): one call in this number of calls is recorded. Default: 1 */
  opd_collector *const *collectors; /**< Borrowed. @p num_collectors collectors, which run around every call, see
                                         collector.h. Default: NULL: none */
  int32_t num_collectors;           /**< Number of @p collectors. Default: 0 */
  int32_t turn; /**< Turn of this run, from 1. opd_report_diff() compares it with the run of the same turn on the other
                     side. Default: 0: no turn */
  double budget_s; /**< Above 0: after @p repeat calls, further calls are made until the slowest operator and its share
                        are stable. Time limit of the measured calls, in seconds. The warm-up is repeated for 50 ms, or
                        a quarter of this limit. Default: 0: exactly @p repeat calls */
} opd_profile_options;

/** Writes struct_size and the defaults: warmup 1, repeat 1, max_records 2^20, sample_interval 1; the rest is 0 or NULL.
 * NULL is allowed. Threads: safe. Since: 0.1 */
static inline void opd_profile_options_init(opd_profile_options *options) {
  const opd_profile_options defaults = {
      (uint32_t)sizeof *options, 1, 1, 0, (uint64_t)1 << 20, OPD_BUILTINS_WITH_TENSORS, 0, 1, NULL, 0, 0, 0};
  if (options) *options = defaults;
}

/** Calls a function as opd_vm_call() does and measures every operator call with a tensor argument.
 *
 * VMs of a session (rpc.h) are measured on the server. They take only collectors of opd_collector_create_builtin(). The
 * trace is on this process's clock.
 *
 * If a call fails, there is no report. To see what ran before, make the call between opd_vm_profile_start() and
 * opd_vm_profile_stop(): each call that failed has a row with its "Error".
 * @param name         Borrowed.
 * @param args         As in opd_vm_call(): @p num_args values.
 * @param call_options As in opd_vm_call().
 * @param options      Borrowed; NULL means all defaults.
 * @param out_report   New reference: rows Name, Duration (us), Percent, Device, Count, Argument Shapes in program
 * order, then the collectors' columns. The rows "(dispatch)" and "(profiler)" are the time of the VM and of the
 * recording; with them the outermost rows add up to the total. If there are several calls, "Repeat" is the number of the
 * call, from 0, and each call has rows of both. "Waited (us)" is the time that a row's threads could run but had no
 * processor, without nested calls; the row "(dispatch)" has the waits that were not found in an operator's call.
 * @param out_trace    New reference: the same calls on a time line; NULL if it is not wanted.
 * @return NULL, or an error of opd_vm_call(); OPD_INVALID_ARGUMENT also for an option; OPD_UNSUPPORTED for a VM of a
 *         session if the server is TVM's. Threads: safe. Blocks. Since: 0.1. Source: TVM 0.23 vm.profile. */
OPD_API OPD_NODISCARD opd_error *opd_vm_profile(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                                                const opd_call_options *call_options,
                                                const opd_profile_options *options, opd_report **out_report,
                                                opd_trace **out_trace);

/** Records every call of @p vm from now on, on any thread, until opd_vm_profile_stop(). So an application can be
 * profiled without a change of its calls. Runs that opd_vm_profile() makes meanwhile are in both profiles.
 * @param options Borrowed; NULL means all defaults; warmup and repeat are not used. Collectors are prepared here and
 *                retained until opd_vm_profile_stop(). They run on the threads of the recorded calls, several at once.
 * @return NULL, or OPD_FAILED_PRECONDITION if the VM is being profiled already, or 16 recordings run in the process;
 *         OPD_INVALID_ARGUMENT for an option. For a VM of a session (rpc.h): the errors of opd_vm_profile(), or
 *         OPD_CALL_FAILED.
 * Threads: safe. Cost: a recorded call costs as much as in a profile; other calls cost about 25 ns. Blocks. Since:
 * 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_profile_start(opd_vm *vm, const opd_profile_options *options);

/** Ends the recording as soon as the calls that are being recorded have ended.
 * @param out_report New reference: as opd_vm_profile()'s, thread by thread; Run counts the calls.
 * @param out_trace  New reference; NULL if it is not wanted.
 * @return NULL, or OPD_FAILED_PRECONDITION if it was not started, or within a call of the VM, also in a collector. For
 *         a VM of a session: OPD_CALL_FAILED. Threads: safe. Blocks. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_profile_stop(opd_vm *vm, opd_report **out_report, opd_trace **out_trace);

OPD_END_DECLS
#endif
