// What TVM recorded: values of an .npz file as arguments and answers, and how they are compared. README.md describes
// the keys.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "support/opdyno_test.h"
#include "support/paths.h"

namespace opdyno_test {

struct Leaf {
  Tensor tensor;
  std::string suffix;  // "", "shape", "str", "dtype", "tensor", "bfloat16", "none", "tuple"
};
using Path = std::vector<int>;
using Tree = std::map<Path, Leaf>;

Value value_at(const Tree &tree, const Path &path);

struct Case {
  std::string call;
  Tree inputs, outputs, after;
  std::string error;

  std::string function() const { return call.substr(0, call.find('@')); }
  /** Fresh arguments, which the call may write to. */
  std::vector<Value> arguments() const {
    std::set<int> places;
    for (const auto &[path, leaf] : inputs) places.insert(path[0]);
    std::vector<Value> values;
    for (const int place : places) values.push_back(value_at(inputs, {place}));
    return values;
  }
};

/** The views of values, which must outlive them. */
inline std::vector<opd_value> views_of(const std::vector<Value> &values) {
  std::vector<opd_value> views;
  for (const Value &value : values) views.push_back(value.view());
  return views;
}

inline std::string bytes_of(const Tensor &tensor) { return {tensor.data<char>(), opd_tensor_bytes(tensor.get())}; }

inline Path parse_path(const std::string &digits) {
  Path path;
  for (size_t at = 0; at < digits.size();) {
    size_t used = 0;
    path.push_back(std::stoi(digits.substr(at + 1), &used));
    at += 1 + used;
  }
  return path;
}

inline std::vector<Case> read_cases(const std::string &file) {
  const Params params = Params::load(file);
  std::vector<Case> cases;
  for (int32_t i = 0; i < opd_params_count(params.get()); ++i) {
    const std::string key = opd_params_name(params.get(), i);
    const size_t slash = key.find('/'), colon = key.find(':', slash);
    const std::string call = key.substr(0, slash), suffix = colon == std::string::npos ? "" : key.substr(colon + 1);
    const std::string part = key.substr(slash + 1, colon == std::string::npos ? std::string::npos : colon - slash - 1);
    auto found = std::find_if(cases.begin(), cases.end(), [&](const Case &c) { return c.call == call; });
    if (found == cases.end()) found = cases.insert(cases.end(), Case{call, {}, {}, {}, {}});
    const Leaf leaf{params.get_tensor(key.c_str()), suffix};
    const auto rest = [&](const char *name) { return parse_path(part.substr(std::strlen(name))); };
    if (part == "error") found->error = bytes_of(leaf.tensor);
    else if (part.rfind("in", 0) == 0) found->inputs[rest("in")] = leaf;
    else if (part.rfind("out", 0) == 0) found->outputs[rest("out")] = leaf;
    else if (part.rfind("after", 0) == 0) found->after[rest("after")] = leaf;
    else ADD_FAILURE() << "unknown key " << key;
  }
  return cases;
}

inline Tensor copy_of(const Tensor &from, const char *dtype = nullptr) {
  DLDataType type = from.view().dtype;
  if (dtype) check(opd_dtype_from_string(dtype, &type));
  Tensor copy;
  check(opd_tensor_create(from.view().shape, from.view().ndim, type, {kDLCPU, 0}, copy.out()));
  std::memcpy(copy.data<char>(), from.data<char>(), opd_tensor_bytes(from.get()));
  return copy;
}

inline Value value_of(const Leaf &leaf) {
  Value value;
  const Tensor &t = leaf.tensor;
  if (leaf.suffix == "none") return value;
  if (leaf.suffix == "shape") {
    Handle<opd_shape> shape;
    check(opd_shape_create(t.data<int64_t>(), static_cast<size_t>(t.size()), shape.out()));
    return Value::retain(arg(shape));
  }
  if (leaf.suffix == "tuple") {
    Handle<opd_array> array;
    check(opd_array_create(nullptr, 0, array.out()));
    return Value::retain(arg(array));
  }
  if (leaf.suffix == "str") {
    check(opd_string_create(t.data<char>(), static_cast<size_t>(t.size()), value.out()));
    return value;
  }
  if (leaf.suffix == "dtype") {
    DLDataType dtype;
    check(opd_dtype_from_string(bytes_of(t).c_str(), &dtype));
    return Value::retain(opd_dtype_value(dtype));
  }
  if (leaf.suffix == "bfloat16") return Value::retain(arg(copy_of(t, "bfloat16")));
  if (t.view().ndim > 0 || leaf.suffix == "tensor") return Value::retain(arg(copy_of(t)));
  if (t.view().dtype.code == kDLFloat) return Value::retain(opd_float(*t.data<double>()));
  if (t.view().dtype.code == kDLInt) return Value::retain(opd_int(*t.data<int64_t>()));
  return Value::retain(opd_bool(*t.data<uint8_t>()));
}

inline Value value_at(const Tree &tree, const Path &path) {
  if (const auto leaf = tree.find(path); leaf != tree.end()) return value_of(leaf->second);
  std::vector<Value> items;
  for (int i = 0;; ++i) {
    Path child = path;
    child.push_back(i);
    const bool any = std::any_of(tree.begin(), tree.end(), [&](const auto &entry) {
      return entry.first.size() >= child.size() && std::equal(child.begin(), child.end(), entry.first.begin());
    });
    if (!any) break;
    items.push_back(value_at(tree, child));
  }
  const auto views = views_of(items);
  Handle<opd_array> array;
  check(opd_array_create(views.data(), views.size(), array.out()));
  return Value::retain(arg(array));
}

// ---- comparison

inline double element(const DLTensor &t, int64_t i) {
  const char *data = static_cast<const char *>(t.data) + t.byte_offset;
  if (t.dtype.code == kDLFloat && t.dtype.bits == 32) return reinterpret_cast<const float *>(data)[i];
  if (t.dtype.code == kDLFloat && t.dtype.bits == 64) return reinterpret_cast<const double *>(data)[i];
  const auto bits = reinterpret_cast<const uint16_t *>(data)[i];
  const int exponent_bits = t.dtype.code == kDLBfloat ? 8 : 5, mantissa_bits = 15 - exponent_bits;
  const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1), mantissa = bits & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa ? NAN : bits >> 15 ? -INFINITY : INFINITY;
  const double magnitude = exponent ? std::ldexp(1.0 + std::ldexp(mantissa, -mantissa_bits), exponent - bias)
                                    : std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return bits >> 15 ? -magnitude : magnitude;
}

inline void expect_equal_tensors(const DLTensor &got, const DLTensor &wanted, const std::string &where) {
  ASSERT_EQ(std::vector<int64_t>(got.shape, got.shape + got.ndim),
            std::vector<int64_t>(wanted.shape, wanted.shape + wanted.ndim))
      << where;
  ASSERT_EQ(got.dtype.bits, wanted.dtype.bits) << where;
  int64_t count = 1;
  for (int i = 0; i < got.ndim; ++i) count *= got.shape[i];
  if (got.dtype.code != kDLFloat && got.dtype.code != kDLBfloat) {
    const size_t size = static_cast<size_t>(count) * ((got.dtype.bits + 7) / 8);
    EXPECT_EQ(std::memcmp(static_cast<char *>(got.data) + got.byte_offset, wanted.data, size), 0) << where;
    return;
  }
  const double tolerance = got.dtype.bits >= 32 ? 1e-5 : 2e-3;  // libm of another machine may round differently
  for (int64_t i = 0; i < count; ++i) {
    const double a = element(got, i), b = element(wanted, i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    ASSERT_LE(std::fabs(a - b), tolerance * (1 + std::fabs(b))) << where << ", element " << i;
  }
}

inline void expect_equal(const opd_value &got, const opd_value &wanted, const std::string &where) {
  if (wanted.type == OPD_TENSOR) {
    ASSERT_EQ(got.type, OPD_TENSOR) << where << " is " << Value::retain(got).to_string();
    expect_equal_tensors(Tensor::of(got).view(), Tensor::of(wanted).view(), where);
  } else if (wanted.type == OPD_ARRAY) {
    ASSERT_EQ(got.type, OPD_ARRAY) << where;
    const auto *a = reinterpret_cast<const opd_array *>(got.u.object),
               *b = reinterpret_cast<const opd_array *>(wanted.u.object);
    ASSERT_EQ(opd_array_count(a), opd_array_count(b)) << where;
    for (int32_t i = 0; i < opd_array_count(a); ++i) {
      Value x, y;
      check(opd_array_get(a, i, x.out()));
      check(opd_array_get(b, i, y.out()));
      expect_equal(x.view(), y.view(), where + "_" + std::to_string(i));
    }
  } else if (wanted.type == OPD_BOOL || wanted.type == OPD_INT) {
    EXPECT_TRUE(got.type == OPD_BOOL || got.type == OPD_INT) << where;
    EXPECT_EQ(got.u.int64, wanted.u.int64) << where;
  } else {
    EXPECT_EQ(Value::retain(got).to_string(), Value::retain(wanted).to_string()) << where;
  }
}

// ---- files

enum class Newest { kToo, kOnly };

/** Artifacts with recorded answers: those of the repository, and those in the directory $OPDYNO_INTEROP_DIR, made anew;
 * kOnly: the former only where there are none of the latter, which are the same and more. */
inline std::vector<std::string> recorded_artifacts(const std::set<std::string> &suffixes,
                                                   Newest newest = Newest::kToo) {
  std::vector<std::string> files;
  const char *more = std::getenv("OPDYNO_INTEROP_DIR");
  for (const std::string &directory : {std::string(more ? more : ""), interop_data("")})
    if (!directory.empty() && std::filesystem::exists(directory) && (newest == Newest::kToo || files.empty()))
      for (const auto &entry : std::filesystem::recursive_directory_iterator(directory)) {
        const auto &path = entry.path();
        if (suffixes.count(path.extension().string()) && exists(std::filesystem::path(path).replace_extension(".npz")))
          files.push_back(path.string());
      }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<Case> cases_of(const std::string &artifact) {
  return read_cases(std::filesystem::path(artifact).replace_extension(".npz").string());
}

/** A name for one of them, as GoogleTest wants it. */
inline std::string test_name(const std::string &artifact, size_t index) {
  const std::filesystem::path path(artifact);
  std::string name = path.parent_path().filename().string() + "_" + path.stem().string() + "_" + std::to_string(index);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

}  // namespace opdyno_test
