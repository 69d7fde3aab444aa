// Calls of the global functions that libopdyno_tvmffi defines, through opdyno's own interface.
#pragma once
#include <gtest/gtest.h>
#include <opdyno/opdyno.h>

#include <concepts>
#include <cstring>
#include <string>
#include <vector>

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

inline std::string last_error;

// None, with last_error set, if the call fails.
inline Value call(const char *name, const std::vector<Value> &args) {
  std::vector<opd_value> views;
  for (const Value &arg : args) views.push_back(arg.raw);
  opd_function *function = nullptr;
  EXPECT_EQ(opd_function_get_global(name, &function), nullptr) << name;
  Value result;
  opd_error *error = opd_function_call(function, views.data(), static_cast<int32_t>(views.size()), &result.raw);
  last_error = error ? std::string(opd_error_kind(error)) + ": " + opd_error_message(error) : "";
  opd_error_release(error);
  opd_function_release(function);
  return result;
}

inline std::string text(const Value &value) {
  const char *data = nullptr;
  size_t size = 0;
  EXPECT_EQ(opd_string_get(&value.raw, &data, &size), nullptr);
  return {data, size};
}
inline std::string repr(const Value &value) { return text(call("ffi.ReprPrint", {value})); }

}  // namespace tvm_ffi_test
