#include "value/value.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>

#include "value/dtype.h"
#include "value/tensor.h"

namespace opd {
namespace {

// Returns the bytes of `count` items. Throws if no object can be that large, so the product cannot wrap.
size_t bytes_of_items(size_t count, size_t item_bytes) {
  if (count > static_cast<size_t>(PTRDIFF_MAX) / 2 / item_bytes) throw std::bad_alloc();
  return count * item_bytes;
}

// The C API counts items by int32_t, so no container may have more.
void require_countable(size_t count) {
  if (count > INT32_MAX)
    fail(OPD_OUT_OF_RANGE, "a container can have at most ", INT32_MAX, " items, but would have ", count);
}

template <class T>
Ref<T> make_string(std::string_view text) {
  auto string = make_object_sized<T>(bytes_of_items(text.size(), 1) + 1);
  char *data = reinterpret_cast<char *>(string.get() + 1);
  std::ranges::copy(text, data);  // not memcpy(), because an empty text may have a null address
  data[text.size()] = '\0';
  string->data = data;
  string->size = text.size();
  return string;
}

View small(int32_t type, std::string_view text) {
  View v = opd_none();
  v.type = type;
  v.length = static_cast<uint32_t>(text.size());
  std::ranges::copy(text, v.u.bytes);
  return v;
}

View own(const View &view) {
  switch (view.type) {
    case OPD_CSTRING:
      return Value(as_text(view, "")).detach();
    case OPD_BYTES_VIEW:
      return make_bytes(as_text(view, "")).detach();
    case OPD_DLTENSOR:
      fail(OPD_INVALID_ARGUMENT, "a DLTensor pointer is borrowed and cannot be kept: pass a tensor");
    case kRvalueReference:  // points to the caller's reference, which is moved from
      return view_of(std::exchange(*static_cast<Object **>(view.u.pointer), nullptr));
    default:
      if (lacks_object(view))
        fail(OPD_INVALID_ARGUMENT, "a value of type ", type_key(view.type), " has the object NULL; pass none instead");
      if (is_object(view)) retain(object_of(view));
      return view;
  }
}

}  // namespace

Value::Value(const View &view) : raw_(own(view)) {}

Value::Value(std::string_view text) : raw_(opd_none()) {
  raw_ = text.size() <= 7 ? small(OPD_SMALL_STRING, text) : Value(String::make(text)).detach();
}

Value make_bytes(std::string_view bytes) {
  return bytes.size() <= 7 ? Value::take(small(OPD_SMALL_BYTES, bytes)) : Value(BytesObject::make(bytes));
}

void fail_type(std::string_view what, std::string_view expected, const View &given) {
  fail_as("TypeError", OPD_INVALID_ARGUMENT, what, " must be ", expected, ", but is ", type_key(given.type),
          lacks_object(given) ? " with the object NULL" : "");
}

int64_t as_int(const View &v, std::string_view what) {
  if (v.type != OPD_INT && v.type != OPD_BOOL) fail_type(what, "int", v);
  return v.u.int64;
}

double as_float(const View &v, std::string_view what) {
  if (v.type == OPD_FLOAT) return v.u.float64;
  if (v.type != OPD_INT && v.type != OPD_BOOL) fail_type(what, "float", v);
  return static_cast<double>(v.u.int64);
}

double as_finite(const View &v, std::string_view what) {
  const double number = as_float(v, what);
  require(std::isfinite(number), what, " must be finite, but is ", number);
  return number;
}

DLDataType as_dtype(const View &v, std::string_view what) {
  if (v.type == OPD_DTYPE) return v.u.dtype;
  if (is_text(v)) return parse_dtype(as_text(v, what));
  fail_type(what, "DataType", v);
}

bool is_text(const View &v) { return v.type == OPD_CSTRING || v.type == OPD_SMALL_STRING || v.type == OPD_STRING; }

std::string_view as_text(const View &v, std::string_view what) {
  switch (v.type) {
    case OPD_CSTRING:
      return v.u.cstring ? std::string_view(v.u.cstring) : std::string_view();
    case OPD_SMALL_STRING:
    case OPD_SMALL_BYTES:
      return {v.u.bytes, std::min<uint32_t>(v.length, 7)};
    case OPD_STRING:
    case OPD_BYTES: {
      const auto *string = static_cast<const String *>(object_of(v));
      if (!string) fail_type(what, "a string", v);
      return {string->data, string->size};
    }
    case OPD_BYTES_VIEW: {
      const auto *bytes = static_cast<const ByteArray *>(v.u.pointer);
      return bytes ? std::string_view(bytes->data, bytes->size) : std::string_view();
    }
    default:
      fail_type(what, "a string", v);
  }
}

bool is_bytes(const View &v) { return v.type == OPD_BYTES_VIEW || v.type == OPD_SMALL_BYTES || v.type == OPD_BYTES; }

std::string_view bytes_in(const View &v, std::string_view what) {
  if (!is_bytes(v)) fail_type(what, type_key(OPD_BYTES), v);
  return as_text(v, what);
}

Ref<String> String::make(std::string_view text) { return make_string<String>(text); }
Ref<BytesObject> BytesObject::make(std::string_view bytes) { return make_string<BytesObject>(bytes); }

Ref<Shape> Shape::make_uninitialised(size_t size, int64_t *&out_data) {
  require_countable(size);
  auto shape = make_object_sized<Shape>(bytes_of_items(size, sizeof(int64_t)));
  out_data = reinterpret_cast<int64_t *>(shape.get() + 1);
  shape->data = out_data;
  shape->size = size;
  return shape;
}

Ref<Shape> Shape::make(std::span<const int64_t> dims) {
  int64_t *data;
  auto shape = make_uninitialised(dims.size(), data);
  std::ranges::copy(dims, data);
  return shape;
}

Ref<Array> Array::make(Args items) {
  require_countable(items.size());
  auto array = make_object_sized<Array>(bytes_of_items(items.size(), sizeof(Value)));
  array->data = array.get() + 1;
  array->capacity = static_cast<int64_t>(items.size());
  for (const View &item : items) {
    new (array->items() + array->count) Value(item);  // if it throws, the array's destructor destroys the items so far
    ++array->count;
  }
  return array;
}

Array::~Array() {
  while (count > 0)
    if (const View item = items()[--count].detach(); is_object(item)) release_nested(object_of(item));
  if (data_deleter) data_deleter(data);
}

}  // namespace opd
