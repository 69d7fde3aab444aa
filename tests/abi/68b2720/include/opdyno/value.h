/** @file value.h  The 16-byte tagged value, and the objects it can hold: strings, shapes, arrays, maps.
 *
 * An opd_value has the layout and the type numbers of TVMFFIAny, so compiled artefacts take and give them as they are.
 * As an argument it is a borrowed view; in an out_ parameter it is owned and ended by one opd_value_release().
 */
#ifndef OPDYNO_VALUE_H_
#define OPDYNO_VALUE_H_

#include <opdyno/base.h>
#include <opdyno/dlpack.h>

OPD_BEGIN_DECLS

/** Kinds of value. Numbers are tvm-ffi's. Kinds from 128 are made at run time: ask opd_type_key(). */
typedef enum opd_type {
  OPD_NONE = 0,
  OPD_INT = 1,           /**< u.int64 */
  OPD_BOOL = 2,          /**< u.int64, 0 or 1 */
  OPD_FLOAT = 3,         /**< u.float64 */
  OPD_POINTER = 4,       /**< u.pointer, opaque */
  OPD_DTYPE = 5,         /**< u.dtype */
  OPD_DEVICE = 6,        /**< u.device */
  OPD_DLTENSOR = 7,      /**< u.dltensor; only ever a borrowed view */
  OPD_CSTRING = 8,       /**< u.cstring, NUL-terminated; only ever a borrowed view */
  OPD_BYTES_VIEW = 9,    /**< u.pointer to {const char *data; size_t size}; only ever a borrowed view */
  OPD_SMALL_STRING = 11, /**< up to 7 bytes in u.bytes, their number in length */
  OPD_SMALL_BYTES = 12,
  OPD_OBJECT = 64, /**< From here on u.object is a counted object. */
  OPD_STRING = 65,
  OPD_BYTES = 66,
  OPD_ERROR = 67,
  OPD_FUNCTION = 68,
  OPD_SHAPE = 69,
  OPD_TENSOR = 70,
  OPD_ARRAY = 71,
  OPD_MAP = 72,
  OPD_MODULE = 73,
  OPD_TYPE_MAX_ENUM = 0x7FFFFFFF /**< Not a value: makes the type 32 bits wide. */
} opd_type;

/** A counted object: the common face of strings, shapes, tensors, functions, modules, errors … */
typedef struct opd_object opd_object;

/** A tagged value. Frozen: 16 bytes, these offsets. Unused bytes are 0. */
typedef struct opd_value {
  int32_t type;    /**< an opd_type, or a kind made at run time */
  uint32_t length; /**< bytes used of u.bytes for the two small kinds, else 0 */
  union {
    int64_t int64;
    double float64;
    void *pointer;
    const char *cstring;
    DLTensor *dltensor;
    DLDataType dtype;
    DLDevice device;
    opd_object *object;
    char bytes[8];
  } u;
} opd_value;

/* Makers of plain values and of borrowed views; they own nothing. Threads: safe. Cost: a store. Since: 0.1 */
static inline opd_value opd_none(void) {
  opd_value v = {OPD_NONE, 0, {0}};
  return v;
}
static inline opd_value opd_int(int64_t x) {
  opd_value v = {OPD_INT, 0, {0}};
  v.u.int64 = x;
  return v;
}
static inline opd_value opd_bool(int x) {
  opd_value v = {OPD_BOOL, 0, {0}};
  v.u.int64 = x != 0;
  return v;
}
static inline opd_value opd_float(double x) {
  opd_value v = {OPD_FLOAT, 0, {0}};
  v.u.float64 = x;
  return v;
}
static inline opd_value opd_pointer(void *x) {
  opd_value v = {OPD_POINTER, 0, {0}};
  v.u.pointer = x;
  return v;
}
static inline opd_value opd_cstring(const char *x) {
  opd_value v = {OPD_CSTRING, 0, {0}};
  v.u.cstring = x;
  return v;
}
static inline opd_value opd_dltensor(DLTensor *x) {
  opd_value v = {OPD_DLTENSOR, 0, {0}};
  v.u.dltensor = x;
  return v;
}
static inline opd_value opd_dtype_value(DLDataType x) {
  opd_value v = {OPD_DTYPE, 0, {0}};
  v.u.dtype = x;
  return v;
}
static inline opd_value opd_device_value(DLDevice x) {
  opd_value v = {OPD_DEVICE, 0, {0}};
  v.u.device = x;
  return v;
}

/** Makes the view of a handle that is an object: a tensor, function, module, error, or one made here.
 *  Borrowed: the handle must outlive the view. NULL gives OPD_NONE. Threads: safe. Since: 0.1 */
OPD_API opd_value opd_object_value(const void *object_handle);

/** Makes @p value's own reference of what it views: counts objects, copies C strings and byte views into strings.
 * @param value     Borrowed. OPD_DLTENSOR cannot be owned: OPD_INVALID_ARGUMENT.
 * @param out_value New reference.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_value_retain(const opd_value *value, opd_value *out_value);

/** Ends an owned value and sets it to OPD_NONE. Plain kinds cost nothing. Threads: safe. Since: 0.1 */
OPD_API void opd_value_release(opd_value *value);

/** Returns the name of a kind: "int", "ffi.Tensor", "opdyno.Storage" …, or "unknown"; static storage. Threads: safe.
 * Since: 0.1 */
OPD_API const char *opd_type_key(int32_t type);

/** Adds a reference to any object handle and returns it. Threads: safe. Since: 0.1 */
OPD_API void *opd_object_retain(const void *object_handle);
/** Ends a reference of any object handle. Threads: safe. Since: 0.1 */
OPD_API void opd_object_release(void *object_handle);
/** Returns the kind of an object. Threads: safe. Since: 0.1 */
OPD_API int32_t opd_object_type(const void *object_handle);

/* ---- strings and bytes --------------------------------------------------------------------------------------- */

/** Makes a string; up to 7 bytes live in the value itself.
 * @param data Borrowed, @p size bytes, may hold NUL bytes. @param out_value New reference.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_string_create(const char *data, size_t size, opd_value *out_value);
/** Makes a byte string. As opd_string_create(). Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_bytes_create(const void *data, size_t size, opd_value *out_value);
/** Gives the bytes of a string or byte-string value of any kind.
 * @param value    Borrowed; small kinds point into it, so keep it in place. Other kinds: OPD_INVALID_ARGUMENT.
 * @param out_data Borrowed from @p value, although it is an output: a pointer to plain data. @param out_size Bytes.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_string_get(const opd_value *value, const char **out_data, size_t *out_size);

/* ---- shapes --------------------------------------------------------------------------------------------------- */

/** An immutable sequence of int64. Immutable. */
typedef struct opd_shape opd_shape;
/** @param dims Borrowed, @p ndim elements. @param out_shape New reference. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_shape_create(const int64_t *dims, size_t ndim, opd_shape **out_shape);
/** Returns the elements; borrowed. Threads: safe. Since: 0.1 */
OPD_API const int64_t *opd_shape_dims(const opd_shape *shape);
/** Returns the number of elements. Threads: safe. Since: 0.1 */
OPD_API size_t opd_shape_ndim(const opd_shape *shape);

/* ---- arrays and maps ------------------------------------------------------------------------------------------ */

/** An immutable sequence of values; tuples of a VM program are arrays. Immutable. */
typedef struct opd_array opd_array;
/** @param items Borrowed; each is retained. @param out_array New reference. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_array_create(const opd_value *items, size_t count, opd_array **out_array);
/** Returns the number of items. Threads: safe. Since: 0.1 */
OPD_API size_t opd_array_count(const opd_array *array);
/** Gives an item. @param out_item New reference. OPD_OUT_OF_RANGE. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_array_get(const opd_array *array, size_t index, opd_value *out_item);

/** An immutable map in insertion order. Keys compare by content for numbers and strings, by identity for objects.
 * Immutable. */
typedef struct opd_map opd_map;
/** @param pairs Borrowed: key, value, key, value … (2 × @p count); a repeated key keeps the last value and the first
 * place.
 *  @param out_map New reference. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_map_create(const opd_value *pairs, size_t count, opd_map **out_map);
/** Returns the number of entries. Threads: safe. Since: 0.1 */
OPD_API size_t opd_map_count(const opd_map *map);
/** Finds a key. @param out_value New reference. OPD_NOT_FOUND. Threads: safe. Cost: one hash. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_map_get(const opd_map *map, const opd_value *key, opd_value *out_value);
/** Gives the entry at a place in insertion order; both outputs are new references. OPD_OUT_OF_RANGE. Threads: safe.
 * Cost: a step for each entry before it, if the map has more than four. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_map_entry(const opd_map *map, size_t index, opd_value *out_key,
                                               opd_value *out_value);

/* ---- dtypes --------------------------------------------------------------------------------------------------- */

/** Reads a dtype: "float32", "int8x4", "bool", "bfloat16", "float8_e4m3fn", "handle" … as TVM writes them, or short as
 *  "f32", "i8", "u16", "bf16".
 * @param text Borrowed. @param out_dtype Written. OPD_INVALID_ARGUMENT names the text.
 * Threads: safe. Since: 0.1. Source: DLPack 1.3 DLDataTypeCode. */
OPD_API OPD_NODISCARD opd_error *opd_dtype_from_string(const char *text, DLDataType *out_dtype);
/** Writes a dtype as text. @param out_text New reference. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_dtype_to_string(DLDataType dtype, opd_buffer **out_text);

/** Writes any value for people: numbers, "strings", shapes, dtypes, "Tensor(float32[2, 3], cpu:0)", nested containers.
 * @param value Borrowed. @param out_text New reference. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_value_to_string(const opd_value *value, opd_buffer **out_text);

OPD_END_DECLS
#endif
