// Kernels in NVIDIA's container of code for several architectures. NVIDIA's own libraries make it (NVRTC, nvFatbin),
// and it has to reach the driver unharmed, which is the recording one or a real one.
#include <array>

#include "conformance/recorded_cuda.h"

using namespace opdyno_test;
using cuda_driver::Recording;

namespace {

constexpr const char *kSource = R"(
extern "C" __global__ void scale(const float *from, float *to, float factor, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = factor * from[i] + offset;
})";

// A library of NVIDIA's, of any release that is here; its functions give 0 for success.
class Library {
 public:
  explicit Library(const std::string &name) {
    for (const char *const release : {".so.13", ".so.12", ".so"})
      if (!handle_) handle_ = dlopen((name + release).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  bool is_here() const { return handle_ != nullptr; }
  template <class... T>
  void call(const char *name, T... args) const {
    const auto function = reinterpret_cast<int (*)(T...)>(dlsym(handle_, name));
    ASSERT_NE(function, nullptr) << name;
    ASSERT_EQ(function(args...), 0) << name;
  }

 private:
  void *handle_ = nullptr;
};
const Library &nvrtc() {
  static const Library library("libnvrtc");
  return library;
}
const Library &nvfatbin() {
  static const Library library("libnvfatbin");
  return library;
}

/** What NVRTC makes of the source, `kind` "PTX" or "CUBIN". */
std::string compiled(const std::string &kind, const std::string &architecture) {
  struct Program *program = nullptr;
  const std::string option = "-arch=" + architecture;
  const std::array<const char *, 1> options = {option.c_str()};
  nvrtc().call("nvrtcCreateProgram", &program, kSource, "kernels.cu", 0, static_cast<const char *const *>(nullptr),
               static_cast<const char *const *>(nullptr));
  nvrtc().call("nvrtcCompileProgram", program, 1, options.data());
  size_t size = 0;
  nvrtc().call(("nvrtcGet" + kind + "Size").c_str(), program, &size);
  std::string code(size, '\0');
  nvrtc().call(("nvrtcGet" + kind).c_str(), program, code.data());
  nvrtc().call("nvrtcDestroyProgram", &program);
  return code;
}

/** Code for 8.0 and 9.0, and PTX. */
std::string fatbin(const std::string &compression) {
  struct Fatbin *fatbin = nullptr;
  std::array<const char *, 2> options = {"-64", compression.c_str()};
  nvfatbin().call("nvFatbinCreate", &fatbin, options.data(), options.size());
  for (const std::string architecture : {"80", "90"}) {
    const std::string code = compiled("CUBIN", "sm_" + architecture);
    nvfatbin().call("nvFatbinAddCubin", fatbin, static_cast<const void *>(code.data()), code.size(),
                    architecture.c_str(), "scale");
  }
  const std::string code = compiled("PTX", "compute_80");
  nvfatbin().call("nvFatbinAddPTX", fatbin, code.data(), code.size(), "80", "scale",
                  static_cast<const char *>(nullptr));
  size_t size = 0;
  nvfatbin().call("nvFatbinSize", fatbin, &size);
  std::string bytes(size, '\0');
  nvfatbin().call("nvFatbinGet", fatbin, static_cast<void *>(bytes.data()));
  nvfatbin().call("nvFatbinDestroy", &fatbin);
  return bytes;
}

Module kernels(const std::string &name, const std::string &code) {
  const DLDataType handle{kDLOpaqueHandle, 64, 1}, f32{kDLFloat, 32, 1}, i32{kDLInt, 32, 1};
  return with_root("fatbin_" + name, "cuda",
                   text("fatbin") + number(1) + text("scale") + text("scale") + number(4) + raw(handle) + raw(handle) +
                       raw(f32) + raw(i32) + list({"blockIdx.x", "threadIdx.x"}) + number(0) + text(code));
}

class AFatbin : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc().is_here() || !nvfatbin().is_here()) GTEST_SKIP() << "libnvrtc.so and libnvfatbin.so are not here";
    ASSERT_NE(Recording::is_here(), cuda_driver::is_real_cuda()) << "LD_LIBRARY_PATH does not name the tested driver";
  }
};

}  // namespace

TEST_F(AFatbin, ReachesTheDriverUnchanged) {
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  for (const std::string compression : {"-compress=false", "-compress=true", "-compress-all"}) {
    const std::string code = fatbin(compression);
    ASSERT_EQ(code.substr(0, 4), "\x50\xed\x55\xba") << compression;
    const Module module = kernels(compression.substr(1), code);
    const Tensor out({4}, "float32", kDevice);
    const auto run = [&] { module.function("scale", 1)(x, out, 3.0, 2, 1, 4); };
    if (compression == "-compress-all" && !cuda_driver::is_real_cuda()) {
      expect_throws(run, OPD_CALL_FAILED, "the recording driver does not decompress");
    } else {
      run();
      EXPECT_EQ(read(out), (std::vector<float>{5, 8, 11, 14})) << compression;
    }
    if (!cuda_driver::is_real_cuda()) { EXPECT_EQ(Recording::image(), code) << compression; }
  }
}

// The driver takes the code for the device's architecture; if there is none, it compiles the PTX.
TEST_F(AFatbin, HasCodeForEachDevice) {
  const DLDevice other = {kDLCUDA, 1};
  if (opdyno::device_attr(other, OPD_ATTR_ABSENCE).type() != OPD_NONE) GTEST_SKIP() << "there is one GPU";
  const Module module = kernels("devices", fatbin("-compress=false"));
  const Function set_device = Function::global("__tvm_set_device");
  for (const DLDevice device : {other, kDevice}) {
    set_device(int{kDLCUDA}, device.device_id);
    const Tensor x = on(device, {1, 2, 3, 4});
    module.function("scale", 1)(x, x, 2.0, 1, 1, 4);
    EXPECT_EQ(read(x), (std::vector<float>{3, 5, 7, 9}));
  }
}
