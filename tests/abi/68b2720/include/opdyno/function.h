/** @file function.h  Packed functions: any number of tagged values in, one out; their global registry; C symbols by
 * libffi. */
#ifndef OPDYNO_FUNCTION_H_
#define OPDYNO_FUNCTION_H_

#include <opdyno/value.h>

OPD_BEGIN_DECLS

/** A packed function. Immutable; callable from many threads at once if what it wraps is. */
typedef struct opd_function opd_function;

/** The C side of a packed function.
 *
 * @param user_data  As given to opd_function_create().
 * @param args       Borrowed, @p num_args values.
 * @param out_result Holds OPD_NONE; write an owned value, or leave it. Leave it when returning an error.
 * @return NULL, or an error that the caller takes over. */
typedef opd_error *(*opd_packed_fn)(void *user_data, const opd_value *args, int32_t num_args, opd_value *out_result);

/** Makes a packed function of a C callback.
 *
 * @param callback  Called once per call, on the calling thread.
 * @param user_data Handed to @p callback; taken over on success.
 * @param deleter   Called with @p user_data after the last reference ended; may be NULL.
 * @param out_function New reference.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_function_create(opd_packed_fn callback, void *user_data, opd_deleter deleter,
                                                     opd_function **out_function);

/** Calls a function and waits for its result.
 *
 * @param function   Borrowed.
 * @param args       Borrowed, @p num_args values; NULL if none.
 * @param out_result New reference; NULL if the result is of no interest. What it held is not kept: it is OPD_NONE while
 * the function runs, and after an error.
 * @return NULL, or the error that the function raised: OPD_CALL_FAILED unless it carries a code of its own.
 * Threads: as the function.  Cost: an indirect call, no allocation.  Since: 0.1.  Source: tvm-ffi safe-call. */
OPD_API OPD_NODISCARD opd_error *opd_function_call(opd_function *function, const opd_value *args, int32_t num_args,
                                                   opd_value *out_result);

/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_function_release(opd_function *function);

/* ---- global registry ------------------------------------------------------------------------------------------ */

/** Registers a function for the whole process.
 * @param name Borrowed UTF-8. @param function Borrowed; retained. @param override_existing 0: a taken name is
 * OPD_ALREADY_EXISTS. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_function_register(const char *name, opd_function *function, int override_existing);
/** Finds a registered function. @param out_function New reference. OPD_NOT_FOUND lists close names. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_function_get_global(const char *name, opd_function **out_function);
/** Removes a registered function; programs that hold it keep it. OPD_NOT_FOUND. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_function_remove_global(const char *name);
/** Lists the registered names, sorted. @param out_names New reference: an array of strings, a snapshot. Threads: safe.
 * Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_function_list_global(opd_array **out_names);

/* ---- C functions with a written signature (libffi) ------------------------------------------------------------- */

/** Makes a packed function of a C function pointer.
 *
 * A signature is `result(argument, …)`. Types: void, bool, i8 i16 i32 i64, u8 u16 u32 u64, f32 f64, ptr, str (a
 * NUL-terminated const char *, borrowed for the call), tensor (DLTensor *, borrowed for the call), and structs by value
 * as {f64, f64}, whose packed form is an array of their fields. `i32(str, ...)` has further arguments after the fixed
 * ones, passed by their value's kind (int as i64, float as f64).
 *
 * A wrong count, a wrong kind, or an integer that does not fit its width is an error before the call; nothing is
 * truncated.
 *
 * @param pointer   The C function; must outlive @p out_function unless @p keep_alive holds it.
 * @param signature Borrowed, as "f64(f64, ptr, i32)". OPD_INVALID_ARGUMENT gives the place of a mistake.
 * @param name      Borrowed; used in messages. NULL means "function".
 * @param keep_alive Borrowed object handle (a module, say) that the result retains; may be NULL.
 * @param out_function New reference.
 * Threads: safe.  Cost: one libffi call plan, kept with the function.  Since: 0.1.  Source: libffi ffi_prep_cif. */
OPD_API OPD_NODISCARD opd_error *opd_function_create_native(void *pointer, const char *signature, const char *name,
                                                            void *keep_alive, opd_function **out_function);

/** A C function pointer that calls a packed function. Thread-safe if the function is. */
typedef struct opd_closure opd_closure;

/** Makes a C function pointer of a packed function, for libraries that take callbacks (a comparator for qsort, say).
 *
 * An error raised by @p function, or a result that does not fit the signature, cannot travel through C: the pointer
 * then returns 0, and the error waits in opd_closure_take_error().
 * @param function  Borrowed; retained. @param signature Borrowed; as above, without "...".
 * @param out_closure New reference. OPD_UNSUPPORTED where the system forbids executable memory.
 * Threads: safe. Since: 0.1. Source: libffi ffi_prep_closure_loc. */
OPD_API OPD_NODISCARD opd_error *opd_closure_create(opd_function *function, const char *signature,
                                                    opd_closure **out_closure);
/** Returns the C function pointer; valid while @p closure lives. Threads: safe. Since: 0.1 */
OPD_API void *opd_closure_pointer(const opd_closure *closure);
/** Returns and clears the first error since the last request, or NULL. New reference. Threads: safe. Since: 0.1 */
OPD_API opd_error *opd_closure_take_error(opd_closure *closure);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_closure_release(opd_closure *closure);

OPD_END_DECLS
#endif
