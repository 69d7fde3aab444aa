/** @file function.h  Packed functions, which take any number of tagged values and return one; their global registry; C
 * functions called through libffi. */
#ifndef OPDYNO_FUNCTION_H_
#define OPDYNO_FUNCTION_H_

#include <opdyno/value.h>

OPD_BEGIN_DECLS

/** A packed function. Immutable. It may be called from many threads at once if its code allows that. */
typedef struct opd_function opd_function;
OPD_HANDLE(opd_function);

/** The C code behind a packed function. It must return: pthread_exit(), pthread_cancel() and longjmp() out of it are
 * undefined. It must not release the last reference to an object that the running call borrows: the VM, the function,
 * its arguments.
 * @param user_data  As given to opd_function_create().
 * @param args       Borrowed, @p num_args values.
 * @param out_result Holds OPD_NONE. Write an owned value or leave it; leave it when returning an error.
 * @return NULL, or an error, which the caller then owns. */
typedef opd_error *(*opd_packed_fn)(void *user_data, const opd_value *args, int32_t num_args, opd_value *out_result);

/** Makes a packed function from a C callback.
 * @param callback     Called once for each call, on the calling thread.
 * @param user_data    Passed to @p callback; taken over on success.
 * @param deleter      Called with @p user_data after the last reference ended; may be NULL.
 * @param out_function New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT, OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_function_create(opd_packed_fn callback, void *user_data, opd_deleter deleter,
                                                     opd_function **out_function);

/** Calls a function and waits for its result.
 * @param function   Borrowed.
 * @param args       Borrowed, @p num_args values; NULL if there are none.
 * @param out_result New reference; NULL if the result is not wanted. The former content is lost: the value is OPD_NONE
 *                   while the function runs and after an error.
 * @return NULL, or the error that the function raised: OPD_CALL_FAILED, unless it has a code of its own.
 * Threads: as the function. Cost: an indirect call, no allocation. Blocks. Since: 0.1. Source: tvm-ffi safe-call. */
OPD_API OPD_NODISCARD opd_error *opd_function_call(opd_function *function, const opd_value *args, int32_t num_args,
                                                   opd_value *out_result);

/* ---- global registry ------------------------------------------------------------------------------------------ */

/** Registers a global function of the process.
 * @param name              Borrowed UTF-8.
 * @param function          Borrowed; retained.
 * @param override_existing 1: replaces a function of that name; 0: that is an error.
 * @return NULL, or OPD_ALREADY_EXISTS. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_function_register(const char *name, opd_function *function,
                                                       int32_t override_existing);

/** Finds a registered function.
 * @param name         Borrowed.
 * @param out_function New reference.
 * @return NULL, or OPD_NOT_FOUND with close names. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_function_get_global(const char *name, opd_function **out_function);

/** Removes a registered function. Programs that hold it keep it.
 * @param name Borrowed.
 * @return NULL, or OPD_NOT_FOUND. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_function_remove_global(const char *name);

/** Lists the registered names, sorted.
 * @param out_names New reference: an array of strings, a snapshot.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_function_list_global(opd_array **out_names);

/* ---- C functions with a written signature (libffi) ------------------------------------------------------------- */

/** Makes a packed function from a C function pointer.
 *
 * A signature is `result(argument, …)`. The types are void, bool, i8 i16 i32 i64, u8 u16 u32 u64, f32 f64, ptr, str (a
 * NUL-terminated const char *, borrowed for the call), tensor (DLTensor *, borrowed for the call), and structs by value
 * as {f64, f64}, which are arrays of their fields as packed values. `i32(str, ...)` takes further arguments after the
 * fixed ones; the kind of a value decides how it is passed (int as i64, float as f64).
 *
 * A wrong count, a wrong kind, or an integer that does not fit its width is an error before the call. Nothing is
 * truncated.
 *
 * @param pointer      The C function. It must outlive @p out_function, unless @p keep_alive holds it.
 * @param signature    Borrowed, as "f64(f64, ptr, i32)".
 * @param name         Borrowed; for messages. NULL means "function".
 * @param keep_alive   Borrowed handle, for example of a module, that the result retains; may be NULL.
 * @param out_function New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT with the place of a mistake in @p signature.
 * Threads: safe. Cost: one libffi call plan, kept with the function. Since: 0.1. Source: libffi ffi_prep_cif. */
OPD_API OPD_NODISCARD opd_error *opd_function_create_native(void *pointer, const char *signature, const char *name,
                                                            void *keep_alive, opd_function **out_function);

/** A C function pointer that calls a packed function. Thread-safe if the function is. */
typedef struct opd_closure opd_closure;
OPD_HANDLE(opd_closure);

/** Makes a C function pointer that calls a packed function, for libraries that take callbacks, such as qsort.
 *
 * A C callback cannot return an error. If @p function raises one, or its result does not fit the signature, the C
 * function returns 0, and opd_closure_take_error() gives the error.
 * @param function    Borrowed; retained.
 * @param signature   Borrowed; as for opd_function_create_native(), without "...".
 * @param out_closure New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for @p signature, OPD_UNSUPPORTED if the system forbids executable memory.
 * Threads: safe. Since: 0.1. Source: libffi ffi_prep_closure_loc. */
OPD_API OPD_NODISCARD opd_error *opd_closure_create(opd_function *function, const char *signature,
                                                    opd_closure **out_closure);

/** Returns the C function pointer; valid while @p closure lives. Threads: safe. Since: 0.1 */
OPD_API void *opd_closure_pointer(const opd_closure *closure);

/** Returns and clears the first error since the previous call of this function.
 * @return New reference, usually OPD_CALL_FAILED or OPD_INVALID_ARGUMENT; NULL if there was none.
 * Threads: safe. Since: 0.1 */
OPD_API opd_error *opd_closure_take_error(opd_closure *closure);

OPD_END_DECLS
#endif
