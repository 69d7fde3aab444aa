// Kernels in CUDA C++, compiled by NVIDIA's compiler where it is installed (CUDA_HOME says where).
#include "device/cuda/cuda_compile.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.h"
#include "device/cuda/cuda_image.h"
#include "support/failure.h"

namespace opd::cuda {
namespace {

constexpr int32_t kDriverVersion = 13000;
constexpr const char *kSource =
    "extern \"C\" __global__ void scale(const float *from, float *to, float factor, int64_t n) {\n"
    "  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) to[i] = from[i] < INFINITY ? factor * from[i] : NAN;\n"
    "}\n";

struct Failure {
  opd_code code;
  std::string message;
};
Failure failure_of(const std::function<void()> &body) {
  try {
    body();
  } catch (const Exception &e) { return {e.error()->code, e.error()->message}; }
  return {OPD_OK, "nothing was thrown"};
}

class CudaSource : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc().absence.empty()) GTEST_SKIP() << nvrtc().absence;
  }
  static const Nvrtc &nvrtc() { return Nvrtc::get(kDriverVersion); }
  static std::string compiled(int32_t compute_version, std::string_view source = kSource) {
    return compile_source(nvrtc(), compute_version, source, "kernels.so");
  }
};

TEST_F(CudaSource, BecomesACubinForTheDevicesVersion) {
  for (const int32_t version : {80, 90}) {
    const std::string cubin = compiled(version);
    EXPECT_EQ(checked_image({"cubin", cubin, "kernels.so"}), cubin);
    EXPECT_NE(cubin.find(".text.scale"), std::string::npos);
    EXPECT_NE(cubin, compiled(version == 80 ? 90 : 80));
  }
}

TEST_F(CudaSource, BecomesPtxForADeviceThatIsNewerThanTheCompiler) {
  const int newest = nvrtc().architectures.back();
  const std::string ptx = compiled(newest + 1);
  EXPECT_EQ(checked_image({"ptx", ptx, "kernels.so"}), ptx);
  EXPECT_NE(ptx.find(concat(".target sm_", newest)), std::string::npos) << ptx;
  EXPECT_NE(ptx.find(".entry scale"), std::string::npos) << ptx;
}

TEST_F(CudaSource, IsRefusedForADeviceThatIsOlderThanTheCompilerKnows) {
  const Failure failure = failure_of([] { compiled(20); });
  EXPECT_EQ(failure.code, OPD_UNSUPPORTED);
  EXPECT_NE(failure.message.find("cannot compile the kernels of kernels.so for a device of compute version 2.0"),
            std::string::npos)
      << failure.message;
}

TEST_F(CudaSource, HasItsErrorsInTheMessageByItsOwnLines) {
  const Failure failure = failure_of([] { compiled(90, "\n\nextern \"C\" __global__ void f() { x = 1; }"); });
  EXPECT_EQ(failure.code, OPD_CALL_FAILED);
  for (const char *part : {"cannot compile the kernels of kernels.so: NVRTC_ERROR_COMPILATION (6)",
                           "kernels.cu(3): error: identifier \"x\" is undefined"})
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
}

TEST_F(CudaSource, IsText) {
  const Failure failure = failure_of([] { compiled(90, std::string_view("int\0x", 5)); });
  EXPECT_EQ(failure.code, OPD_BAD_FORMAT);
  EXPECT_NE(failure.message.find("byte 3 of the source for CUDA is NUL"), std::string::npos) << failure.message;
}

// With the toolkit's headers, and with the library's own in place of NVIDIA's C++ library.
TEST_F(CudaSource, IncludesWhatTvmsKernelsInclude) {
  const char *const source =
      "#include <cuda/std/cstdint>\nusing cuda::std::int8_t;\n#include <cuda/std/type_traits>\n"
      "static_assert(cuda::std::is_same_v<int, int> && cuda::std::is_integral<long>::value);\n"
      "static_assert(cuda::std::is_signed<float>::value && cuda::std::is_unsigned<unsigned char>::value);\n"
      "static_assert(!cuda::std::is_signed<bool>::value && !cuda::std::is_integral<float>::value);\n"
      "static_assert(cuda::std::is_floating_point<double>::value && sizeof(int64_t) == 8);\n"
      "cuda::std::conditional<true, int, float>::type a;\ncuda::std::enable_if<true, float>::type b;\n";
  compiled(90, source);
  Nvrtc alone = nvrtc();
  alone.include_directories.clear();
  alone.has_standard_headers = false;
  compile_source(alone, 90, source, "kernels.so");
  if (nvrtc().include_directories.empty()) return;
  const char *const half = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n";
  compiled(90, half);
  const Failure failure = failure_of([&] { compile_source(alone, 90, half, "kernels.so"); });
  EXPECT_NE(failure.message.find("the headers of the CUDA toolkit were not found, CUDA_HOME says where"),
            std::string::npos)
      << failure.message;
}

// The driver gets an address without a size: nothing may point beyond the bytes.
TEST_F(CudaSource, IsNoCubinWhenBytesAreMissingOrChanged) {
  const std::string cubin = compiled(90);
  for (size_t size = 0; size < cubin.size(); size += size < 128 ? 1 : 97)
    EXPECT_EQ(failure_of([&] {
                checked_image({"cubin", std::string_view(cubin).substr(0, size), "it"});
              }).code,
              OPD_BAD_FORMAT)
        << size;
  Elf64_Ehdr header;
  std::memcpy(&header, cubin.data(), sizeof header);
  const auto changed = [&](size_t at, uint64_t value) {
    std::string other = cubin;
    std::memcpy(other.data() + at, &value, sizeof value);
    return failure_of([&] { checked_image({"cubin", other, "it"}); }).code;
  };
  EXPECT_EQ(changed(offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX - 8), OPD_BAD_FORMAT);
  EXPECT_EQ(changed(offsetof(Elf64_Ehdr, e_phoff), cubin.size()), OPD_BAD_FORMAT);
  const size_t section = header.e_shoff + (header.e_shnum - 1u) * sizeof(Elf64_Shdr);
  EXPECT_EQ(changed(section + offsetof(Elf64_Shdr, sh_offset), UINT64_MAX), OPD_BAD_FORMAT);
  EXPECT_EQ(changed(section + offsetof(Elf64_Shdr, sh_size), cubin.size()), OPD_BAD_FORMAT);
}

}  // namespace
}  // namespace opd::cuda
