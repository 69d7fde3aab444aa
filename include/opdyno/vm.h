/** @file vm.h  The VM: a program bound to devices and allocators, ready to be called from any thread. */
#ifndef OPDYNO_VM_H_
#define OPDYNO_VM_H_

#include <opdyno/executable.h>
#include <opdyno/report.h>
#include <opdyno/tensor.h>

OPD_BEGIN_DECLS

/** A program bound to devices. Thread-safe: frames belong to the call. Source: TVM relax.VirtualMachine. */
typedef struct opd_vm opd_vm;
/** Ends calls from outside. Thread-safe. */
typedef struct opd_cancel opd_cancel;

/** How to make a VM. */
typedef struct opd_vm_options {
  uint32_t struct_size;        /**< set by opd_vm_options_init() */
  int32_t num_devices;         /**< 0 */
  const DLDevice *devices;     /**< borrowed for the call; NULL: cpu:0. The host is added at the end if missing. */
  const int32_t *allocators;   /**< an opd_allocator_kind per device; NULL: pooled */
  uint64_t memory_limit_bytes; /**< largest sum of live storages of one VM; 0: the cgroup's or machine's memory */
  int32_t max_depth;           /**< nested program calls; 1000 */
  uint32_t reserved;           /**< 0 */
} opd_vm_options;
/** Writes the defaults. Since: 0.1 */
OPD_API void opd_vm_options_init(opd_vm_options *options);

/** Makes a VM of a module of kind "relax.VMExecutable"; kernels are looked up in its imports, then globally.
 * @param module Borrowed; retained. @param options Borrowed; NULL means all defaults. @param out_vm New reference.
 * @return NULL, or OPD_NOT_FOUND naming the functions that nobody offers; OPD_UNSUPPORTED device or program. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_create(opd_module *module, const opd_vm_options *options, opd_vm **out_vm);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_vm_release(opd_vm *vm);

/** How to make one call. */
typedef struct opd_call_options {
  uint32_t struct_size;      /**< set by opd_call_options_init() */
  uint32_t reserved;         /**< 0 */
  const char *const *names;  /**< borrowed; one parameter name per argument, NULL entries for positional ones; NULL: all positional */
  int64_t timeout_ns;        /**< from the call on; 0: none. Checked at calls and backward jumps: a running kernel is not interrupted. */
  opd_cancel *cancel;        /**< borrowed; NULL: none */
  opd_tensor *const *outputs; /**< borrowed, num_outputs tensors; the results, made as always, are copied into them in their
                                   order once the program has run; NULL: none */
  int32_t num_outputs;       /**< 0 */
  uint32_t reserved2;        /**< 0 */
} opd_call_options;
/** Writes the defaults. Since: 0.1 */
OPD_API void opd_call_options_init(opd_call_options *options);

/** Calls function @p name of @p vm and waits for its result.
 *
 * @param vm        Borrowed. May be called from several threads at once.
 * @param name      Borrowed.
 * @param args      Borrowed, @p num_args values; tensors must lie on a device of the VM. An OPD_TENSOR is taken as it is and must
 *                  be 64-byte aligned and contiguous. An OPD_DLTENSOR view need not be, for each call allocates and copies it in;
 *                  what the program writes to it is lost. opd_tensor_from_dlpack() makes a tensor of such memory without a copy.
 * @param options   Borrowed; NULL means all defaults.
 * @param out_value New reference; a tuple arrives as an array, nested as the program returns it.
 * @return NULL, or OPD_NOT_FOUND (the message lists close names), OPD_INVALID_ARGUMENT (count, dtype or shape: the message
 *         names the parameter, expected and given; outputs that do not fit; a negative timeout), OPD_CANCELLED, OPD_DEADLINE_EXCEEDED, OPD_OUT_OF_MEMORY, OPD_OUT_OF_RANGE
 *         (depth), or the error that an operator raised, with the operator's name.
 * Threads: safe.  Cost: one frame; no allocation once the pool is warm.  Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_call(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                                             const opd_call_options *options, opd_value *out_value);
/** Binds a name once: the result keeps the VM and needs no look-up. @param out_function New reference. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_function(opd_vm *vm, const char *name, opd_function **out_function);
/** Lists the program's functions. @param out_names New reference: an array of strings. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_list_functions(opd_vm *vm, opd_array **out_names);
/** Lists a function's parameter names. @param out_names New reference: an array of strings. OPD_NOT_FOUND. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_list_params(opd_vm *vm, const char *name, opd_array **out_names);
/** Gives memory that idle frames keep back to the allocators. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_vm_trim(opd_vm *vm);

/** How to profile. */
typedef struct opd_profile_options {
  uint32_t struct_size;   /**< set by opd_profile_options_init() */
  int32_t warmup;         /**< calls before the measured ones; 1, as TVM */
  int32_t repeat;         /**< measured calls; 1 */
  uint32_t reserved;      /**< 0 */
  uint64_t max_records;   /**< records kept; later ones are counted and dropped; 1 << 20 */
} opd_profile_options;
/** Writes the defaults. Since: 0.1 */
OPD_API void opd_profile_options_init(opd_profile_options *options);

/** Calls a function as opd_vm_call() does and measures every operator call with a tensor argument.
 *
 * @param options    Borrowed; NULL means all defaults. @param call_options As in opd_vm_call().
 * @param out_report New reference: rows Name, Duration (us), Percent, Device, Count, Argument Shapes in program order.
 * @param out_trace  New reference: the same calls on a time line; NULL if not wanted.
 * Threads: safe.  Since: 0.1.  Source: TVM 0.23 vm.profile. */
OPD_API OPD_NODISCARD opd_error *opd_vm_profile(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                                                const opd_call_options *call_options, const opd_profile_options *options,
                                                opd_report **out_report, opd_trace **out_trace);

/* ---- cancelling ------------------------------------------------------------------------------------------------ */

/** @param out_cancel New reference. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_cancel_create(opd_cancel **out_cancel);
/** Ends every call that runs with this token at its next operator, and every later one at once. Threads: safe. Since: 0.1 */
OPD_API void opd_cancel_cancel(opd_cancel *cancel);
/** Makes the token usable again. Threads: safe. Since: 0.1 */
OPD_API void opd_cancel_reset(opd_cancel *cancel);
/** Returns the operator that a call with this token runs at the moment, or NULL; for messages about calls that hang. Borrowed
 *  from the VM of that call. Threads: safe. Since: 0.1 */
OPD_API const char *opd_cancel_current_operator(const opd_cancel *cancel);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_cancel_release(opd_cancel *cancel);

OPD_END_DECLS
#endif
