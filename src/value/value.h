// The tagged value: opd_value as a borrowed view, and Value as its owner. Copying a plain value copies 16 bytes.
// Copying an object also adds one relaxed increment.
#pragma once
#include <opdyno/value.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/object.h"

namespace opd {

using View = opd_value;
using Args = std::span<const View>;

static_assert(sizeof(View) == 16 && alignof(View) == 8);
static_assert(offsetof(View, type) == 0 && offsetof(View, length) == 4 && offsetof(View, u) == 8);

// Kinds of tvm-ffi that the public headers do not name.
constexpr int32_t kRvalueReference = 10, kOpaqueObject = 74, kList = 75, kDict = 76, kBigInt = 78;

inline bool is_object(const View &v) { return v.type >= OPD_OBJECT; }
// Whether the value has an object's type but no object, which is a caller's mistake. The library makes no such value.
inline bool lacks_object(const View &v) { return is_object(v) && !v.u.object; }
inline Object *object_of(const View &v) { return reinterpret_cast<Object *>(v.u.object); }
inline View view_of(const Object *object) {
  View v = opd_none();
  if (object) {
    v.type = object->type_index;
    v.u.object = reinterpret_cast<opd_object *>(const_cast<Object *>(object));
  }
  return v;
}

// Writes a value with one 16-byte store. After stores of single fields, an immediate 16-byte load would stall.
inline void write_whole(View *place, const View &v) {
  using Pair = uint64_t __attribute__((vector_size(16)));
  const Pair whole = {static_cast<uint32_t>(v.type) | static_cast<uint64_t>(v.length) << 32,
                      reinterpret_cast<uintptr_t>(v.u.object)};
  std::memcpy(static_cast<void *>(place), &whole, sizeof whole);
}

class Value {
 public:
  Value() : raw_(opd_none()) {}
  Value(std::nullptr_t) : Value() {}
  explicit Value(const View &view);  // owning: counts objects, copies borrowed text; throws for OPD_DLTENSOR
  Value(int64_t number) : raw_(opd_int(number)) {}
  Value(int number) : raw_(opd_int(number)) {}
  Value(bool yes) : raw_(opd_bool(yes)) {}
  Value(double number) : raw_(opd_float(number)) {}
  Value(std::string_view text);
  Value(const std::string &text) : Value(std::string_view(text)) {}
  Value(const char *text) : Value(std::string_view(text)) {}
  Value(DLDataType dtype) : raw_(opd_dtype_value(dtype)) {}
  Value(DLDevice device) : raw_(opd_device_value(device)) {}
  template <class T>
  Value(Ref<T> object) : raw_(view_of(object.get())) {
    object.detach();
  }
  Value(const Value &other) : raw_(other.raw_) {
    if (is_object(raw_)) retain(object_of(raw_));
  }
  Value(Value &&other) noexcept : raw_(std::exchange(other.raw_, opd_none())) {}
  Value &operator=(Value other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Value() {
    if (is_object(raw_)) release(object_of(raw_));
  }

  static Value take(const View &owned) {
    Value v;
    v.raw_ = owned;
    return v;
  }
  View detach() { return std::exchange(raw_, opd_none()); }
  const View &view() const { return raw_; }
  operator const View &() const { return raw_; }
  int32_t type() const { return raw_.type; }

 private:
  View raw_;
};
static_assert(sizeof(Value) == 16);  // arrays of Value are read as arrays of View
inline Args views_of(std::span<const Value> values) {
  return {values.empty() ? nullptr : &values.front().view(), values.size()};
}

// ---- kinds made at run time

// returns the index of a key and registers it at first use; see also value/type_table.h
int32_t register_type(std::string_view key);
// A text as a template argument.
template <size_t kSize>
struct Literal {
  char text[kSize];
  consteval Literal(const char (&given)[kSize]) { std::copy_n(given, kSize, text); }
};
// Returns the index of a key, like register_type(), but asks the table only once for each key.
template <Literal kKey>
int32_t registered_type() {
  static const int32_t index = register_type(kKey.text);
  return index;
}
const char *type_key(int32_t type_index);  // "unknown" if there is none

// ---- the object of a given kind, or null

template <class T>
T *try_as(const View &v) {
  return v.type == T::type() ? static_cast<T *>(object_of(v)) : nullptr;
}

// Throws a TypeError that names `what`, the expected kind and the actual one.
[[noreturn]] void fail_type(std::string_view what, std::string_view expected, const View &given);
template <class T>
T &as(const View &v, std::string_view what) {
  if (T *object = try_as<T>(v)) [[likely]]
    return *object;
  fail_type(what, type_key(T::type()), v);
}
int64_t as_int(const View &v, std::string_view what);       // Int or Bool
double as_float(const View &v, std::string_view what);      // Float, Int or Bool
double as_finite(const View &v, std::string_view what);     // throws if the number is NaN or infinite
DLDataType as_dtype(const View &v, std::string_view what);  // DataType or its text
bool is_text(const View &v);
std::string_view as_text(const View &v, std::string_view what);  // points into v for small strings
bool is_bytes(const View &v);
std::string_view bytes_in(const View &v, std::string_view what);  // the bytes of a bytes object, checked like as_text()
std::string to_text(const View &v);                               // text for people

// ---- objects

struct String : Object {  // the layout of tvm-ffi's string and bytes cells; a NUL follows the data
  static int32_t type() { return OPD_STRING; }
  const char *data = nullptr;
  size_t size = 0;
  static Ref<String> make(std::string_view text);
};
struct BytesObject : String {
  static int32_t type() { return OPD_BYTES; }
  static Ref<BytesObject> make(std::string_view bytes);
};

Value make_bytes(std::string_view bytes);  // stored inline if at most 7 bytes

struct Shape : Object {  // the layout of tvm-ffi's shape cell
  static int32_t type() { return OPD_SHAPE; }
  const int64_t *data = nullptr;
  size_t size = 0;
  std::span<const int64_t> dims() const { return {data, size}; }
  static Ref<Shape> make(std::span<const int64_t> dims);
  static Ref<Shape> make_uninitialised(size_t size, int64_t *&out_data);
};
inline std::string dims_text(std::span<const int64_t> dims) { return concat("[", joined(dims), "]"); }  // "[1, 64]"
inline void append_dims(std::string &out, std::span<const int64_t> dims) { out += dims_text(dims); }

struct Array : Object {  // the layout of tvm-ffi's sequence cell
  static int32_t type() { return OPD_ARRAY; }
  void *data = nullptr;
  int64_t count = 0, capacity = 0;
  void (*data_deleter)(void *data) = nullptr;  // null: the items lie inline
  size_t size() const { return static_cast<size_t>(count); }
  Value *items() { return static_cast<Value *>(data); }
  const Value *items() const { return static_cast<const Value *>(data); }
  Args views() const { return {static_cast<const View *>(data), size()}; }
  static Ref<Array> make(Args items);
  ~Array();
};

}  // namespace opd
