// What the tests of parameter files share.
#pragma once
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/opdyno_test.h"
#include "support/paths.h"

namespace params_test {

namespace fs = std::filesystem;
using opdyno::check;
using opdyno::Tensor;
using opdyno_test::expect_error;

inline std::string read_bytes(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}
inline fs::path data_path(const std::string &name) { return fs::path(opdyno_test::test_data("")) / "params" / name; }
inline std::string data_bytes(const std::string &name) {
  const std::string bytes = read_bytes(data_path(name));
  EXPECT_FALSE(bytes.empty()) << name;
  return bytes;
}

inline std::vector<int64_t> shape_of(const Tensor &tensor) {
  return {tensor.view().shape, tensor.view().shape + tensor.view().ndim};
}

// A tensor that holds 0, 1, 2 …
template <class T>
Tensor counting(std::vector<int64_t> shape, DLDataType dtype) {
  Tensor tensor;
  check(opd_tensor_create(shape.data(), static_cast<int32_t>(shape.size()), dtype, {kDLCPU, 0}, tensor.out()));
  const size_t count = opd_tensor_bytes(tensor.get()) / sizeof(T);
  for (size_t i = 0; i < count; ++i) tensor.data<T>()[i] = static_cast<T>(i);
  return tensor;
}

struct Params : opdyno::Params {
  Params() { check(opd_params_create(out())); }
  explicit Params(const fs::path &path) { check(opd_params_open(path.c_str(), nullptr, out())); }
  Params(const fs::path &path, const opd_params_options &options) {
    check(opd_params_open(path.c_str(), &options, out()));
  }
  explicit Params(const std::string &bytes) { check(opd_params_load_bytes(bytes.data(), bytes.size(), out())); }

  Tensor operator[](const char *name) const { return get_tensor(name); }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (int32_t i = 0; i < opd_params_count(get()); ++i) out.push_back(opd_params_name(get(), i));
    return out;
  }
  std::string bytes() const { return opdyno::text_of(opd_params_save_bytes, get()); }
};

inline opd_error *open_error(const fs::path &path, const opd_params_options &options) {
  opd_params *params = nullptr;
  opd_error *error = opd_params_open(path.c_str(), &options, &params);
  EXPECT_EQ(params != nullptr, error == nullptr);
  opd_params_release(params);
  return error;
}
inline opd_params_options options(int copy, int prefetch = 0, int verify = 0) {
  opd_params_options out;
  opd_params_options_init(&out);
  out.copy = copy, out.prefetch = prefetch, out.verify_checksums = verify;
  return out;
}
inline void write_bytes(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
inline uintptr_t address(const Tensor &tensor) { return reinterpret_cast<uintptr_t>(tensor.view().data); }
inline bool same(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }
inline std::string elements(const Tensor &tensor) {
  return {static_cast<const char *>(tensor.view().data), opd_tensor_bytes(tensor.get())};
}

inline opd_error *load_error(const std::string &bytes) {
  opd_params *params = nullptr;
  opd_error *error = opd_params_load_bytes(bytes.data(), bytes.size(), &params);
  EXPECT_EQ(params != nullptr, error == nullptr);
  opd_params_release(params);
  return error;
}

struct Dtype {
  const char *name;
  DLDataType dtype;
};
inline constexpr Dtype kDtypes[] = {
    {"bool", {kDLBool, 8, 1}},          {"int8", {kDLInt, 8, 1}},
    {"int16", {kDLInt, 16, 1}},         {"int32", {kDLInt, 32, 1}},
    {"int64", {kDLInt, 64, 1}},         {"uint8", {kDLUInt, 8, 1}},
    {"uint16", {kDLUInt, 16, 1}},       {"uint32", {kDLUInt, 32, 1}},
    {"uint64", {kDLUInt, 64, 1}},       {"float16", {kDLFloat, 16, 1}},
    {"float32", {kDLFloat, 32, 1}},     {"float64", {kDLFloat, 64, 1}},
    {"complex64", {kDLComplex, 64, 1}}, {"complex128", {kDLComplex, 128, 1}},
};

inline double element(const Tensor &tensor, size_t i) {
  const DLDataType dtype = tensor.view().dtype;
  const bool negative_possible = dtype.code == kDLInt;
  switch (dtype.code) {
    case kDLFloat:
      if (dtype.bits == 64) return tensor.data<double>()[i];
      if (dtype.bits == 32) return tensor.data<float>()[i];
      // float16: 0 or normal numbers only in these tests
      if (const uint16_t half = tensor.data<uint16_t>()[i]; half != 0)
        return std::ldexp((half & 0x3FF) + 1024, (half >> 10) - 25);
      return 0;
    case kDLComplex:
      return dtype.bits == 64 ? tensor.data<float>()[2 * i] : tensor.data<double>()[2 * i];
    default:
      uint64_t bits = 0;
      std::memcpy(&bits, tensor.data<char>() + i * dtype.bits / 8, dtype.bits / 8);
      return negative_possible ? static_cast<double>(static_cast<int64_t>(bits)) : static_cast<double>(bits);
  }
}

inline void expect_counting(const Tensor &tensor, DLDataType dtype, const std::vector<int64_t> &shape) {
  const DLTensor &view = tensor.view();
  EXPECT_EQ(shape_of(tensor), shape);
  EXPECT_TRUE(view.dtype.code == dtype.code && view.dtype.bits == dtype.bits && view.dtype.lanes == 1);
  EXPECT_EQ(view.device.device_type, kDLCPU);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data) % 64, 0u);
  EXPECT_TRUE(opd_tensor_is_contiguous(tensor.get()));
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(element(tensor, i), static_cast<double>(dtype.code == kDLBool ? i % 2 : i));
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (fs::temp_directory_path() / "opdyno-params-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }
  fs::path operator/(const std::string &name) const { return path_ / name; }
  size_t num_files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

}  // namespace params_test
