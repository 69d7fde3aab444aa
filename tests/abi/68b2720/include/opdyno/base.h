/** @file base.h  What every other header needs: export macros, errors, buffers, the log, versions.
 *
 * Ownership, for all of opdyno. A function whose verb is create, open, load, connect, retain, copy, take or to_…, and
 * every parameter named out_…, gives a new reference that the caller ends with the matching release function; an
 * opd_value by opd_value_release(). Everything else is borrowed and lives as long as the handle it was asked from.
 * So are pointers to plain data, also where an out_… parameter gives them: opd_string_get() points into its argument.
 * All handles are counted atomically and keep their parents alive, so they may be released in any order, on any
 * thread. NULL may be released.
 *
 * Errors, for all of opdyno. A function that can fail returns NULL for success or a new opd_error that the caller
 * releases; on failure no output was written, but for the result of a call, which is OPD_NONE then. Nothing aborts,
 * throws across this boundary, or prints.
 */
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

/** Version of these headers; opd_version() tells the library's. */
#define OPD_VERSION_MAJOR 0
#define OPD_VERSION_MINOR 1
#define OPD_VERSION_PATCH 0

OPD_BEGIN_DECLS

/* ---- errors ------------------------------------------------------------------------------------------------- */

/** An error. Immutable; safe to read from any thread. It is also an object that an opd_value can hold. */
typedef struct opd_error opd_error;

/** What went wrong, for programs. Append-only: treat an unknown code as OPD_INTERNAL. */
typedef enum opd_code {
  OPD_OK = 0,                    /**< No error; only ever returned by opd_error_code(NULL). */
  OPD_INVALID_ARGUMENT = 1,      /**< An argument's count, type, dtype, shape or value does not fit. */
  OPD_NOT_FOUND = 2,             /**< No function, file, symbol or name of that kind. */
  OPD_ALREADY_EXISTS = 3,        /**< The name is taken and no permission to override was given. */
  OPD_OUT_OF_RANGE = 4,          /**< An index or a number lies outside what is allowed. */
  OPD_BAD_FORMAT = 5,            /**< Bytes that are not what they claim to be; the message gives the offset. */
  OPD_UNSUPPORTED = 6,           /**< Understood, but not offered by this build, machine or version. */
  OPD_OUT_OF_MEMORY = 7,         /**< Memory, or a limit set on it, does not suffice. */
  OPD_CANCELLED = 8,             /**< A cancel token ended the call. */
  OPD_DEADLINE_EXCEEDED = 9,     /**< The call's deadline passed. */
  OPD_FAILED_PRECONDITION = 10,  /**< The handle is not in a state that allows this. */
  OPD_IO = 11,                   /**< Reading or writing a file failed; the message has the system's reason. */
  OPD_CALL_FAILED = 12,          /**< A called function raised an error; kind and message are its own. */
  OPD_INTERNAL = 13,             /**< A defect in opdyno. */
  OPD_CODE_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_code;

/** Returns the code of @p error, OPD_OK for NULL. Threads: safe. Since: 0.1 */
OPD_API opd_code opd_error_code(const opd_error *error);

/** Returns the name of @p code, as "OPD_NOT_FOUND"; static storage. Threads: safe. Since: 0.1 */
OPD_API const char *opd_code_name(opd_code code);

/** Returns the kind of @p error as bindings name exceptions: "TypeError", "ValueError", "IndexError" …; borrowed.
 *  The vocabulary is that of tvm-ffi errors: any string may come out of a called function. Threads: safe. Since: 0.1 */
OPD_API const char *opd_error_kind(const opd_error *error);

/** Returns the sentence that tells what happened: UTF-8, borrowed. Threads: safe. Since: 0.1 */
OPD_API const char *opd_error_message(const opd_error *error);

/** Returns the error that led to @p error, or NULL; borrowed. Threads: safe. Since: 0.1 */
OPD_API const opd_error *opd_error_cause(const opd_error *error);

/** Returns the native frames at the place where @p error was made, one a line, most recent first; borrowed.
 *  Empty unless OPDYNO_BACKTRACE is set, as to 1, or the raising function attached one. Cost: symbolised at the first
 * request. Threads: safe. Since: 0.1 */
OPD_API const char *opd_error_backtrace(const opd_error *error);

/** Makes an error to be returned from a callback.
 *
 * @param code    What went wrong; OPD_OK is taken as OPD_INTERNAL.
 * @param kind    Borrowed; NULL means the usual kind of @p code.
 * @param message Borrowed UTF-8; NULL means "".
 * @return New reference; never NULL: without memory, a preallocated OPD_OUT_OF_MEMORY error.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_error_create(opd_code code, const char *kind, const char *message);

/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_error_release(opd_error *error);

/* ---- buffers ------------------------------------------------------------------------------------------------ */

/** Bytes made by the library: text, JSON, a saved file. Immutable. */
typedef struct opd_buffer opd_buffer;

/** Returns the first byte; a 0 byte that does not count follows the last, so text is a C string. Threads: safe. Since:
 * 0.1 */
OPD_API const char *opd_buffer_data(const opd_buffer *buffer);
/** Returns the number of bytes. Threads: safe. Since: 0.1 */
OPD_API size_t opd_buffer_size(const opd_buffer *buffer);
/** Ends a reference. Threads: safe. Since: 0.1 */
OPD_API void opd_buffer_release(opd_buffer *buffer);

/* ---- log ---------------------------------------------------------------------------------------------------- */

typedef enum opd_log_level {
  OPD_LOG_DEBUG = 0,
  OPD_LOG_INFO = 1,
  OPD_LOG_WARNING = 2,
  OPD_LOG_ERROR = 3,
  OPD_LOG_LEVEL_MAX_ENUM = 0x7FFFFFFF
} opd_log_level;

/** Receives one message: UTF-8 without a newline, borrowed for the call. May arrive on any thread. */
typedef void (*opd_log_fn)(void *user_data, opd_log_level level, const char *message);
/** Ends the use of a callback's user_data; called once, on any thread. */
typedef void (*opd_deleter)(void *user_data);

/** Sets who receives warnings. Without one they are dropped: the library itself never prints.
 *
 * @param callback  NULL ends logging.
 * @param user_data Handed to @p callback; taken over.
 * @param deleter   Called with @p user_data once @p callback is replaced and no call of it runs; may be NULL.
 * Threads: safe. Since: 0.1 */
OPD_API void opd_log_set_callback(opd_log_fn callback, void *user_data, opd_deleter deleter);

/* ---- about the library -------------------------------------------------------------------------------------- */

/** Returns the library's version as "0.1.0"; static storage. Threads: safe. Since: 0.1 */
OPD_API const char *opd_version(void);

/** Gives what the library was built from and with, as one JSON object: version, compiler, build_type, features
 *  (name to true or false), tvm_artefacts (TVM releases whose artefacts are loaded), tvm_tested (those of them that the
 *  tests run).
 * @param out_json New reference.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_build_info(opd_buffer **out_json);

OPD_END_DECLS
#endif
