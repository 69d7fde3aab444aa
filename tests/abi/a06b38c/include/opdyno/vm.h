/** @file vm.h  The VM: a program bound to devices and allocators, ready to be called from any thread. */
#ifndef OPDYNO_VM_H_
#define OPDYNO_VM_H_

#include <opdyno/collector.h>
#include <opdyno/executable.h>
#include <opdyno/tensor.h>

OPD_BEGIN_DECLS

/** A program bound to devices. Thread-safe: frames belong to the call. Source: TVM relax.VirtualMachine. */
typedef struct opd_vm opd_vm;
/** Ends calls from outside. Thread-safe. */
typedef struct opd_cancel opd_cancel;

/** How to make a VM. */
typedef struct opd_vm_options {
  uint32_t struct_size;      /**< set by opd_vm_options_init() */
  int32_t num_devices;       /**< 0 */
  const DLDevice *devices;   /**< borrowed for the call; NULL: cpu:0. Programs name them by index; constants lie on the
                                  first. The host is added at the end unless that is a CPU device. */
  const int32_t *allocators; /**< an opd_allocator_kind per device; NULL: pooled */
  uint64_t memory_limit_bytes; /**< largest sum of live storages of one VM; 0: the cgroup's or machine's memory */
  int32_t max_depth;           /**< nested program calls; 1000 */
  uint32_t reserved;           /**< 0 */
} opd_vm_options;
/** Writes the defaults. Since: 0.1 */
OPD_API void opd_vm_options_init(opd_vm_options *options);

/** Makes a VM of a module of kind "relax.VMExecutable"; kernels are looked up in its imports, then globally.
 * @param module Borrowed; retained. @param options Borrowed; NULL means all defaults. @param out_vm New reference.
 * @return NULL, or OPD_NOT_FOUND naming the functions that nobody offers; OPD_UNSUPPORTED device or program. Threads:
 * safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_create(opd_module *module, const opd_vm_options *options, opd_vm **out_vm);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_vm_release(opd_vm *vm);

/** How to make one call. */
typedef struct opd_call_options {
  uint32_t struct_size; /**< set by opd_call_options_init() */
  uint32_t reserved;    /**< 0 */
  const char *const
      *names; /**< borrowed; one parameter name per argument, NULL entries for positional ones; NULL: all positional */
  int64_t timeout_ns;         /**< from the call on; 0: none. Checked at calls, backward jumps and where a kernel starts
                                 parallel tasks: a running task is not interrupted. */
  opd_cancel *cancel;         /**< borrowed; NULL: none */
  opd_tensor *const *outputs; /**< borrowed, num_outputs tensors; the results, made as always, are copied into them in
                                 their order once the program has run; NULL: none */
  int32_t num_outputs;        /**< 0 */
  uint32_t reserved2;         /**< 0 */
} opd_call_options;
/** Writes the defaults. Since: 0.1 */
OPD_API void opd_call_options_init(opd_call_options *options);

/** Calls function @p name of @p vm and waits for its result.
 *
 * @param vm        Borrowed. May be called from several threads at once.
 * @param name      Borrowed.
 * @param args      Borrowed, @p num_args values; tensors must lie on a device of the VM. An OPD_TENSOR is taken as it
 * is and must be 64-byte aligned and contiguous. An OPD_DLTENSOR view need not be, for each call allocates and copies
 * it in; what the program writes to it is lost. opd_tensor_from_dlpack() makes a tensor of such memory without a copy.
 * @param options   Borrowed; NULL means all defaults.
 * @param out_value New reference; a tuple arrives as an array, nested as the program returns it.
 * @return NULL, or OPD_NOT_FOUND (the message lists close names), OPD_INVALID_ARGUMENT (count, dtype or shape: the
 * message names the parameter, expected and given; outputs that do not fit; a negative timeout), OPD_CANCELLED,
 * OPD_DEADLINE_EXCEEDED, OPD_OUT_OF_MEMORY, OPD_OUT_OF_RANGE (depth), or the error that an operator raised, with the
 * operator's name. Threads: safe.  Cost: one frame; no allocation once the pool is warm.  Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_call(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                                             const opd_call_options *options, opd_value *out_value);
/** Binds a name once: the result keeps the VM and needs no look-up. @param out_function New reference. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_function(opd_vm *vm, const char *name, opd_function **out_function);
/** Calls a closure that a function of @p vm returned, or any packed function, as opd_vm_call() calls a function: with
 * its deadline and cancel token, and seen by profiles and the instrument.
 * @param closure Borrowed. @param options Borrowed; without names and outputs; NULL means all defaults.
 * @param out_value New reference.
 * @return NULL, or as opd_vm_call(). Closures that a program returns keep their VM.
 * Threads: safe. Since: 0.1. Source: TVM invoke_closure. */
OPD_API OPD_NODISCARD opd_error *opd_vm_invoke_closure(opd_vm *vm, opd_function *closure, const opd_value *args,
                                                       int32_t num_args, const opd_call_options *options,
                                                       opd_value *out_value);

/** Saves a function with its arguments under a name, by which it is then called without any.
 * @param saved_name Borrowed. A saved function of that name is replaced; OPD_ALREADY_EXISTS if the program has one.
 * @param args As in opd_vm_call(); kept until the name is saved anew or the VM ends. @param options Borrowed; only its
 * names count.
 * @param include_return 0: a call of the saved function gives OPD_NONE.
 * Threads: safe; running calls keep what they began with. Since: 0.1. Source: TVM save_function. */
OPD_API OPD_NODISCARD opd_error *opd_vm_save_function(opd_vm *vm, const char *name, const char *saved_name,
                                                      const opd_value *args, int32_t num_args,
                                                      const opd_call_options *options, int include_return);

/* Stateful calls: set_input, invoke_stateful, get_outputs; per function, and for one thread at a time. Once its inputs
 * are set, a plain call of the function is OPD_FAILED_PRECONDITION. Source: TVM relax.VirtualMachine. */

/** Keeps the arguments of a function for opd_vm_invoke_stateful(). Tensors on the VM's device are not copied.
 * @param args As in opd_vm_call(). @param options Borrowed; only its names count. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_set_input(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                                                  const opd_call_options *options);
/** The same; the last argument is what `get_params()` of a module gives. @param params Borrowed. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_set_input_with_param_module(opd_vm *vm, const char *name, const opd_value *args,
                                                                    int32_t num_args, opd_module *params);
/** Runs a function on its inputs and keeps the result. OPD_FAILED_PRECONDITION unless its inputs were set; errors as
 *  opd_vm_call(). @param options Borrowed; NULL means all defaults. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_invoke_stateful(opd_vm *vm, const char *name, const opd_call_options *options);
/** Gives the result of the last opd_vm_invoke_stateful(), or an item of it.
 * @param path Borrowed: @p path_size indices into nested tuples; none for the whole result. @param out_value New
 * reference.
 * @return NULL, or OPD_FAILED_PRECONDITION before it ran, OPD_OUT_OF_RANGE, OPD_INVALID_ARGUMENT for an index into no
 * tuple. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_get_outputs(opd_vm *vm, const char *name, const int64_t *path,
                                                    int32_t path_size, opd_value *out_value);
/** Gives the number of items of a tuple in the result, or -1 where there is no tuple. As opd_vm_get_outputs(). Since:
 * 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_get_output_arity(opd_vm *vm, const char *name, const int64_t *path,
                                                         int32_t path_size, int64_t *out_arity);

/** What an instrument may return before a call. Source: TVM VMInstrumentReturnKind. */
typedef enum opd_instrument_action {
  OPD_INSTRUMENT_NO_OP = 0, /**< the call runs; so it does for any other result */
  OPD_INSTRUMENT_SKIP_RUN =
      1 /**< the call is skipped, its result is OPD_NONE, and the instrument is not asked after it */
} opd_instrument_action;

/** Shows every call of the VM's programs to a function: `instrument(function, name, before, result, arguments …)`, once
 *  before the call (before is true, result OPD_NONE) and once after it. What it raises ends the call that it is in.
 * Calls that it makes itself are not shown. Of compiled functions, calls of kernels come with OPD_NONE for the
 * function.
 * @param instrument Borrowed; retained. NULL: none. Calls that run already keep theirs.
 * Threads: safe; the instrument runs on the thread of the call. Since: 0.1. Source: TVM set_instrument. */
OPD_API OPD_NODISCARD opd_error *opd_vm_set_instrument(opd_vm *vm, opd_function *instrument);

/** Returns 1 if the program has such a function, or one was saved under the name. Threads: safe. Since: 0.1 */
OPD_API int opd_vm_has_function(opd_vm *vm, const char *name);
/** Lists the program's functions. @param out_names New reference: an array of strings. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_list_functions(opd_vm *vm, opd_array **out_names);
/** Lists a function's parameter names. @param out_names New reference: an array of strings. OPD_NOT_FOUND. Threads:
 * safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_list_params(opd_vm *vm, const char *name, opd_array **out_names);
/** Gives memory that idle frames keep back to the allocators. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_trim(opd_vm *vm);

/** Which calls a profile shows beside those of kernels and of the program's own functions. */
typedef enum opd_profile_builtins {
  OPD_BUILTINS_WITH_TENSORS = 0, /**< calls with a tensor among their arguments, as TVM's profiler */
  OPD_BUILTINS_ALL = 1,          /**< every call */
  OPD_BUILTINS_FOLDED = 2 /**< every call; those of vm.builtin.* in one row, "(builtins)", or in the time of the row
                             that they ran within */
} opd_profile_builtins;
/** How to profile. */
typedef struct opd_profile_options {
  uint32_t struct_size;             /**< set by opd_profile_options_init() */
  int32_t warmup;                   /**< calls before the measured ones; 1, as TVM */
  int32_t repeat;                   /**< measured calls; 1 */
  uint32_t reserved;                /**< 0 */
  uint64_t max_records;             /**< records kept of a thread; later ones are counted and dropped; 1 << 20 */
  int32_t builtins;                 /**< an opd_profile_builtins; OPD_BUILTINS_WITH_TENSORS */
  int32_t details;                  /**< 1: columns Start (us), Self (us), Run, Thread, Tensors (bytes), Call Path; 0 */
  uint64_t sample_interval;         /**< opd_vm_profile_start(): one of so many calls is recorded; 1 */
  opd_collector *const *collectors; /**< borrowed; @p num_collectors of them, around every call; see collector.h */
  int32_t num_collectors;           /**< 0 */
  uint32_t reserved2;               /**< 0 */
} opd_profile_options;
/** Writes the defaults. Since: 0.1 */
OPD_API void opd_profile_options_init(opd_profile_options *options);

/** Calls a function as opd_vm_call() does and measures every operator call with a tensor argument.
 *
 * @param options    Borrowed; NULL means all defaults. @param call_options As in opd_vm_call().
 * @param out_report New reference: rows Name, Duration (us), Percent, Device, Count, Argument Shapes in program order,
 * then what collectors measured, and "(dispatch)" and "(profiler)", which are what the VM and the recording took: with
 * them the outermost rows add up to the total.
 * @param out_trace  New reference: the same calls on a time line; NULL if not wanted.
 * Threads: safe.  Since: 0.1.  Source: TVM 0.23 vm.profile. */
OPD_API OPD_NODISCARD opd_error *opd_vm_profile(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                                                const opd_call_options *call_options,
                                                const opd_profile_options *options, opd_report **out_report,
                                                opd_trace **out_trace);

/** Records every call of @p vm from now on, by whoever and on whatever thread, until opd_vm_profile_stop(): an
 * application is profiled without touching its calls. Calls that opd_vm_profile() makes are not part of it.
 * @param options Borrowed; NULL means all defaults; warmup and repeat do not matter. Collectors are prepared here,
 * retained until opd_vm_profile_stop(), and run on the threads of the calls that are sampled, several at once.
 * @return NULL, or OPD_FAILED_PRECONDITION if the VM is being profiled already. Threads: safe. Cost: what a profile
 * costs, for the calls that are sampled; some 25 ns for others. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_profile_start(opd_vm *vm, const opd_profile_options *options);
/** Ends it, once the calls that are being recorded have ended.
 * @param out_report New reference: as opd_vm_profile()'s, thread by thread; Run counts the calls. @param out_trace New
 * reference; NULL if not wanted.
 * @return NULL, or OPD_FAILED_PRECONDITION if it was not started, or from inside of a call of the VM, collectors
 * included. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_profile_stop(opd_vm *vm, opd_report **out_report, opd_trace **out_trace);

/* ---- cancelling ------------------------------------------------------------------------------------------------ */

/** @param out_cancel New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_cancel_create(opd_cancel **out_cancel);
/** Ends every call that runs with this token at its next operator or, in a kernel, before its next parallel region, of
 *  which tasks that have not begun are dropped unless others meet them at a barrier; and every later call at once. The
 *  VM stays usable; tensors that the kernel was to write are undefined. Threads: safe. Since: 0.1 */
OPD_API void opd_cancel_cancel(opd_cancel *cancel);
/** Makes the token usable again. Threads: safe. Since: 0.1 */
OPD_API void opd_cancel_reset(opd_cancel *cancel);
/** Gives the calling thread a token for all calls of VMs that it makes from now on and that name no other: how a host
 * language ends what its signals interrupt. @param cancel Borrowed; retained until the next one is set or the thread
 * ends; NULL: none.
 * @return NULL, or OPD_FAILED_PRECONDITION inside of a call. Threads: of the calling one only. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_cancel_set_default(opd_cancel *cancel);
/** Returns the operator that a call with this token runs at the moment, or NULL; for messages about calls that hang.
 * Borrowed from the VM of that call. Threads: safe. Since: 0.1 */
OPD_API const char *opd_cancel_current_operator(const opd_cancel *cancel);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_cancel_release(opd_cancel *cancel);

OPD_END_DECLS
#endif
