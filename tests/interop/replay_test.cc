// Loads what real TVM compiled, without TVM, and compares with what TVM answered. README.md describes the files.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "support/opdyno_test.h"

using namespace opdyno_test;
namespace fs = std::filesystem;

namespace {

// ---- recorded values

struct Leaf {
  Tensor tensor;
  std::string suffix;  // "", "shape", "str", "dtype", "tensor", "bfloat16", "none", "tuple"
};
using Path = std::vector<int>;
using Tree = std::map<Path, Leaf>;

struct Case {
  std::string call;
  Tree inputs, outputs, after;
  std::string error;
};

std::string bytes_of(const Tensor &tensor) { return {tensor.data<char>(), opd_tensor_bytes(tensor.get())}; }

Path parse_path(const std::string &digits) {
  Path path;
  for (size_t at = 0; at < digits.size();) {
    size_t used = 0;
    path.push_back(std::stoi(digits.substr(at + 1), &used));
    at += 1 + used;
  }
  return path;
}

std::vector<Case> read_cases(const std::string &file) {
  const Params params = Params::load(file);
  std::vector<Case> cases;
  for (size_t i = 0; i < opd_params_count(params.get()); ++i) {
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

Tensor copy_of(const Tensor &from, const char *dtype = nullptr) {
  DLDataType type = from.view().dtype;
  if (dtype) check(opd_dtype_from_string(dtype, &type));
  Tensor copy;
  check(opd_tensor_create(from.view().shape, from.view().ndim, type, {kDLCPU, 0}, copy.out()));
  std::memcpy(copy.data<char>(), from.data<char>(), opd_tensor_bytes(from.get()));
  return copy;
}

Value value_of(const Leaf &leaf) {
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

Value value_at(const Tree &tree, const Path &path) {
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
  std::vector<opd_value> views;
  for (const Value &item : items) views.push_back(item.view());
  Handle<opd_array> array;
  check(opd_array_create(views.data(), views.size(), array.out()));
  return Value::retain(arg(array));
}

// ---- comparison

double element(const DLTensor &t, int64_t i) {
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

void expect_equal_tensors(const DLTensor &got, const DLTensor &wanted, const std::string &where) {
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

void expect_equal(const opd_value &got, const opd_value &wanted, const std::string &where) {
  if (wanted.type == OPD_TENSOR) {
    ASSERT_EQ(got.type, OPD_TENSOR) << where << " is " << Value::retain(got).to_string();
    expect_equal_tensors(Tensor::of(got).view(), Tensor::of(wanted).view(), where);
  } else if (wanted.type == OPD_ARRAY) {
    ASSERT_EQ(got.type, OPD_ARRAY) << where;
    const auto *a = reinterpret_cast<const opd_array *>(got.u.object),
               *b = reinterpret_cast<const opd_array *>(wanted.u.object);
    ASSERT_EQ(opd_array_count(a), opd_array_count(b)) << where;
    for (size_t i = 0; i < opd_array_count(a); ++i) {
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

// ---- what some artefacts call on the host: host_functions.py describes them

void define_host_functions() {
  define("opdyno.test.scale", [](const opd_value *args, int32_t, opd_value *out) {
    const Tensor from = Tensor::of(args[0]), to = copy_of(from);
    for (int64_t i = 0; i < to.size(); ++i)
      to.data<float>()[i] = from.data<float>()[i] * static_cast<float>(args[1].u.int64);
    *out = Value::retain(arg(to)).view();
    opd_object_retain(to.get());
  });
  define("opdyno.test.add",
         [](const opd_value *args, int32_t, opd_value *out) { *out = opd_int(args[0].u.int64 + args[1].u.int64); });
  define("opdyno.test.double", [](const opd_value *args, int32_t, opd_value *) {
    const DLTensor &t = args[0].type == OPD_TENSOR ? Tensor::of(args[0]).view() : *args[0].u.dltensor;
    int64_t count = 1;
    for (int i = 0; i < t.ndim; ++i) count *= t.shape[i];
    for (int64_t i = 0; i < count; ++i) elements(args[0])[i] *= 2;
  });
  define("opdyno.test.sum_into", [](const opd_value *args, int32_t, opd_value *) {
    const Tensor x = Tensor::of(args[0]), y = Tensor::of(args[1]), out = Tensor::of(args[2]);
    for (int64_t i = 0; i < out.size(); ++i) out.data<float>()[i] = x.data<float>()[i] + y.data<float>()[i];
  });
  define("opdyno.test.fail", [](const opd_value *, int32_t, opd_value *) {
    throw Error(opd_error_create(OPD_CALL_FAILED, "ValueError", "refused on purpose"));
  });
  const Function negate = make_function([](const opd_value *args, int32_t, opd_value *out) {
    Value x;
    check(opd_array_get(reinterpret_cast<const opd_array *>(args[0].u.object), 0, x.out()));
    const Tensor to = copy_of(Tensor::of(x));
    for (int64_t i = 0; i < to.size(); ++i) to.data<float>()[i] *= -1;
    *out = Value::retain(arg(to)).view();
    opd_object_retain(to.get());
  });
  Function::global("vm.builtin.register_py_func")("opdyno.test.negate", negate);
}

// ---- the replay

class Artefact {
 public:
  explicit Artefact(const std::string &path) : module_(load(path)) {
    if (std::string(opd_module_kind(module_.get())) == "relax.VMExecutable") vm_ = Vm(module_);
  }

  opd_error *call(const std::string &name, const std::vector<opd_value> &args, Value &result) const {
    const auto count = static_cast<int32_t>(args.size());
    if (vm_) return opd_vm_call(vm_.get(), name.c_str(), args.data(), count, nullptr, result.out());
    return opd_function_call(module_.function(name.c_str()).get(), args.data(), count, result.out());
  }

 private:
  static Module load(const fs::path &path) {
    if (path.extension() != ".a") return Module::load(path.string());
    // Objects for a system library, linked into this program; build_models.py chooses the prefix.
    std::string release = path.parent_path().filename().string();
    std::replace(release.begin(), release.end(), '.', '_');
    const std::string mode = path.parent_path().parent_path().filename().string();
    Module module;
    check(opd_module_system_lib((mode + "_" + release + "_" + path.stem().string() + "_").c_str(), module.out()));
    return module;
  }

  Module module_;
  Vm vm_;
};

void replay(const Artefact &artefact, const Case &c) {
  const std::string function = c.call.substr(0, c.call.find('@'));
  std::vector<Value> inputs;
  std::set<int> places;
  for (const auto &[path, leaf] : c.inputs) places.insert(path[0]);
  for (const int place : places) inputs.push_back(value_at(c.inputs, {place}));
  std::vector<opd_value> args;
  for (const Value &input : inputs) args.push_back(input.view());
  Value result;
  opd_error *error = artefact.call(function, args, result);
  if (!c.error.empty()) {
    ASSERT_NE(error, nullptr) << c.call << " should fail: " << c.error;
    const Error e(error);
    // TVM says InternalError where an argument count is wrong; ours is the Python kind for it.
    const std::string kind = c.error.substr(0, c.error.find(':'));
    if (kind != "InternalError") { EXPECT_EQ(e.kind(), kind) << c.call << ": " << e.message() << "\nTVM: " << c.error; }
    return;
  }
  check(error);
  if (!c.outputs.empty()) expect_equal(result.view(), value_at(c.outputs, {}).view(), c.call + "/out");
  for (const auto &[path, leaf] : c.after)
    expect_equal(args[static_cast<size_t>(path[0])], value_of(leaf).view(), c.call + "/after");
}

bool is_ours(const fs::path &path) {
#ifdef OPDYNO_INTEROP_LINKED  // this program has them linked in
  return path.extension() == ".a";
#else
  return path.extension() == ".so" || path.extension() == ".tar";
#endif
}

std::vector<std::string> artefacts() {
  std::vector<std::string> files;
  const char *more = std::getenv("OPDYNO_INTEROP_DIR");  // a folder like data/, made anew
  for (const std::string &folder : {std::string(OPDYNO_INTEROP_DATA), std::string(more ? more : "")})
    if (!folder.empty() && fs::exists(folder))
      for (const auto &entry : fs::recursive_directory_iterator(folder))
        if (is_ours(entry.path()) && fs::exists(fs::path(entry.path()).replace_extension(".npz")))
          files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

class Replay : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(Replay, GivesTvmsAnswers) {
  define_host_functions();
  const Artefact artefact(GetParam());
  const auto cases = read_cases(fs::path(GetParam()).replace_extension(".npz").string());
  ASSERT_FALSE(cases.empty());
  for (const Case &c : cases) {
    SCOPED_TRACE(c.call);
    try {
      replay(artefact, c);
    } catch (const std::exception &e) { ADD_FAILURE() << e.what(); }
  }
}

INSTANTIATE_TEST_SUITE_P(Tvm, Replay, testing::ValuesIn(artefacts()), [](const auto &info) {
  const fs::path path(info.param);
  std::string name =
      path.parent_path().filename().string() + "_" + path.stem().string() + "_" + std::to_string(info.index);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});
