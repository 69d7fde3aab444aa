#include "cli/tensors/results.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/text.h"
#include "cli/tensors/element.h"
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
  if (value.type == OPD_TENSOR) return to_cpu(Tensor::of(value));
  if (value.type == OPD_INT) return from_bytes(&value.u.int64, 8, {}, int64_type);
  if (value.type == OPD_FLOAT) return from_bytes(&value.u.float64, 8, {}, float64_type);
  const char byte = value.u.int64 != 0;
  if (value.type == OPD_BOOL) return from_bytes(&byte, 1, {}, bool_type);
  if (value.type != OPD_SHAPE) return {};
  const std::vector<int64_t> dims = Shape::of(value).dims();
  return from_bytes(dims.data(), 8 * dims.size(), {static_cast<int64_t>(dims.size())}, int64_type);
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

std::string index_text(size_t element, const DLTensor &view) {
  std::vector<int64_t> place(static_cast<size_t>(view.ndim));
  for (int i = view.ndim; i-- > 0;) {
    place[static_cast<size_t>(i)] = static_cast<int64_t>(element % static_cast<size_t>(view.shape[i]));
    element /= static_cast<size_t>(view.shape[i]);
  }
  return dims_text(place.data(), view.ndim);
}

// Older TVM wrote bool as uint1. Frameworks without bfloat16 store its numbers in wider floats.
bool fits(DLDataType got, DLDataType wanted) {
  const auto is_bool = [](DLDataType dtype) {
    return dtype.code == kDLBool || (dtype.code == kDLUInt && dtype.bits == 1);
  };
  if (is_bool(got) && is_bool(wanted)) return true;
  if (got.code == kDLBfloat && wanted.code == kDLFloat && wanted.bits >= 32) return got.lanes == wanted.lanes;
  return got.code == wanted.code && got.bits == wanted.bits && got.lanes == wanted.lanes;
}

// The elements of a tensor, one after the other.
struct Elements {
  explicit Elements(const DLTensor &view) : data(data_of(view)), scalar(scalar_of(view.dtype, "comparing")) {}
  long double at(size_t i) const { return read_scalar(data, i, scalar); }
  std::string text(size_t i) const { return print_scalar(data, i, scalar, 0); }

  const void *data;
  Scalar scalar;
};

// The amount by which numbers differ beyond the tolerance; infinite for NaN and infinities that differ; 0 if they fit.
long double excess_of(long double got, long double wanted, bool is_exact, const Expectation &expectation,
                      double &largest_difference) {
  if (got == wanted) return 0;
  if (std::isnan(got) && std::isnan(wanted)) return expectation.equal_nan ? 0 : INFINITY;
  const long double difference = std::fabs(got - wanted);
  if (!std::isfinite(difference)) return INFINITY;
  largest_difference = std::max(largest_difference, static_cast<double>(difference));
  const long double allowed = is_exact ? 0 : expectation.atol + expectation.rtol * std::fabs(wanted);
  return std::max(0.0L, difference - allowed);
}

void compare_elements(const DLTensor &view, const Elements &got, const Elements &wanted, const Expectation &expectation,
                      Comparison &out) {
  out.elements = element_count(view);
  const auto per_element = static_cast<size_t>(got.scalar.per_element);
  const bool is_exact = !got.scalar.is_real() && !expectation.has_tolerance;
  size_t worst = 0;
  long double worst_excess = -1;
  for (size_t i = 0; i < out.elements * per_element; ++i) {
    const long double excess = excess_of(got.at(i), wanted.at(i), is_exact, expectation, out.largest_difference);
    if (excess <= 0) continue;
    ++out.mismatches;
    if (excess > worst_excess) worst_excess = excess, worst = i;
  }
  if (!out.mismatches) return;
  const long double difference = std::fabs(got.at(worst) - wanted.at(worst));
  out.worst = cat("worst at ", index_text(worst / per_element, view), ": got ", got.text(worst), ", expected ",
                  wanted.text(worst));
  if (std::isfinite(difference)) out.worst += cat(", off by ", significant(static_cast<double>(difference), 4));
}

Comparison compare_leaf(const Leaf &leaf, Tensor wanted, const Expectation &expectation) {
  if (!leaf.tensor) return {leaf.name, "the result is not a tensor, number or shape"};
  Tensor got = to_cpu(leaf.tensor);
  const DLDataType wanted_dtype = wanted.dtype(), got_dtype = got.dtype();
  if (is_stored_as(wanted_dtype, got_dtype)) {
    if (has_scalars(got_dtype)) wanted = reinterpret(wanted, got_dtype);
    else got = reinterpret(got, wanted_dtype);  // numbers of an unknown format are compared as bits
  }
  const DLTensor &got_view = got.view(), &wanted_view = wanted.view();
  const bool is_same_shape = got_view.ndim == wanted_view.ndim &&
                             std::equal(got_view.shape, got_view.shape + got_view.ndim, wanted_view.shape);
  if (!is_same_shape || !fits(got_view.dtype, wanted_view.dtype))
    return {leaf.name, cat("got ", tensor_type(got), ", expected ", tensor_type(wanted))};
  Comparison out{leaf.name};
  compare_elements(got_view, Elements(got_view), Elements(wanted_view), expectation, out);
  return out;
}

// Maps names of outputs to the file's keys. "out_1:shape" belongs to out_1: the part after the colon is the kind of the
// value.
std::map<std::string, std::string> output_keys(const Params &params, const std::string &prefix) {
  std::map<std::string, std::string> keys;
  for (size_t i = 0; i < params.size(); ++i) {
    const std::string_view key = params.name(i);
    if (key.empty()) keys["out"] = "";  // a .npy file holds one tensor without a name
    if (!key.starts_with(prefix)) continue;
    const std::string_view output = key.substr(prefix.size()), name = output.substr(0, output.find(':'));
    const bool is_empty = output.ends_with(":none") || output.ends_with(":tuple");
    if (!is_empty && (name == "out" || name.starts_with("out_"))) keys[std::string(name)] = key;
  }
  return keys;
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
                  cat("there is nothing to write to ", path, ": the result is not a tensor, number or shape"));
  params.save(path);
  if (!others.empty())
    print_message(
        cat("opdyno: ", path, " lacks ", join(others, ", "), ": a file holds only tensors, numbers and shapes\n"));
}

Expectation Expectation::from(const Args &args) {
  const FileKey file(*args.value("expect"));
  std::string prefix = file.key.value_or("");
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  return {file.path,
          prefix,
          args.real("rtol", 1e-5),
          args.real("atol", 1e-6),
          args.has("rtol") || args.has("atol"),
          args.has("equal-nan")};
}

std::string Comparison::text() const {
  if (!problem.empty()) return cat(name, ": ", problem);
  if (!is_compared) return cat(name, ": not compared, since a file holds only tensors, numbers and shapes");
  if (mismatches) return cat(name, ": ", mismatches, " of ", elements, " elements differ, ", worst);
  return cat(name, ": as expected (largest difference ", significant(largest_difference, 3), ")");
}

std::vector<Comparison> compare(const std::vector<Leaf> &leaves, const Expectation &expectation) {
  const Params params = Params::load(expectation.path);
  std::map<std::string, std::string> wanted = output_keys(params, expectation.prefix);
  if (wanted.empty())
    throw Failure(Exit::failed,
                  cat(expectation.path, " has no tensor ", expectation.prefix, "out or ", expectation.prefix,
                      "out_0 to compare with"),
                  OPD_OK, cat("info ", expectation.path));
  std::vector<Comparison> comparisons;
  for (const Leaf &leaf : leaves) {
    if (const auto found = wanted.find(leaf.name); found != wanted.end()) {
      Tensor tensor = attempt(Exit::failed, expectation.path, [&] { return params.get_tensor(found->second.c_str()); });
      comparisons.push_back(compare_leaf(leaf, std::move(tensor), expectation));
      wanted.erase(found);
    } else if (leaf.tensor) {
      comparisons.push_back({leaf.name, cat("is not in ", expectation.path)});
    } else if (leaf.value.type() != OPD_NONE) {
      comparisons.push_back({.name = leaf.name, .is_compared = false});
    }
  }
  for (const auto &[name, key] : wanted)
    comparisons.push_back({name, cat("is in ", expectation.path, ", but the function does not return it")});
  return comparisons;
}

}  // namespace opd::cli
