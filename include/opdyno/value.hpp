/** @file value.hpp  Values, the conversion of C++ types to arguments, and the objects that values hold. */
#ifndef OPDYNO_VALUE_HPP_
#define OPDYNO_VALUE_HPP_

#include <opdyno/function.h>
#include <opdyno/module.h>
#include <opdyno/tensor.h>
#include <opdyno/vm.h>

#include <opdyno/base.hpp>
#include <type_traits>
#include <vector>

namespace opdyno {

/** Returns a new reference to the object of kind @p type that a value holds. */
template <class T>
T *object_in(const opd_value &value, opd_type type) {
  if (value.type != type)
    throw std::invalid_argument(std::string("the value is no ") + opd_type_key(type) + " but " +
                                opd_type_key(value.type));
  return static_cast<T *>(opd_object_retain(value.u.object));
}

/** Returns the text of a string or byte string. */
inline std::string string_of(const opd_value &value) {
  const char *data = nullptr;
  size_t size = 0;
  check(opd_string_get(&value, &data, &size));
  return {data, size};
}
inline std::string to_string(const opd_value &value) { return text_of(opd_value_to_string, &value); }
inline std::string to_string(DLDataType dtype) { return text_of(opd_dtype_to_string, dtype); }
inline std::string to_string(DLDevice device) { return text_of(opd_device_to_string, device); }

/** Reads a dtype: "float32", "f32" … */
inline DLDataType dtype_of(const std::string &text) {
  DLDataType dtype{};
  check(opd_dtype_from_string(text.c_str(), &dtype));
  return dtype;
}

/** An owned value. */
class Value {
 public:
  Value() : raw_(opd_none()) {}
  Value(const Value &other) : Value() { check(opd_value_retain(&other.raw_, &raw_)); }
  Value(Value &&other) noexcept : raw_(std::exchange(other.raw_, opd_none())) {}
  Value &operator=(Value other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Value() { opd_value_release(&raw_); }
  static Value retain(const opd_value &view) {
    Value v;
    check(opd_value_retain(&view, &v.raw_));
    return v;
  }
  /** Makes a value from anything that a call takes as an argument. */
  template <class T>
  static Value of(const T &x);
  static Value bytes(std::string_view x) {
    Value v;
    check(opd_bytes_create(x.data(), x.size(), v.out()));
    return v;
  }

  const opd_value &view() const { return raw_; }
  opd_value *out() {
    opd_value_release(&raw_);
    return &raw_;
  } /**< For out_ parameters. */
  int32_t type() const { return raw_.type; }
  std::string to_string() const { return opdyno::to_string(raw_); } /**< For people. */
  std::string string() const { return string_of(raw_); }            /**< Of a string or byte string. */

 private:
  opd_value raw_;
};

/** @name Arguments of a call
 * arg() makes the borrowed view of one argument. The types are a closed set: all integers and floats, bool, C strings,
 * std::string without NUL bytes, DLDevice, DLDataType, DLTensor *, handles and their owners, values, nullptr. Anything
 * else does not compile, other pointers above all. Calls also take std::string with NUL bytes, std::string_view and
 * functions (see Function::of), for which they make a value.
 * @{ */
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
opd_value arg(T x) {
  static_assert(!std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char16_t> &&
                    !std::is_same_v<T, char32_t>,
                "a character is neither a number nor a string: convert it to what is meant");
  if constexpr (std::is_same_v<T, bool>) return opd_bool(x);
  if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(int64_t))
    if (x > static_cast<T>(INT64_MAX)) throw std::out_of_range("an argument is larger than the largest int64");
  return opd_int(static_cast<int64_t>(x));
}
template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
opd_value arg(T x) {
  return opd_float(static_cast<double>(x));
}
inline opd_value arg(std::nullptr_t) { return opd_none(); }
inline opd_value arg(const char *x) { return x ? opd_cstring(x) : opd_none(); }
inline opd_value arg(char *x) { return arg(static_cast<const char *>(x)); }
inline opd_value arg(const std::string &x) {
  if (x.find('\0') != std::string::npos) throw std::invalid_argument("a C string cannot have the string's NUL byte");
  return opd_cstring(x.c_str());
}
inline opd_value arg(DLDevice x) { return opd_device_value(x); }
inline opd_value arg(DLDataType x) { return opd_dtype_value(x); }
inline opd_value arg(DLTensor *x) { return x ? opd_dltensor(x) : opd_none(); }
inline opd_value arg(const DLTensor *x) { return arg(const_cast<DLTensor *>(x)); }
inline opd_value arg(const opd_value &x) { return x; }
inline opd_value arg(const Value &x) { return x.view(); }
inline opd_value arg(const opd_tensor *x) { return opd_value_of_object(x); }
inline opd_value arg(const opd_function *x) { return opd_value_of_object(x); }
inline opd_value arg(const opd_module *x) { return opd_value_of_object(x); }
inline opd_value arg(const opd_array *x) { return opd_value_of_object(x); }
inline opd_value arg(const opd_map *x) { return opd_value_of_object(x); }
inline opd_value arg(const opd_shape *x) { return opd_value_of_object(x); }
inline opd_value arg(const opd_error *x) { return opd_value_of_object(x); }
inline opd_value arg(const opd_vm *x) { return opd_value_of_object(x); }
inline opd_value arg(opd_tensor *x) { return opd_value_of_object(x); }
inline opd_value arg(opd_function *x) { return opd_value_of_object(x); }
inline opd_value arg(opd_module *x) { return opd_value_of_object(x); }
inline opd_value arg(opd_array *x) { return opd_value_of_object(x); }
inline opd_value arg(opd_map *x) { return opd_value_of_object(x); }
inline opd_value arg(opd_shape *x) { return opd_value_of_object(x); }
inline opd_value arg(opd_error *x) { return opd_value_of_object(x); }
inline opd_value arg(opd_vm *x) { return opd_value_of_object(x); }
template <class T>
opd_value arg(const Handle<T> &x) {
  return opd_value_of_object(x.get());
}
template <class T>
opd_value arg(T *) = delete;  // a pointer to another type has no known meaning

/** One argument for the duration of a call: its view, and the value that was made for it if one was needed. */
template <class T, class = void>
struct Converted {
  const opd_value view;
  explicit Converted(const T &x) : view(arg(x)) {}
};
template <class T>
struct Converted<T, std::enable_if_t<std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>>> {
  const Value made;
  const opd_value view;
  explicit Converted(std::string_view x) : made(text(x)), view(made.view()) {}

 private:
  static Value text(std::string_view x) {
    Value value;
    check(opd_string_create(x.data(), x.size(), value.out()));
    return value;
  }
};
/** @} */

template <class T>
Value Value::of(const T &x) {
  return retain(Converted<T>(x).view);
}

/** The arguments of a call as borrowed views, for calls whose number of arguments is known only at run time. */
using Views = std::vector<opd_value>;

class Shape : public Handle<opd_shape> {
 public:
  using Handle::Handle;
  Shape() = default;
  explicit Shape(const std::vector<int64_t> &dims) {
    check(opd_shape_create(dims.data(), count_of(dims.size()), out()));
  }
  static Shape of(const opd_value &value) { return Shape(object_in<opd_shape>(value, OPD_SHAPE)); }
  static Shape of(const Value &value) { return of(value.view()); }
  std::vector<int64_t> dims() const {
    int32_t count = 0;
    const int64_t *first = opd_shape_dims(get(), &count);
    return {first, first + count};
  }
};

/** An immutable sequence of values. Tuples of programs are arrays. */
class Array : public Handle<opd_array> {
 public:
  using Handle::Handle;
  Array() = default;
  explicit Array(const Views &items) { check(opd_array_create(items.data(), count_of(items.size()), out())); }
  static Array of(const opd_value &value) { return Array(object_in<opd_array>(value, OPD_ARRAY)); }
  static Array of(const Value &value) { return of(value.view()); }
  size_t size() const { return static_cast<size_t>(opd_array_count(get())); }
  Value operator[](size_t index) const {
    Value item;
    check(opd_array_get(get(), count_of(index), item.out()));
    return item;
  }
  /** Returns the items of an array of strings. */
  std::vector<std::string> strings() const {
    std::vector<std::string> texts;
    for (size_t i = 0; i < size(); ++i) texts.push_back((*this)[i].string());
    return texts;
  }
};

class Map : public Handle<opd_map> {
 public:
  using Handle::Handle;
  Map() = default;
  /** @param pairs key, value, key, value … */
  explicit Map(const Views &pairs) {
    if (pairs.size() % 2)
      throw std::invalid_argument("a map is made of keys and values in turns; the last value lacks");
    check(opd_map_create(pairs.data(), count_of(pairs.size() / 2), out()));
  }
  static Map of(const opd_value &value) { return Map(object_in<opd_map>(value, OPD_MAP)); }
  static Map of(const Value &value) { return of(value.view()); }
  size_t size() const { return static_cast<size_t>(opd_map_count(get())); }
  template <class Key>
  Value operator[](const Key &key) const {
    const Converted<Key> converted(key);
    Value found;
    check(opd_map_get(get(), &converted.view, found.out()));
    return found;
  }
  /** Returns the key and the value at an index in insertion order. */
  std::pair<Value, Value> entry(size_t index) const {
    std::pair<Value, Value> found;
    check(opd_map_entry(get(), count_of(index), found.first.out(), found.second.out()));
    return found;
  }
};

}  // namespace opdyno
#endif
