// cuda:0, by whatever driver there is: the launch of an empty kernel, and the first call of kernels that NVRTC compiles
// or that are kept from an earlier load.
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
