/** @file value.h  The 16-byte tagged value, and the objects it can hold: strings, shapes, arrays, maps.
 *
 * An opd_value has the layout and the type numbers of TVMFFIAny, so compiled artifacts need no conversion. An argument
 * is a borrowed view. The value in an out_ parameter is owned: release it with one opd_value_release().
 */
#ifndef OPDYNO_VALUE_H_
#define OPDYNO_VALUE_H_

#include <opdyno/base.h>
#include <opdyno/dlpack.h>

OPD_BEGIN_DECLS

/** Kinds of value. The numbers are tvm-ffi's. Kinds from 128 are made at run time; opd_type_key() names them. */
typedef enum opd_type OPD_ENUM_TYPE {
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
  OPD_OBJECT = 64, /**< from this number on, u.object is a counted object */
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

/** A tagged value. Frozen: 16 bytes, these offsets. Unused bytes are 0. */
typedef struct opd_value {
  int32_t type;    /**< An opd_type, or a kind made at run time. */
  uint32_t length; /**< Bytes used of u.bytes for the two small kinds, else 0. */
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

/* These functions make plain values and borrowed views, which own nothing. Threads: safe. Cost: a store. Since: 0.1 */
static inline opd_value opd_none(void) {
  opd_value v = {OPD_NONE, 0, {0}};
  return v;
}
static inline opd_value opd_int(int64_t x) {
  opd_value v = {OPD_INT, 0, {0}};
  v.u.int64 = x;
  return v;
}
static inline opd_value opd_bool(int32_t x) {
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

/** Makes a view of a handle whose object a value can hold: a tensor, function, module, error, array …
 * @param object_handle Borrowed: must outlive the view. NULL gives OPD_NONE.
 * Threads: safe. Since: 0.2 */
OPD_API opd_value opd_value_of_object(const void *object_handle);

/** Makes an owned value from a view: retains objects, and copies C strings and byte views into strings.
 * @param value     Borrowed.
 * @param out_value New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an OPD_DLTENSOR, which cannot be owned, and for an object's type with the
 *         object NULL.
 * Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_value_retain(const opd_value *value, opd_value *out_value);

/** Releases an owned value and sets it to OPD_NONE. If the value has an object's type with the object NULL, nothing is
 * released.
 * Threads: safe. Cost: none for plain kinds. Since: 0.1 */
OPD_API void opd_value_release(opd_value *value);

/** Returns the name of kind @p type: "int", "ffi.Tensor", "opdyno.Storage" …, or "unknown"; static storage.
 * Threads: safe. Since: 0.1 */
OPD_API const char *opd_type_key(int32_t type);

/** Writes any value as text for people: numbers, "strings", shapes, dtypes, "Tensor(float32[2, 3], cpu:0)", nested
 * containers.
 * @param value    Borrowed.
 * @param out_text New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_value_to_string(const opd_value *value, opd_buffer **out_text);

/* ---- strings and bytes --------------------------------------------------------------------------------------- */

/** Makes a string. Up to 7 bytes lie in the value itself.
 * @param data      Borrowed, @p size bytes, which may include zero bytes.
 * @param out_value New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT, OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_string_create(const char *data, size_t size, opd_value *out_value);

/** Makes a byte string, as opd_string_create() makes a string.
 * @param data      Borrowed, @p size bytes.
 * @param out_value New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT, OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_bytes_create(const void *data, size_t size, opd_value *out_value);

/** Gives the bytes of a string or a byte string of any kind.
 * @param value    Borrowed. The bytes of the small kinds lie in the value, so it must not be moved.
 * @param out_data Borrowed from @p value: a pointer to plain data.
 * @param out_size Number of bytes.
 * @return NULL, or OPD_INVALID_ARGUMENT for other kinds. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_string_get(const opd_value *value, const char **out_data, size_t *out_size);

/* ---- shapes --------------------------------------------------------------------------------------------------- */

/** A sequence of int64. Immutable. */
typedef struct opd_shape opd_shape;
OPD_HANDLE(opd_shape);

/** Makes a shape.
 * @param dims      Borrowed, @p ndim numbers.
 * @param out_shape New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT, OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_shape_create(const int64_t *dims, int32_t ndim, opd_shape **out_shape);

/** Returns the numbers of a shape.
 * @param out_ndim The number of sizes; NULL if it is not wanted.
 * @return Borrowed; NULL for NULL. Threads: safe. Since: 0.2 */
OPD_API const int64_t *opd_shape_dims(const opd_shape *shape, int32_t *out_ndim);

/* ---- arrays and maps ------------------------------------------------------------------------------------------ */

/** A sequence of values. The tuples of a VM program are arrays. Immutable. */
typedef struct opd_array opd_array;
OPD_HANDLE(opd_array);

/** Makes an array.
 * @param items     Borrowed, @p count values; each is retained.
 * @param out_array New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT for an OPD_DLTENSOR, OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_array_create(const opd_value *items, int32_t count, opd_array **out_array);

/** Returns the number of items. Threads: safe. Since: 0.1 */
OPD_API int32_t opd_array_count(const opd_array *array);

/** Gives an item.
 * @param index    0 to opd_array_count() - 1.
 * @param out_item New reference.
 * @return NULL, or OPD_OUT_OF_RANGE. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_array_get(const opd_array *array, int32_t index, opd_value *out_item);

/** A map in insertion order. Keys that are numbers or strings compare by content, objects by identity. Immutable. */
typedef struct opd_map opd_map;
OPD_HANDLE(opd_map);

/** Makes a map.
 * @param pairs   Borrowed: key, value, key, value … (2 × @p count). A repeated key keeps its first place and its last
 *                value.
 * @param out_map New reference.
 * @return NULL, or OPD_INVALID_ARGUMENT, OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_map_create(const opd_value *pairs, int32_t count, opd_map **out_map);

/** Returns the number of entries. Threads: safe. Since: 0.1 */
OPD_API int32_t opd_map_count(const opd_map *map);

/** Finds a key.
 * @param key       Borrowed.
 * @param out_value New reference.
 * @return NULL, or OPD_NOT_FOUND. Threads: safe. Cost: one hash. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_map_get(const opd_map *map, const opd_value *key, opd_value *out_value);

/** Gives the entry at an index in insertion order.
 * @param index     0 to opd_map_count() - 1.
 * @param out_key   New reference.
 * @param out_value New reference.
 * @return NULL, or OPD_OUT_OF_RANGE.
 * Threads: safe. Cost: a step for each entry before it, if the map has more than four. Since: 0.1 */
OPD_API OPD_NODISCARD opd_error *opd_map_entry(const opd_map *map, int32_t index, opd_value *out_key,
                                               opd_value *out_value);

/* ---- dtypes --------------------------------------------------------------------------------------------------- */

/** Reads a dtype: "float32", "int8x4", "bool", "bfloat16", "float8_e4m3fn", "handle" … as TVM writes them, or short
 * forms such as "f32", "i8", "u16", "bf16".
 * @param text      Borrowed.
 * @param out_dtype Written.
 * @return NULL, or OPD_INVALID_ARGUMENT with the text.
 * Threads: safe. Since: 0.1. Source: DLPack 1.3 DLDataTypeCode. */
OPD_API OPD_NODISCARD opd_error *opd_dtype_from_string(const char *text, DLDataType *out_dtype);

/** Writes a dtype as opd_dtype_from_string() reads it: opd_value_to_string() of its value.
 * @param dtype    Any dtype.
 * @param out_text New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.1 */
static inline OPD_NODISCARD opd_error *opd_dtype_to_string(DLDataType dtype, opd_buffer **out_text) {
  const opd_value value = opd_dtype_value(dtype);
  return opd_value_to_string(&value, out_text);
}

OPD_END_DECLS
#endif
