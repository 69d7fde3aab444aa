// Calls of the global functions that libopdyno_tvmffi defines, through opdyno's own interface.
#pragma once
#include <gtest/gtest.h>
#include <opdyno/opdyno.h>

#include <concepts>
#include <cstring>
#include <string>
#include <vector>

namespace tvm_ffi_test {

// Of tvm-ffi's c_api.h.
struct Text {
  const char *data = nullptr;
  size_t size = 0;
  Text() = default;
  Text(const char *text) : data(text), size(std::strlen(text)) {}
};
using Getter = int (*)(void *place, opd_value *out);
struct Field {
  Text name, doc, metadata;
  int64_t flags = 0, size = 8, alignment = 8, offset = 0;
  Getter getter = nullptr;
  void *setter = nullptr;
  opd_value default_value = opd_none();
  int32_t static_type = 0;
};
struct Method {
  Text name, doc, metadata;
  int64_t flags = 0;
  opd_value method = opd_none();
};
struct Type {
  int32_t index, depth;
  Text key;
  const Type **ancestors;
  uint64_t key_hash;
  int32_t num_fields, num_methods;
  const Field *fields;
  const Method *methods;
  const void *metadata;
};
struct Column {
  const opd_value *data;
  int32_t size, begin;
};
}  // namespace tvm_ffi_test

extern "C" {
const tvm_ffi_test::Column *TVMFFIGetTypeAttrColumn(const tvm_ffi_test::Text *name);
const tvm_ffi_test::Type *TVMFFIGetTypeInfo(int32_t type);
int TVMFFITypeKeyToIndex(const tvm_ffi_test::Text *key, int32_t *out_index);
void TVMFFIErrorMoveFromRaised(opd_error **out_error);
}

namespace tvm_ffi_test {

struct Value {
  opd_value raw = opd_none();
  Value() = default;
  template <std::integral T>
  Value(T number) : raw(opd_int(number)) {}
  Value(double number) : raw(opd_float(number)) {}
  Value(const char *text) { EXPECT_EQ(opd_string_create(text, std::strlen(text), &raw), nullptr); }
  Value(const Value &other) { EXPECT_EQ(opd_value_retain(&other.raw, &raw), nullptr); }
  Value &operator=(Value other) {
    std::swap(raw, other.raw);
    return *this;
  }
  ~Value() { opd_value_release(&raw); }
};

inline Value raw(int32_t type, auto set) {
  Value made;
  made.raw.type = type;
  set(made.raw);
  return made;
}
inline Value pointer(void *to) {
  return raw(OPD_POINTER, [to](opd_value &v) { v.u.pointer = to; });
}

inline std::string last_error;

// Calls an object that is a function. None, with last_error set, if the call fails.
inline Value invoke(const opd_value &function, const std::vector<Value> &args) {
  std::vector<opd_value> views;
  for (const Value &arg : args) views.push_back(arg.raw);
  Value result;
  EXPECT_EQ(function.type, OPD_FUNCTION);
  if (function.type != OPD_FUNCTION) return result;
  opd_error *error = opd_function_call(reinterpret_cast<opd_function *>(function.u.object), views.data(),
                                       static_cast<int32_t>(views.size()), &result.raw);
  last_error = error ? std::string(opd_error_kind(error)) + ": " + opd_error_message(error) : "";
  opd_error_release(error);
  return result;
}
inline Value call(const char *name, const std::vector<Value> &args) {
  opd_function *found = nullptr;
  EXPECT_EQ(opd_function_get_global(name, &found), nullptr) << name;
  Value function;
  function.raw = opd_value_of_object(found);
  return invoke(function.raw, args);
}

inline std::string text(const Value &value) {
  const char *data = nullptr;
  size_t size = 0;
  EXPECT_EQ(opd_string_get(&value.raw, &data, &size), nullptr);
  return {data, size};
}
inline std::string repr(const Value &value) { return text(call("ffi.ReprPrint", {value})); }

inline const Type *type_of(const char *key) {
  const Text name(key);
  int32_t index = -1;
  EXPECT_EQ(TVMFFITypeKeyToIndex(&name, &index), 0) << key;
  return TVMFFIGetTypeInfo(index);
}

// Null if the type has none.
inline const opd_value *attribute_of(int32_t index, const char *name) {
  const Text text(name);
  const Column *column = TVMFFIGetTypeAttrColumn(&text);
  return column && index >= column->begin && index - column->begin < column->size ? &column->data[index - column->begin]
                                                                                  : nullptr;
}

inline const opd_value *attribute_of(const char *type, const char *name) {
  return attribute_of(type_of(type)->index, name);
}

inline const Field *field_of(int32_t type, std::string_view name) {
  const Type *found = TVMFFIGetTypeInfo(type);
  for (int32_t i = 0; found && i < found->num_fields; ++i)
    if (std::string_view(found->fields[i].name.data, found->fields[i].name.size) == name) return &found->fields[i];
  ADD_FAILURE() << "there is no field " << name;
  return nullptr;
}
inline char *place_of(const Value &object, const Field &field) {
  return reinterpret_cast<char *>(object.raw.u.object) + field.offset;
}
inline int read_field(int32_t type, std::string_view name, const Value &object, opd_value *out) {
  const Field *field = field_of(type, name);
  return field ? field->getter(place_of(object, *field), out) : -1;
}
// The error, or "".
inline std::string write_field(const char *key, std::string_view name, const Value &object, const Value &value) {
  const Field *field = field_of(type_of(key)->index, name);
  if (!field) return "no field";
  const auto set = reinterpret_cast<int (*)(void *, const opd_value *)>(field->setter);
  if (!set(place_of(object, *field), &value.raw)) return "";
  opd_error *error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  const std::string text = error ? std::string(opd_error_kind(error)) + ": " + opd_error_message(error) : "no error";
  opd_error_release(error);
  return text;
}

inline std::string graph_of(const Value &value) {
  const Value graph = call("ffi.ToJSONGraphString", {value, {}});
  return last_error.empty() ? text(graph) : last_error;
}

}  // namespace tvm_ffi_test
