// Kernels in CUDA C++, compiled by NVIDIA's compiler where it is installed (CUDA_HOME says where).
#include "device/cuda/cuda_compile.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/cache_directory.h"
#include "base/error.h"
#include "support/c_artifact.h"
#include "support/failure.h"

namespace opd::cuda {
namespace {

namespace fs = std::filesystem;

constexpr int32_t kDriverVersion = 13000;
constexpr const char *kScaleCuda =
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
  static std::string compiled(int32_t compute_version, std::string_view source = kScaleCuda) {
    return compile_source(nvrtc(), compute_version, source, "kernels.so");
  }
};

TEST_F(CudaSource, IsCompiledWithTheHeadersOfItsToolkit) {
  const char *const home = std::getenv("CUDA_HOME");
  if (!home || !*home || !fs::exists(std::string(home) + "/include/cuda_fp16.h"))
    GTEST_SKIP() << "CUDA_HOME names no toolkit with headers";
  const std::string headers = std::string(home) + "/include";
  std::vector<std::string> expected = {headers};
  if (fs::exists(headers + "/cccl/cuda/std/cstdint")) expected.push_back(headers + "/cccl");
  EXPECT_EQ(nvrtc().include_directories, expected);
  EXPECT_EQ(nvrtc().has_standard_headers, expected.size() > 1 || fs::exists(headers + "/cuda/std/cstdint"));
  EXPECT_TRUE(nvrtc().name.starts_with("NVRTC 1")) << nvrtc().name;
  EXPECT_TRUE(std::is_sorted(nvrtc().architectures.begin(), nvrtc().architectures.end()));
}

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

TEST_F(CudaSource, IsRefusedForADeviceTooOldForTheCompiler) {
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

TEST_F(CudaSource, MustNotContainNul) {
  const Failure failure = failure_of([] { compiled(90, std::string_view("int\0x", 5)); });
  EXPECT_EQ(failure.code, OPD_BAD_FORMAT);
  EXPECT_NE(failure.message.find("must be text, but has a NUL byte at offset 3"), std::string::npos) << failure.message;
}

// With the toolkit's headers, and with the library's own in place of NVIDIA's C++ library.
TEST_F(CudaSource, CanIncludeTheHeadersOfTvmsKernels) {
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

class KeptCudaSource : public CudaSource {
 protected:
  void SetUp() override {
    CudaSource::SetUp();
    ::unsetenv("OPDYNO_KEPT_PROGRAMS_MB");
    directory_ = opdyno_test::fresh_directory("kept");
    headers_ = opdyno_test::fresh_directory("headers");
    with_header_.include_directories = {headers_};
    with_header_.has_standard_headers = false;
  }
  std::string kept(std::string_view source = kScaleCuda) const { return kept_by(nvrtc(), source); }
  std::string kept_by(const Nvrtc &nvrtc, std::string_view source, int32_t version = 90) const {
    return kept_or_compiled(nvrtc, version, source, "kernels.so", directory_);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(directory_)) names.push_back(entry.path());
    return names;
  }
  // Replaces what is kept by other code, in the form that the library writes.
  void replace(const std::string &code) const {
    const std::string name = fs::path(files().at(0)).stem();
    opdyno_test::write_text("code", code);
    keep_sealed(opdyno_test::scratch_directory() + "/code", directory_, name, ".program");
  }
  std::string directory_, headers_;
  Nvrtc with_header_ = nvrtc();  // with the tests' headers in place of the toolkit's
};

TEST_F(KeptCudaSource, IsCompiledOnce) {
  const std::string cubin = kept(), other = compiled(90, "extern \"C\" __global__ void other() {}");
  EXPECT_EQ(checked_image({"cubin", cubin, "kernels.so"}), cubin);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(kept(), cubin);
  replace(other);
  EXPECT_EQ(kept(), other) << "the kept code is what is used";
  EXPECT_EQ(compiled(90), cubin);
}

TEST_F(KeptCudaSource, IsCompiledAgainIfTheKeptCodeIsDamaged) {
  const std::string cubin = kept(), file = files().at(0), whole = opdyno_test::read_bytes(file);
  std::string damaged = whole;
  damaged[whole.size() / 2] ^= 1;
  for (const std::string &content : {damaged, whole.substr(0, whole.size() - 1), std::string()}) {
    std::ofstream(file, std::ios::binary) << content;
    EXPECT_EQ(kept(), cubin);
    EXPECT_EQ(opdyno_test::read_bytes(file), whole);
  }
  // Whole, but nothing that the driver may be given.
  replace(cubin.substr(0, cubin.size() / 2));
  EXPECT_EQ(kept(), cubin);
  EXPECT_EQ(opdyno_test::read_bytes(file), whole);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(KeptCudaSource, IsPtxForADeviceThatIsNewerThanTheCompiler) {
  const int newest = nvrtc().architectures.back();
  const std::string ptx = kept_by(nvrtc(), kScaleCuda, newest + 1);
  EXPECT_EQ(kept_by(nvrtc(), kScaleCuda, newest + 1), ptx);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(kept_by(nvrtc(), kScaleCuda, newest + 2), ptx) << "which is for that device, too";
  EXPECT_EQ(files().size(), 1u);
  replace(ptx + ptx);
  EXPECT_EQ(kept_by(nvrtc(), kScaleCuda, newest + 1), ptx) << "with a NUL in it, that is no PTX";
}

TEST_F(KeptCudaSource, IsCompiledAgainIfAnyInputChanges) {
  size_t expected = 0;
  const auto expect_new = [&](const Nvrtc &nvrtc, std::string_view source, int32_t version = 90) {
    kept_by(nvrtc, source, version);
    EXPECT_EQ(files().size(), ++expected);
    kept_by(nvrtc, source, version);
    EXPECT_EQ(files().size(), expected);
  };
  expect_new(nvrtc(), kScaleCuda);
  expect_new(nvrtc(), kScaleCuda, 80);
  expect_new(nvrtc(), std::string(kScaleCuda) + " ");
  EXPECT_NE(nvrtc().identity.find("/libnvrtc"), std::string::npos) << nvrtc().identity;
  Nvrtc other = nvrtc();
  other.identity += " changed";
  expect_new(other, kScaleCuda);
  other = nvrtc();
  other.name = "NVRTC 13.6";
  expect_new(other, kScaleCuda);
  expect_new(with_header_, kScaleCuda);
}

TEST_F(KeptCudaSource, IsCompiledAgainWhenAHeaderChanges) {
  const auto with_constant = [&](const std::string &value) {
    std::ofstream(headers_ + "/inner.h") << "static __constant__ int constant_" << value << " = 1;\n"
                                         << "#define NAME constant_" << value << "\n";
    std::ofstream(headers_ + "/outer.h") << "#include \"inner.h\"\n";
    return kept_by(with_header_, "#include <outer.h>\nextern \"C\" __global__ void f(int *to) { *to = NAME; }");
  };
  const std::string one = with_constant("one"), two = with_constant("two");
  EXPECT_NE(one.find("constant_one"), std::string::npos);
  EXPECT_NE(two.find("constant_two"), std::string::npos);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(with_constant("one"), one);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(KeptCudaSource, IsNotKeptIfItsHeadersAreUnknown) {
  std::ofstream(headers_ + "/a.h") << "";
  const char *const source = "#define NAME <a.h>\n#include NAME\nextern \"C\" __global__ void f() {}";
  EXPECT_EQ(kept_by(with_header_, source), kept_by(with_header_, source));
  EXPECT_EQ(files().size(), 0u);
}

TEST_F(KeptCudaSource, IsNotKeptIfItCannotBeCompiled) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(failure_of([&] { kept("this is not C++"); }).code, OPD_CALL_FAILED);
  EXPECT_EQ(files().size(), 0u);
}

// NVRTC takes the source to be in the folder in which the process works.
TEST_F(KeptCudaSource, IsCompiledAgainWhenAHeaderInTheFolderOfWorkChanges) {
  const fs::path before = fs::current_path();
  fs::current_path(headers_);
  const auto compiled_with = [&](const std::string &name) {
    std::ofstream("here.h") << "extern \"C\" __global__ void " << name << "() {}\n";
    return kept("#include \"here.h\"\n");
  };
  std::string one, two;
  const Failure failure = failure_of([&] { one = compiled_with("one"), two = compiled_with("two"); });
  fs::current_path(before);
  if (failure.code == OPD_CALL_FAILED) GTEST_SKIP() << "this release of NVRTC does not look there";
  EXPECT_NE(one.find(".text.one"), std::string::npos);
  EXPECT_NE(two.find(".text.two"), std::string::npos);
}

}  // namespace
}  // namespace opd::cuda
