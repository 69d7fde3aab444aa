// A call's result as named leaves: `out`, or `out_0`, `out_1_2` for the items of (nested) tuples.
#include "results.h"

#include "element.h"
#include "failure.h"
#include "tensor_make.h"
#include "text.h"

namespace opd::cli {

namespace {

constexpr DLDataType int64_type = {kDLInt, 64, 1}, float64_type = {kDLFloat, 64, 1}, bool_type = {kDLBool, 8, 1};

Tensor from_bytes(const void *data, size_t size, const std::vector<int64_t> &dims, DLDataType dtype) {
  Tensor tensor;
  check(opd_tensor_create(dims.data(), static_cast<int>(dims.size()), dtype, {kDLCPU, 0}, tensor.out()), Exit::failed);
  if (size) check(opd_tensor_copy_from_bytes(tensor.get(), data, size), Exit::failed);
  return tensor;
}

Tensor tensor_of(const opd_value &value) {
  switch (value.type) {
    case OPD_TENSOR:
      return to_cpu(handle_of<opd_tensor>(value));
    case OPD_INT:
      return from_bytes(&value.u.int64, 8, {}, int64_type);
    case OPD_FLOAT:
      return from_bytes(&value.u.float64, 8, {}, float64_type);
    case OPD_BOOL: {
      const char byte = value.u.int64 != 0;
      return from_bytes(&byte, 1, {}, bool_type);
    }
    case OPD_SHAPE: {
      const auto *shape = handle_of<opd_shape>(value);
      const size_t ndim = opd_shape_ndim(shape);
      return from_bytes(opd_shape_dims(shape), 8 * ndim, {static_cast<int64_t>(ndim)}, int64_type);
    }
    default:
      return {};
  }
}

constexpr int most_nested = 16;  // tuples within tuples; what lies deeper is shown as text

void flatten_into(std::vector<Leaf> &leaves, const std::string &name, Value value, int depth) {
  if (value.type() != OPD_ARRAY || depth == most_nested) {
    Tensor tensor = tensor_of(value.view());
    leaves.push_back({name, std::move(value), std::move(tensor)});
    return;
  }
  const auto *array = handle_of<opd_array>(value.view());
  for (size_t i = 0; i < opd_array_count(array); ++i) {
    Value item;
    check(opd_array_get(array, i, item.out()), Exit::failed);
    flatten_into(leaves, cat(name, "_", i), std::move(item), depth + 1);
  }
}

}  // namespace

std::vector<Leaf> flatten(const Value &result) {
  std::vector<Leaf> leaves;
  flatten_into(leaves, "out", result, 0);
  return leaves;
}

void save_leaves(const std::vector<Leaf> &leaves, const std::string &path) {
  Params params;
  check(opd_params_create(params.out()), Exit::failed);
  for (const Leaf &leaf : leaves)
    if (leaf.tensor) check(opd_params_set(params.get(), leaf.name.c_str(), leaf.tensor.get()), Exit::failed, leaf.name);
  check(opd_params_save(params.get(), path.c_str()), Exit::failed);
}

}  // namespace opd::cli
