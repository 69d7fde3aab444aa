// cuda:0, by whatever driver there is: the launch of an empty kernel, over the driver's own call for the same, and the
// first call of kernels that NVRTC compiles or that are kept from an earlier load.
#include <dlfcn.h>
#include <sys/stat.h>

#include "device_kernels.h"

namespace {

constexpr DLDevice kDevice{kDLCUDA, 0};
constexpr const char *kSource = "extern \"C\" __global__ void nop(float *a, int n) {}";

const bench::KernelLibrary &library() {
  static const bench::KernelLibrary made("cuda", "cuda", bench::text(kSource));
  return made;
}

// Loads the library and finds and launches its kernel, which is compiled then, or read from the cache directory.
void load(const std::string &cache_directory) {
  auto options = opdyno::defaults(opd_module_options_init);
  options.cache_dir = cache_directory.c_str();
  const opdyno::Tensor tensor({16}, "float32", kDevice);
  opdyno::Module::load(library().path.c_str(), &options).function("nop", 1)(tensor, 1, 1, 1);
  opdyno::sync(kDevice);
}

const bench::AddRow launched("cuda_launch", "ns", [] {
  bench::need_device(kDevice);
  static const opdyno::Function kernel = opdyno::Module::load(library().path.c_str()).function("nop", 1);
  return bench::timed_launches(kDevice, kernel, false);
});

constexpr const char *kPtx = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry nop(.param .u64 a, .param .u32 n) {
  ret;
}
)";

// The driver's function, or an error that names it.
template <class F>
F *driver(const char *name) {
  static void *const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (void *found = library ? dlsym(library, name) : nullptr) return reinterpret_cast<F *>(found);
  throw bench::Missing(std::string("libcuda.so.1 lacks ") + name);
}

void check(int status, const char *function) {
  if (status) throw std::runtime_error(std::string(function) + " returned " + std::to_string(status));
}

// In the context that opdyno uses, too, which stays current: switching it is a part of what opdyno adds.
const bench::AddRow launched_bare("cuda_launch_bare", "ns", [] {
  bench::need_device(kDevice);
  void *context = nullptr, *module = nullptr, *kernel = nullptr;
  static uint64_t address;
  int device = 0;
  check(driver<int(int *, int)>("cuDeviceGet")(&device, kDevice.device_id), "cuDeviceGet");
  check(driver<int(void **, int)>("cuDevicePrimaryCtxRetain")(&context, device), "cuDevicePrimaryCtxRetain");
  check(driver<int(void *)>("cuCtxPushCurrent_v2")(context), "cuCtxPushCurrent");
  check(driver<int(void **, const void *, uint32_t, void *, void *)>("cuModuleLoadDataEx")(&module, kPtx, 0, nullptr,
                                                                                           nullptr),
        "cuModuleLoadDataEx");
  check(driver<int(void **, void *, const char *)>("cuModuleGetFunction")(&kernel, module, "nop"),
        "cuModuleGetFunction");
  check(driver<int(uint64_t *, size_t)>("cuMemAlloc_v2")(&address, 64), "cuMemAlloc");
  check(driver<int(void **)>("cuCtxPopCurrent_v2")(&context), "cuCtxPopCurrent");
  auto *const launch = driver<int(void *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, void *,
                                  void **, void **)>("cuLaunchKernel");
  auto *const wait = driver<int(void *)>("cuStreamSynchronize");
  auto *const push = driver<int(void *)>("cuCtxPushCurrent_v2");
  auto *const pop = driver<int(void **)>("cuCtxPopCurrent_v2");
  return bench::timed(1, [=](int64_t n) {
    check(push(context), "cuCtxPushCurrent");
    for (int64_t i = 0; i < n; ++i) {
      int number = 1;
      void *args[] = {&address, &number};
      check(launch(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr), "cuLaunchKernel");
      if (i % bench::kInFlight == 0) check(wait(nullptr), "cuStreamSynchronize");
    }
    check(wait(nullptr), "cuStreamSynchronize");
    void *popped = nullptr;
    check(pop(&popped), "cuCtxPopCurrent");
  });
});

const bench::AddRow kept("kernel_kept", "us", [] {
  bench::need_device(kDevice);
  const std::string directory = library().directory + "/kept";
  load(directory);
  return bench::timed(1000, [directory](int64_t n) {
    for (int64_t i = 0; i < n; ++i) load(directory);
  });
});

const bench::AddRow compiled("kernel_compiled", "us", [] {
  bench::need_device(kDevice);
  return bench::timed(1000, [](int64_t n) {
    static int number = 0;
    for (int64_t i = 0; i < n; ++i) load(library().directory + "/fresh" + std::to_string(++number));
  });
});

}  // namespace
