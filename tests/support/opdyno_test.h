// What the tests of the C API share.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <opdyno/opdyno.hpp>
#include <string>

namespace opdyno_test {

using namespace opdyno;

/** Expects that @p error is of @p code and that its message holds @p part; releases it. */
inline void expect_error(opd_error *error, opd_code code, const std::string &part = "") {
  ASSERT_NE(error, nullptr) << "no error, but expected " << opd_code_name(code) << " with \"" << part << "\"";
  const Error e(error);
  EXPECT_EQ(opd_code_name(e.code()), std::string(opd_code_name(code))) << e.what();
  EXPECT_NE(e.message().find(part), std::string::npos) << "\"" << part << "\" is not in: " << e.message();
}

/** Expects that @p body throws such an error. */
inline void expect_throws(const std::function<void()> &body, opd_code code, const std::string &part = "") {
  try {
    body();
  } catch (const Error &e) {
    EXPECT_EQ(opd_code_name(e.code()), std::string(opd_code_name(code))) << e.what();
    EXPECT_NE(e.message().find(part), std::string::npos) << "\"" << part << "\" is not in: " << e.message();
    return;
  }
  ADD_FAILURE() << "nothing was thrown, but expected " << opd_code_name(code) << " with \"" << part << "\"";
}

/** A packed function of a C++ callable `void(const opd_value *args, int32_t num_args, opd_value *out)`. */
using Body = std::function<void(const opd_value *, int32_t, opd_value *)>;
inline Function make_function(Body body) {
  const auto run = [](void *data, const opd_value *args, int32_t num_args, opd_value *out) -> opd_error * {
    try {
      (*static_cast<Body *>(data))(args, num_args, out);
      return nullptr;
    } catch (const Error &e) {
      return opd_error_create(e.code(), e.kind().c_str(), e.message().c_str());
    } catch (const std::exception &e) { return opd_error_create(OPD_CALL_FAILED, "RuntimeError", e.what()); }
  };
  Function function;
  check(opd_function_create(
      run, new Body(std::move(body)), [](void *data) { delete static_cast<Body *>(data); }, function.out()));
  return function;
}

/** Registers one for the rest of the process, in place of what had the name. */
inline void define(const char *name, Body body) {
  check(opd_function_register(name, make_function(std::move(body)).get(), 1));
}

inline Tensor floats(const std::vector<float> &values, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  Tensor tensor(dims, "float32");
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

inline std::vector<float> to_floats(const opd_value &value) {
  const Tensor tensor = Tensor::of(value);
  return {tensor.data<float>(), tensor.data<float>() + tensor.size()};
}
inline std::vector<float> to_floats(const Value &value) { return to_floats(value.view()); }

/** The elements of a tensor argument of a packed function. */
inline float *elements(const opd_value &value) {
  DLTensor *t = value.type == OPD_TENSOR ? opd_tensor_view(reinterpret_cast<const opd_tensor *>(value.u.object))
                                         : value.u.dltensor;
  return reinterpret_cast<float *>(static_cast<char *>(t->data) + t->byte_offset);
}

/** Appends an instruction. */
inline opd_error *emit(opd_executable_builder *builder, const opd_instruction &instruction) {
  return opd_executable_builder_emit(builder, &instruction);
}

/** Compiles and loads a C source. */
inline opd_error *load_source(const std::string &text, const opd_module_options *options, opd_module **out_module) {
  opd_module_options how;
  opd_module_options_init(&how);
  if (options) how = *options;
  how.format = "c";
  return opd_module_load_bytes(text.data(), text.size(), nullptr, &how, out_module);
}

}  // namespace opdyno_test
