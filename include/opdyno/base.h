/** @file base.h  The basis of all other headers: export macros, objects, errors, buffers, the log, versions.
 *
 * Ownership, for all of opdyno. A function gives the caller a new reference if its verb is create, open, load, connect,
 * retain, copy, take or to_…; every parameter named out_… gives one, too. The caller ends the reference of a handle
 * with opd_<noun>_release(), and an opd_value with opd_value_release(). Everything else is borrowed: it is valid as
 * long as the handle that returned it. Pointers to plain data are always borrowed, even those in an out_… parameter:
 * opd_string_get() points into its argument. All handles are counted atomically and keep their parents alive, so they
 * may be released in any order and on any thread. Releasing NULL does nothing.
 *
 * Errors, for all of opdyno. A function that can fail returns NULL for success, or a new opd_error that the caller
 * releases. If it fails, it writes no output, with one exception: the result of a call becomes OPD_NONE. NULL for an
 * argument that must not be NULL is OPD_INVALID_ARGUMENT, and so is an impossible size. A failed allocation is
 * OPD_OUT_OF_MEMORY. Any function may return these two codes, so a comment names them only if it says more about them.
 * The library never aborts, never throws across this boundary, and never prints.
 *
 * Structs that begin with struct_size may grow in later versions. Options have an inline …_init() function. It writes
 * the size that the struct has in the caller's header. Structs of results and tables of functions take `struct_size =
 * sizeof(the struct)` from the caller. In a result the library changes struct_size to the number of bytes that it
 * filled, and sets the rest to 0. If the caller's options have fields that the library does not know, these must be 0;
 * otherwise the call returns OPD_UNSUPPORTED. An impossible struct_size is OPD_INVALID_ARGUMENT.
 *
 * Numbers, for all of opdyno. int32_t: a truth value, which is 0 or 1; the number of items of an array; an index; a
 * requested number of calls, repeats or threads. size_t: the bytes of a block of memory. 64 bits: limits, steps,
 * statistics, dimensions, tokens, and times, whose unit is in their name. A value of an enum has the enum's type.
 *
 * Comments, for all of opdyno; bindings rely on these words. If an argument may be NULL, its comment contains "NULL".
 * "Blocks." means that the function may run programs or compilers, access files or wait. During such a call, bindings
 * let other threads of their language run. A comment that begins with "1: …" describes a number that is 0 or 1; one
 * that begins with "an opd_x" describes a value of that enum. "For each of @p x" means that an array has as many items
 * as x. An option's comment ends with "Default: " and the default. If the default needs a meaning, it follows:
 * "Default: 0: no limit". */
#ifndef OPDYNO_BASE_H_
#define OPDYNO_BASE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define OPD_EXTERN_C extern "C"
#define OPD_BEGIN_DECLS extern "C" {
#define OPD_END_DECLS }
#else
#define OPD_EXTERN_C
#define OPD_BEGIN_DECLS
#define OPD_END_DECLS
#endif

#if defined(__GNUC__)
#define OPD_API __attribute__((visibility("default")))
#define OPD_NODISCARD __attribute__((warn_unused_result))
#else
#define OPD_API
#define OPD_NODISCARD
#endif

/* An enum is 32 bits wide. In C++ its type is fixed, so that a number of a newer version may be passed and read. */
#if defined(__cplusplus) && __cplusplus >= 201103L && !defined(SWIG)
#define OPD_ENUM_TYPE : int32_t
#else
#define OPD_ENUM_TYPE
#endif

/** Version of these headers; opd_version() returns the library's. */
#define OPD_VERSION_MAJOR 0
#define OPD_VERSION_MINOR 2
#define OPD_VERSION_PATCH 0

OPD_BEGIN_DECLS

/* ---- objects ------------------------------------------------------------------------------------------------- */

/** A counted object. Every handle of this API points to one. */
typedef struct opd_object opd_object;

/** Adds a reference to any handle.
 * @param object_handle Borrowed; NULL is allowed.
 * @return New reference: the same handle.
 * Threads: safe. Cost: one atomic addition. Since: 0.1 */
OPD_API void *opd_object_retain(const void *object_handle);

/** Ends a reference to any handle. The object is destroyed with its last reference.
 * @param object_handle The reference; NULL does nothing.
 * Threads: safe. Since: 0.1 */
OPD_API void opd_object_release(void *object_handle);

/** Returns the kind of the object behind @p object_handle, any handle: an opd_type or a kind made at run time; OPD_NONE
 * for NULL. Threads: safe. Since: 0.1 */
OPD_API int32_t opd_object_type(const void *object_handle);

/** Defines opd_<noun>_retain() and opd_<noun>_release() for one type of handle: opd_object_retain() and
 * opd_object_release() with the handle's type. Every handle has both. Threads: safe. Since: 0.2 */
#define OPD_HANDLE(TYPE)                                                                              \
  static inline TYPE *TYPE##_retain(const TYPE *handle) { return (TYPE *)opd_object_retain(handle); } \
  static inline void TYPE##_release(TYPE *handle) { opd_object_release(handle); }                     \
  struct TYPE

/* ---- errors ------------------------------------------------------------------------------------------------- */

/** An error. Immutable; safe to read from any thread. An opd_value can hold it. */
typedef struct opd_error opd_error;
OPD_HANDLE(opd_error);

/** The kind of an error, for programs. Append-only: treat an unknown code as OPD_INTERNAL. */
typedef enum opd_code OPD_ENUM_TYPE {
  OPD_OK = 0,                    /**< No error; only ever returned by opd_error_code(NULL). */
  OPD_INVALID_ARGUMENT = 1,      /**< An argument's count, type, dtype, shape or value does not fit. */
  OPD_NOT_FOUND = 2,             /**< No function, file, symbol or name of that kind. */
  OPD_ALREADY_EXISTS = 3,        /**< The name is taken and no permission to override was given. */
  OPD_OUT_OF_RANGE = 4,          /**< An index or a number lies outside the allowed range. */
  OPD_BAD_FORMAT = 5,            /**< The bytes are not what they claim to be; the message gives the offset. */
  OPD_UNSUPPORTED = 6,           /**< Understood, but not offered by this build, machine or version. */
  OPD_OUT_OF_MEMORY = 7,         /**< Memory, or a limit set on it, does not suffice. */
  OPD_CANCELLED = 8,             /**< A cancel token ended the call. */
  OPD_DEADLINE_EXCEEDED = 9,     /**< The call's deadline passed. */
  OPD_FAILED_PRECONDITION = 10,  /**< The handle is not in a state that allows this. */
  OPD_IO = 11,                   /**< Reading or writing a file failed; the message has the system's reason. */
  OPD_CALL_FAILED = 12,          /**< A called function raised an error, with its own kind and message. */
  OPD_INTERNAL = 13,             /**< A defect in opdyno. */
  OPD_CODE_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_code;

/** Returns the code of @p error; OPD_OK for NULL. Threads: safe. Since: 0.1 */
OPD_API opd_code opd_error_code(const opd_error *error);

/** Returns the name of @p code, such as "OPD_NOT_FOUND"; static storage. Threads: safe. Since: 0.1 */
OPD_API const char *opd_code_name(opd_code code);

/** Returns the kind of @p error: "TypeError", "ValueError", "IndexError" … Bindings choose the class of their exception
 * by it. opdyno's own kinds are those of tvm-ffi; a called function may raise any other kind.
 * @return Borrowed; "" for NULL. Threads: safe. Since: 0.1 */
OPD_API const char *opd_error_kind(const opd_error *error);

/** Returns the message: one sentence that says what happened.
 * @return Borrowed UTF-8; "" for NULL. Threads: safe. Since: 0.1 */
OPD_API const char *opd_error_message(const opd_error *error);

/** Returns the error that led to @p error.
 * @return Borrowed; NULL if there is none. Threads: safe. Since: 0.1 */
OPD_API const opd_error *opd_error_cause(const opd_error *error);

/** Returns the native frames at the place where @p error was made: one a line, most recent first.
 * @return Borrowed. Empty unless OPDYNO_BACKTRACE is set (for example to 1) or the raising function attached a
 *         backtrace.
 * Threads: safe. Cost: symbols are looked up at the first request. Since: 0.1 */
OPD_API const char *opd_error_backtrace(const opd_error *error);

/** Makes an error, to be returned from a callback.
 * @param code    The error's code; OPD_OK is taken as OPD_INTERNAL.
 * @param kind    Borrowed; NULL means the usual kind of @p code.
 * @param message Borrowed UTF-8; NULL means "".
 * @return New reference, never NULL: without memory, a preallocated OPD_OUT_OF_MEMORY error.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_error_create(opd_code code, const char *kind, const char *message);

/* ---- buffers ------------------------------------------------------------------------------------------------ */

/** Bytes made by the library: text, JSON, a saved file. Immutable. */
typedef struct opd_buffer opd_buffer;
OPD_HANDLE(opd_buffer);

/** Returns the first byte. A 0 byte follows the last one and does not count, so text is a C string.
 * @return Borrowed; "" for NULL. Threads: safe. Since: 0.1 */
OPD_API const char *opd_buffer_data(const opd_buffer *buffer);

/** Returns the number of bytes. Threads: safe. Since: 0.1 */
OPD_API size_t opd_buffer_size(const opd_buffer *buffer);

/* ---- files -------------------------------------------------------------------------------------------------- */

/** Writes a file as the library writes its own. A regular file is replaced as a whole: its readers see the old content
 * or the new one, and the old one stays if writing fails. A symbolic link stays. A device, a FIFO, and a descriptor of
 * the process (/dev/stdout, /dev/fd/3) are written in place.
 * @param path Borrowed.
 * @param data Borrowed for the call, @p size bytes; NULL if there are none.
 * @return NULL, or OPD_NOT_FOUND (the directory), OPD_IO. Threads: safe. Blocks. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_file_write(const char *path, const void *data, size_t size);

/* ---- log ---------------------------------------------------------------------------------------------------- */

/** The severity of a log message. */
typedef enum opd_log_level OPD_ENUM_TYPE {
  OPD_LOG_DEBUG = 0,
  OPD_LOG_INFO = 1,
  OPD_LOG_WARNING = 2,
  OPD_LOG_ERROR = 3,
  OPD_LOG_LEVEL_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_log_level;

/** Receives one message: UTF-8 without a newline, borrowed for the call. Called on any thread, by several threads at
 * the same time. */
typedef void (*opd_log_fn)(void *user_data, opd_log_level level, const char *message);
/** Releases a callback's user_data. Called once, on any thread. */
typedef void (*opd_deleter)(void *user_data);

/** Sets the function that receives warnings. Without such a function they are dropped: the library itself never prints.
 * @param callback  NULL ends logging.
 * @param user_data Passed to @p callback; taken over.
 * @param deleter   Called with @p user_data once @p callback was replaced and no call of it runs; may be NULL.
 * Threads: safe. Since: 0.1 */
OPD_API void opd_log_set_callback(opd_log_fn callback, void *user_data, opd_deleter deleter);

/* ---- about the library -------------------------------------------------------------------------------------- */

/** Returns the library's version, such as "0.2.0"; static storage. Threads: safe. Since: 0.1 */
OPD_API const char *opd_version(void);

/** Describes the build of the library as one JSON object: version, compiler, build_type, architecture, features (name
 * to true or false), tvm_artifacts (TVM releases whose artifacts it loads), tvm_tested (TVM releases that its tests
 * run).
 * @param out_json New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_build_info(opd_buffer **out_json);

OPD_END_DECLS
#endif
