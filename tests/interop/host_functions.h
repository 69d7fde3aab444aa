// What some artifacts call on the host: host_functions.py describes it. Damaged programs call it with anything.
#pragma once
#include <span>

#include "interop/recorded.h"

namespace opdyno_test {

inline void need(bool holds, const char *what) {
  if (!holds) throw std::runtime_error(std::string("needed: ") + what);
}

inline std::span<float> float_elements(const opd_value &value) {
  need(value.type == OPD_TENSOR || value.type == OPD_DLTENSOR, "a tensor");
  const DLTensor &t = value.type == OPD_TENSOR ? Tensor::of(value).view() : *value.u.dltensor;
  need(t.dtype.code == kDLFloat && t.dtype.bits == 32 && t.dtype.lanes == 1, "float32");
  size_t count = 1;
  for (int i = 0; i < t.ndim; ++i) count *= static_cast<size_t>(t.shape[i]);
  return {elements(value), count};
}

/** A new tensor of @p factor times the elements of @p from. */
inline opd_value scaled(const opd_value &from, float factor) {
  need(from.type == OPD_TENSOR, "a tensor");
  float_elements(from);
  const Tensor to = copy_of(Tensor::of(from));
  for (int64_t i = 0; i < to.size(); ++i) to.data<float>()[i] *= factor;
  opd_object_retain(to.get());
  return arg(to);
}

inline void define_host_functions() {
  define("opdyno.test.scale", [](const opd_value *args, int32_t num_args, opd_value *out) {
    need(num_args >= 2 && args[1].type == OPD_INT, "a tensor and an int");
    *out = scaled(args[0], static_cast<float>(args[1].u.int64));
  });
  define("opdyno.test.add", [](const opd_value *args, int32_t num_args, opd_value *out) {
    need(num_args == 2 && args[0].type == OPD_INT && args[1].type == OPD_INT, "two ints");
    *out = opd_int(args[0].u.int64 + args[1].u.int64);
  });
  define("opdyno.test.double", [](const opd_value *args, int32_t num_args, opd_value *) {
    need(num_args == 1, "a tensor");
    for (float &element : float_elements(args[0])) element *= 2;
  });
  define("opdyno.test.sum_into", [](const opd_value *args, int32_t num_args, opd_value *) {
    need(num_args == 3, "three tensors");
    const auto x = float_elements(args[0]), y = float_elements(args[1]), out = float_elements(args[2]);
    need(x.size() == out.size() && y.size() == out.size(), "tensors of one size");
    for (size_t i = 0; i < out.size(); ++i) out[i] = x[i] + y[i];
  });
  define("opdyno.test.fail", [](const opd_value *, int32_t, opd_value *) {
    throw Error(opd_error_create(OPD_CALL_FAILED, "ValueError", "refused on purpose"));
  });
  const Function negate = make_function([](const opd_value *args, int32_t num_args, opd_value *out) {
    need(num_args == 1 && args[0].type == OPD_ARRAY, "a tuple");
    Value x;
    check(opd_array_get(reinterpret_cast<const opd_array *>(args[0].u.object), 0, x.out()));
    *out = scaled(x.view(), -1);
  });
  Function::global("vm.builtin.register_py_func")("opdyno.test.negate", negate);
}

}  // namespace opdyno_test
