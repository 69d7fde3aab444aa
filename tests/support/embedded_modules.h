// Modules embedded in a library beside its own code, in TVM's format.
#pragma once
#include "support/export_test.h"

namespace opdyno_test {

inline std::string number(uint64_t value) { return {reinterpret_cast<const char *>(&value), sizeof value}; }
inline std::string text(const std::string &content) { return number(content.size()) + content; }
inline std::string list(const std::vector<std::string> &names) {
  std::string out = number(names.size());
  for (const auto &name : names) out += text(name);
  return out;
}
template <class T>
std::string raw(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

// A library whose root imports it: __tvm_ffi__library_bin has the rows 0 1 1 and the entry 1 (TVM's format).
inline Module with_root(const std::string &name, const std::string &kind, const std::string &bytes,
                        const std::string &code = kSource) {
  const std::string blob = text(number(3) + number(0) + number(1) + number(1) + number(1) + number(1) + text(kind) +
                                text(bytes) + text("_lib"));
  std::string source = code + "const unsigned char __tvm_ffi__library_bin[] = {";
  for (const char c : blob) source += std::to_string(static_cast<unsigned char>(c)) + ",";
  return Module::load(build_library(name, source + "};\n"));
}

inline std::string c_source(const std::string &code, const std::string &format, const std::vector<std::string> &names) {
  return text(code) + text(format) + list(names) + number(0);
}

inline std::string tensor(const std::vector<float> &values) {
  const DLDataType f32{kDLFloat, 32, 1};
  std::string out = number(0xDD5E40F096B4A13F) + number(0) + raw(int32_t{1}) + raw(int32_t{0}) + raw(int32_t{1}) +
                    raw(f32) + number(values.size()) + number(4 * values.size());
  for (const float value : values) out += raw(value);
  return out;
}

inline std::string device_code(const std::string &format, const std::string &code) {
  return text(format) + number(1) + text("add_kernel") + text("add_kernel") + number(0) + number(0) + number(0) +
         text(code);
}

}  // namespace opdyno_test
