// Tensors, shapes and tuples of any kind, from and to plain C++ lists.
#pragma once
#include "support/opdyno_test.h"

namespace opdyno_test {

template <class T>
Tensor tensor_of(const char *dtype, const std::vector<T> &values, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  Tensor tensor(dims, dtype);
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}
inline Tensor int64s(const std::vector<int64_t> &values, std::vector<int64_t> dims = {}) {
  return tensor_of("int64", values, std::move(dims));
}
inline Tensor int32s(const std::vector<int32_t> &values, std::vector<int64_t> dims = {}) {
  return tensor_of("int32", values, std::move(dims));
}

template <class T>
std::vector<T> elements_of(const Tensor &tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.size()};
}
inline std::vector<int64_t> dims_of(const Tensor &tensor) {
  return {tensor.view().shape, tensor.view().shape + tensor.view().ndim};
}

inline Value shape_of(const std::vector<int64_t> &dims) {
  Handle<opd_shape> shape;
  check(opd_shape_create(dims.data(), dims.size(), shape.out()));
  return Value::retain(arg(shape));
}

inline Value array_of(const std::vector<opd_value> &items) {
  Handle<opd_array> array;
  check(opd_array_create(items.data(), items.size(), array.out()));
  return Value::retain(arg(array));
}

inline Value map_of(const std::vector<opd_value> &pairs) {
  Handle<opd_map> map;
  check(opd_map_create(pairs.data(), pairs.size() / 2, map.out()));
  return Value::retain(arg(map));
}

template <class... Items>
Value tuple_of(const Items &...items) {
  return array_of({arg(items)...});
}

/** Item @p index of a tuple. */
inline Value item_of(const Value &tuple, size_t index) {
  Value item;
  check(opd_array_get(reinterpret_cast<const opd_array *>(tuple.view().u.object), index, item.out()));
  return item;
}

inline Function builtin(const std::string &name) { return Function::global(("vm.builtin." + name).c_str()); }

inline Vm vm_of(const std::string &assembly) { return Vm(Executable::assemble(assembly).to_module()); }

}  // namespace opdyno_test
