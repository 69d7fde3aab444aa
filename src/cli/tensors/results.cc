// A call's result as named leaves: `out`, or `out_0`, `out_1_2` for the items of (nested) tuples.
#include "cli/tensors/results.h"

#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/text.h"
#include "cli/tensors/tensor_make.h"

namespace opd::cli {

namespace {

constexpr DLDataType int64_type = {kDLInt, 64, 1}, float64_type = {kDLFloat, 64, 1}, bool_type = {kDLBool, 8, 1};

Tensor from_bytes(const void *data, size_t size, const std::vector<int64_t> &dims, DLDataType dtype) {
  Tensor tensor(dims, dtype);
  if (size) tensor.copy_from_bytes(data, size);
  return tensor;
}

Tensor tensor_of(const opd_value &value) {
  switch (value.type) {
    case OPD_TENSOR:
      return to_cpu(Tensor::of(value));
    case OPD_INT:
      return from_bytes(&value.u.int64, 8, {}, int64_type);
    case OPD_FLOAT:
      return from_bytes(&value.u.float64, 8, {}, float64_type);
    case OPD_BOOL: {
      const char byte = value.u.int64 != 0;
      return from_bytes(&byte, 1, {}, bool_type);
    }
    case OPD_SHAPE: {
      const std::vector<int64_t> dims = Shape::of(value).dims();
      return from_bytes(dims.data(), 8 * dims.size(), {static_cast<int64_t>(dims.size())}, int64_type);
    }
    default:
      return {};
  }
}

constexpr int most_nested = 16;  // nested tuples; deeper ones are shown as text

void flatten_into(std::vector<Leaf> &leaves, const std::string &name, Value value, int depth) {
  if (value.type() != OPD_ARRAY || depth == most_nested) {
    Tensor tensor = tensor_of(value.view());
    leaves.push_back({name, std::move(value), std::move(tensor)});
    return;
  }
  const Array array = Array::of(value);
  for (size_t i = 0; i < array.size(); ++i) flatten_into(leaves, cat(name, "_", i), array[i], depth + 1);
}

}  // namespace

std::vector<Leaf> flatten(const Value &result) {
  std::vector<Leaf> leaves;
  flatten_into(leaves, "out", result, 0);
  return leaves;
}

void check_results_path(const std::string &path) {
  if (path == "-") fail_usage("option '-o' takes a file; --json and --csv print the results");
  const std::string given = suffix_of(path);
  for (const std::string_view suffix : {"", ".npz", ".npy", ".safetensors", ".params", ".bin"})
    if (given == suffix) return;
  if (!path.ends_with("tensor-cache.json"))
    print_message(
        cat("opdyno: no format of results has the suffix ", given, ", so ", path, " is written as .params\n"));
}

void save_leaves(const std::vector<Leaf> &leaves, const std::string &path) {
  const Params params = Params::create();
  std::vector<std::string> others;
  for (const Leaf &leaf : leaves) {
    if (leaf.tensor) attempt(Exit::failed, leaf.name, [&] { params.set(leaf.name.c_str(), leaf.tensor); });
    else others.push_back(leaf.name);
  }
  if (params.size() == 0)
    throw Failure(Exit::failed,
                  cat("there is nothing to write to ", path, ": the result is no tensor, number or shape"));
  params.save(path);
  if (!others.empty())
    print_message(
        cat("opdyno: ", path, " lacks ", join(others, ", "), ": a file holds only tensors, numbers and shapes\n"));
}

}  // namespace opd::cli
