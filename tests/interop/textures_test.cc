// Tensors in TVM's texture scopes on an OpenCL device: images, which kernels read and write by column, row and layer.
// The kernels and the module's bytes have the form that TVM gives them; its wheels crash when they build for textures.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "support/embedded_modules.h"
#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

constexpr DLDevice kTextured = {kDLOpenCL, 0};
constexpr const char *kScopes[] = {"global.texture", "global.texture-nhwc", "global.texture-weight"};
const std::vector<int64_t> kDims = {2, 3, 5, 7, 4};

class ATextureScope : public testing::Test {
 protected:
  void SetUp() override {
    const Value reason = opdyno::device_attr(kTextured, OPD_ATTR_ABSENCE);
    if (reason.type() != OPD_NONE) GTEST_SKIP() << reason.string();
    if (limit() == 0) GTEST_SKIP() << "the OpenCL device has no images";
  }
  static int64_t limit() {  // of the columns of an image
    return opdyno::device_attr(kTextured, OPD_ATTR_TEXTURE_SPATIAL_LIMIT).view().u.int64;
  }
};

// to = factor * from + column + 10 * row + 1000 * layer: so a wrong place is seen.
constexpr const char *kPlace = R"(
__kernel void place(__write_only image2d_array_t to, __read_only image2d_array_t from, float factor) {
  const sampler_t image_sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  const int4 at = (int4)((int)get_group_id(0), (int)get_group_id(1), (int)get_group_id(2), 0);
  write_imagef(to, at, factor * read_imagef(from, image_sampler, at) + (float)(at.x + 10 * at.y + 1000 * at.z));
})";

Module texture_kernels(const std::string &name) {
  const DLDataType handle{kDLOpaqueHandle, 64, 1}, f32{kDLFloat, 32, 1};
  const std::string params = number(3) + raw(handle) + raw(handle) + raw(f32);
  return with_root(name, "opencl",
                   text("cl") + number(1) + text("place") + text("place") + params +
                       list({"blockIdx.x", "blockIdx.y", "blockIdx.z"}) + number(0) + text(kPlace));
}

Tensor numbers(const std::vector<int64_t> &dims, const char *dtype = "float32") {
  Tensor host(dims, dtype);
  if (std::string(dtype) == "float32") {
    std::iota(host.data<float>(), host.data<float>() + host.size(), 0.5f);
  } else {
    auto *const bytes = static_cast<uint8_t *>(host.view().data);
    for (size_t i = 0; i < host.bytes(); ++i) bytes[i] = static_cast<uint8_t>(i * 31 % 60);  // no NaN of float16
  }
  return host;
}
std::string bytes_in(const Tensor &tensor) {
  std::string bytes(tensor.bytes(), '\0');
  tensor.copy_to_bytes(bytes.data(), bytes.size());
  return bytes;
}
Tensor moved(const Tensor &tensor, const char *scope) {
  return Tensor::of(Function::global("vm.builtin.to_device")(tensor, int{kDLOpenCL}, 0, scope));
}
Tensor view_of_part(const Tensor &tensor, int64_t first, int64_t count) {  // of float32 numbers
  const DLDataType f32{kDLFloat, 32, 1};
  return Tensor::of(Function::global("runtime.TVMTensorCreateView")(tensor, Shape({count}), f32, 4 * first));
}

Vm texture_vm(const std::string &program, const Module &kernels = {}) {
  const Module module = Executable::assemble(program).to_module();
  if (kernels) module.add_import(kernels);
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = &kTextured, options.num_devices = 1;
  return Vm(module, &options);
}

// What place() makes of numbers(kDims) in a scope, by the place that TVM gives an element there.
std::vector<float> placed(const std::string &scope, float factor) {
  std::vector<float> expected;
  float value = 0.5f;
  for (int64_t n = 0; n < kDims[0]; ++n)
    for (int64_t c = 0; c < kDims[1]; ++c)
      for (int64_t h = 0; h < kDims[2]; ++h)
        for (int64_t w = 0; w < kDims[3]; ++w)
          for (int channel = 0; channel < 4; ++channel, ++value) {
            int64_t x = w, y = h, z = n * 3 + c;                                          // N*C layers of H rows
            if (scope == "global.texture-nhwc") x = h * 7 + w, y = c, z = n;              // N layers of C rows
            if (scope == "global.texture-weight") x = (c * 5 + h) * 7 + w, y = n, z = 0;  // O rows
            expected.push_back(factor * value + static_cast<float>(x + 10 * y + 1000 * z));
          }
  return expected;
}
struct Grid {
  int columns, rows, layers;
};
Grid grid_of(const std::string &scope) {
  if (scope == "global.texture-nhwc") return {35, 3, 2};
  return scope == "global.texture-weight" ? Grid{105, 2, 1} : Grid{7, 5, 6};
}
std::vector<float> floats_in(const Tensor &tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.size()));
  tensor.copy_to_bytes(values.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace

TEST_F(ATextureScope, KeepsTheOrderOfATensor) {
  for (const char *dtype : {"float32", "float16", "int8", "int16", "int32", "uint8", "uint16", "uint32"})
    for (const char *scope : kScopes)
      for (const std::vector<int64_t> &dims : {kDims, {5, 7, 4}, {1, 1, 4}, {3, 1, 7, 4}}) {
        const Tensor host = numbers(dims, dtype), there = moved(host, scope);
        EXPECT_EQ(opdyno::to_string(there.view().device), "opencl:0");
        EXPECT_EQ(bytes_in(there), bytes_in(host)) << dtype << " " << scope;
        const Tensor again(dims, dtype);
        again.copy_from(there);
        EXPECT_EQ(bytes_in(again), bytes_in(host)) << dtype << " " << scope;
      }
}

TEST_F(ATextureScope, IsCopiedToAndFromOtherMemoryOfTheDevice) {
  const Tensor host = numbers(kDims);
  for (const char *from : kScopes) {
    const Tensor image = moved(host, from), buffer = moved(image, "global");
    EXPECT_EQ(bytes_in(buffer), bytes_in(host)) << from;
    EXPECT_EQ(bytes_in(moved(buffer, from)), bytes_in(host)) << from;
    for (const char *to : kScopes) EXPECT_EQ(bytes_in(moved(image, to)), bytes_in(host)) << from << " " << to;
  }
}

// TVM's programs say where values go also where they are there already.
TEST_F(ATextureScope, IsNotCopiedToItself) {
  const Tensor image = moved(numbers(kDims), "global.texture"), buffer = moved(image, "global");
  EXPECT_EQ(moved(image, "global.texture").view().data, image.view().data);
  EXPECT_EQ(moved(image, "").view().data, image.view().data);
  EXPECT_EQ(moved(buffer, "global").view().data, buffer.view().data);
  EXPECT_NE(moved(image, "global.texture-weight").view().data, image.view().data);
}

TEST_F(ATextureScope, IsCopiedInPartsOfWholePixels) {
  const Tensor host = numbers(kDims), image = moved(host, "global.texture");  // rows of 7 pixels, layers of 5 rows
  const Tensor other = moved(host, "global.texture-nhwc"), buffer = moved(host, "global");
  const std::vector<float> all = floats_in(host);
  for (const auto &[first, count] : {std::pair{0, 1},
                                     {1, 6},
                                     {3, 4},
                                     {3, 5},
                                     {7, 7},
                                     {7, 35},
                                     {6, 30},
                                     {35, 70},
                                     {34, 72},
                                     {0, 209},
                                     {209, 1},
                                     {5, 200}}) {
    const std::vector<float> expected(all.begin() + 4 * first, all.begin() + 4 * (first + count));
    EXPECT_EQ(floats_in(view_of_part(image, 4 * first, 4 * count)), expected) << first << " " << count;
    const Tensor zeros(kDims, "float32");
    std::fill_n(zeros.data<float>(), zeros.size(), 0.f);
    std::vector<float> written(all.size(), 0);
    std::copy(expected.begin(), expected.end(), written.begin() + 4 * first);
    for (const Tensor &source : {host, image, other, buffer}) {
      const Tensor target = moved(zeros, "global.texture");
      view_of_part(target, 4 * first, 4 * count).copy_from(view_of_part(source, 4 * first, 4 * count));
      EXPECT_EQ(floats_in(target), written) << first << " " << count;
    }
    const Tensor shifted = moved(zeros, "global.texture-weight");  // to another place
    view_of_part(shifted, 4, 4 * count - 4).copy_from(view_of_part(image, 4 * first, 4 * count - 4));
    std::vector<float> moved_on(all.size(), 0);
    std::copy(expected.begin(), expected.end() - 4, moved_on.begin() + 4);
    EXPECT_EQ(floats_in(shifted), moved_on) << first << " " << count;
  }
  expect_throws([&] { bytes_in(view_of_part(image, 1, 4)); }, OPD_UNSUPPORTED,
                "the 16 bytes at byte 4 of an image of opencl:0 cannot be copied alone: its pixels have 16 bytes");
  expect_throws([&] { bytes_in(view_of_part(image, 4, 3)); }, OPD_UNSUPPORTED, "the 12 bytes at byte 16 of an image");
}

TEST_F(ATextureScope, HasItsElementsWhereKernelsOfTvmLookForThem) {
  const Function place = texture_kernels("texture_places").function("place", 1);
  for (const char *scope : kScopes) {
    const Tensor from = moved(numbers(kDims), scope), to = moved(numbers(kDims), scope);
    const Grid grid = grid_of(scope);
    place(to, from, 2.0, grid.columns, grid.rows, grid.layers);
    EXPECT_EQ(floats_in(to), placed(scope, 2)) << scope;
  }
  const Tensor from = moved(numbers(kDims), "global.texture");
  expect_throws([&] { place(from, view_of_part(from, 4, 4), 1.0, 1, 1, 1); }, OPD_INVALID_ARGUMENT,
                "argument 1 of kernel place begins 16 bytes into its image; opencl:0 takes whole images only");
}

TEST_F(ATextureScope, ReadsHalfPrecision) {
  const Tensor host({1, 2, 4}, "float16");
  const uint16_t halves[] = {0x3C00, 0x4000, 0x3800, 0, 0x4200, 0x4400, 0xBC00, 0x3C00};  // 1 2 0.5 0 3 4 -1 1
  std::memcpy(host.view().data, halves, sizeof halves);
  const Tensor from = moved(host, "global.texture"), to = moved(host, "global.texture");
  texture_kernels("texture_halves").function("place", 1)(to, from, 2.0, 2, 1, 1);
  const uint16_t expected[] = {0x4000, 0x4400, 0x3C00, 0, 0x4700, 0x4880, 0xBC00, 0x4200};  // 2 4 1 0 7 9 -1 3
  EXPECT_EQ(bytes_in(to), std::string(reinterpret_cast<const char *>(expected), sizeof expected));
}

// A storage of the tensor's shape, one that is counted in bytes, and one of the other kind.
TEST_F(ATextureScope, IsAllocatedByPrograms) {
  const std::string shape = "shape(2, 3, 5, 7, 4)", image = "\"global.texture-nhwc\"";
  const auto program = [&](const std::string &storage, const std::string &tensor) {
    return ".func main(x) {\n  %i = call vm.builtin.to_device(%x, 4, 0, " + image +
           ")\n  %s = call vm.builtin.alloc_storage(%vm, " + storage +
           ")\n  %t = call vm.builtin.alloc_tensor(%s, 0, " + shape + ", dtype(float32)" + tensor +
           ")\n  call place(%t, %i, 3, 35, 3, 2)\n  ret %t\n}\n";
  };
  const Module kernels = texture_kernels("texture_program");
  for (const auto &[storage, tensor] : std::vector<std::pair<std::string, std::string>>{
           {shape + ", 0, dtype(float32), " + image, ", " + image},
           {shape + ", 0, dtype(float32), " + image, ""},
           {"shape(4000), 0, dtype(uint8), " + image, ", " + image},
           {"shape(4000), 0, dtype(uint8), \"global\"", ", " + image},
           {shape + ", 0, dtype(float32), \"global.texture\"", ", " + image}}) {
    const Vm vm = texture_vm(program(storage, tensor), kernels);
    for (int round = 0; round < 3; ++round)
      EXPECT_EQ(floats_in(Tensor::of(vm.call("main", numbers(kDims)))), placed("global.texture-nhwc", 3))
          << storage << tensor;
  }
}

TEST_F(ATextureScope, IsKeptByProgramsAndCounted) {
  const Vm vm = texture_vm(R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(2, 3, 5, 7, 4), 0, dtype(float32), "global.texture")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(2, 3, 5, 7, 4), dtype(float32), "global.texture")
  call place(%t, %x, 2, 7, 5, 6)
  %s = call vm.builtin.null_value()
  %b = call vm.builtin.to_device(%t, 4, 0, "global")
  %t = call vm.builtin.null_value()
  ret %b
}
.func sized(x, shape) {
  %s = call vm.builtin.alloc_storage(%vm, shape(2, 3, 5, 7, 4), 0, dtype(float32), "global.texture")
  %t = call vm.builtin.alloc_tensor(%s, 0, %shape, dtype(float32))
  call place(%t, %x, 2, 7, 5, 6)
  %b = call vm.builtin.to_device(%t, 4, 0, "global")
  ret %b
})",
                           texture_kernels("texture_kept"));
  const uint64_t bytes = 2 * 3 * 5 * 7 * 4 * sizeof(float);
  const Tensor x = moved(numbers(kDims), "global.texture");
  const auto requests = [&](const char *name, const std::vector<opd_value> &args) {
    const uint64_t before = opdyno::memory_stats(kTextured).alloc_count;
    EXPECT_EQ(floats_in(Tensor::of(vm.function(name).call(args))), placed("global.texture", 2)) << name;
    return opdyno::memory_stats(kTextured).alloc_count - before;
  };
  const uint64_t live = opdyno::memory_stats(kTextured).live_bytes;
  EXPECT_EQ(requests("main", {arg(x)}), 2u) << "the image and the copy in a buffer";
  EXPECT_EQ(opdyno::memory_stats(kTextured).live_bytes, live + bytes) << "the VM keeps the image";
  EXPECT_EQ(requests("main", {arg(x)}), 1u) << "the copy only";
  const Shape shape({2, 3, 5, 7, 4});
  for (int round = 0; round < 3; ++round) EXPECT_EQ(requests("sized", {arg(x), arg(shape)}), 1u) << "the copy only";
  expect_throws(
      [&] {
        vm.call("sized", x, Shape({2, 3, 4}));
      },
      OPD_INVALID_ARGUMENT, "a tensor of 96 bytes at offset 0 does not fill the image of 3360 bytes");
  check(opd_vm_trim(vm.get()));
  EXPECT_EQ(opdyno::memory_stats(kTextured).live_bytes, live);
}

TEST_F(ATextureScope, AppliesToConstants) {
  std::string elements;
  for (int i = 0; i < 24; ++i) elements += i % 2 ? "00000040" : "0000803f";  // 1 2 1 2 …
  const Vm vm = texture_vm(".const = tensor(float32, (2, 3, 4), 0x" + elements + R"()
.scope c[0] "global.texture-weight"
.func main() {
  %s = call vm.builtin.alloc_storage(%vm, shape(2, 3, 4), 0, dtype(float32), "global.texture-weight")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(2, 3, 4), dtype(float32), "global.texture-weight")
  call place(%t, c[0], 1, 3, 2, 1)
  ret %t
})",
                           texture_kernels("texture_constant"));
  std::vector<float> expected;
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 3; ++column)
      for (int channel = 0; channel < 4; ++channel)
        expected.push_back(static_cast<float>(1 + channel % 2 + column + 10 * row));
  EXPECT_EQ(floats_in(Tensor::of(vm.call("main"))), expected);
}

TEST_F(ATextureScope, RefusesUnsupportedTensors) {
  expect_throws(
      [&] {
        moved(numbers({2, 3, 4}, "float64"), "global.texture");
      },
      OPD_UNSUPPORTED,
      "an image of opencl:0 has channels of float32, float16, int8, int16, int32, uint8, uint16, uint32, but the "
      "tensor's dtype is float64");
  expect_throws(
      [&] {
        moved(numbers({2, 4}), "global.texture");
      },
      OPD_INVALID_ARGUMENT, "takes tensors of at least 3 dimensions, but the tensor is float32[2, 4]");
  const std::string size = std::to_string(limit() + 1);
  expect_throws(
      [&] {
        moved(numbers({1, limit() + 1, 4}), "global.texture");
      },
      OPD_UNSUPPORTED,
      "an image of " + size + " x 1 pixels in 1 layer is too large for opencl:0, which takes " +
          std::to_string(limit()) + " x ");
  expect_throws(
      [&] {
        moved(numbers({limit() + 1, 1, 4}), "global.texture-weight");
      },
      OPD_UNSUPPORTED, "an image of 1 x " + size + " pixels in 1 layer is too large");
  expect_throws(
      [&] {
        moved(numbers({2, 3, 4}), "global.texture-other");
      },
      OPD_UNSUPPORTED,
      "memory scope \"global.texture-other\" is not offered by opencl:0; \"global\" is, and for images "
      "\"global.texture\", \"global.texture-nhwc\", \"global.texture-weight\"");
  const Vm vm = texture_vm(R"(
.func main() {
  %s = call vm.builtin.alloc_storage(%vm, shape(2, 3, 4), 0, dtype(float32), "global.texture")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(1, 3, 4), dtype(float32))
  ret %t
})");
  expect_throws([&] { vm.call("main"); }, OPD_INVALID_ARGUMENT,
                "a tensor of 48 bytes at offset 0 does not fill the image of 96 bytes that its storage is");
}
