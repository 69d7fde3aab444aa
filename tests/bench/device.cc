// A device beside the CPU: opencl:0. What a launch costs on the host over the driver's own calls, and memory of the
// pool.
#include <dlfcn.h>

#include "device_kernels.h"

namespace {

constexpr DLDevice kDevice{kDLOpenCL, 0};
constexpr const char *kSource = "__kernel void nop(__global float *a, int n) {}";
using bench::kInFlight;

bench::Sampler launches(bool is_recorded) {
  bench::need_device(kDevice);
  static const opdyno::Function kernel = [] {
    const bench::KernelLibrary library("opencl", "cl", bench::text(kSource));
    return opdyno::Module::load(library.path.c_str()).function("nop", 1);
  }();
  return bench::timed_launches(kDevice, kernel, is_recorded);
}

// The driver's own calls for the same, by the same loader.
struct Driver {
  template <class F>
  F *find(const char *name) const {
    if (void *found = dlsym(library, name)) return reinterpret_cast<F *>(found);
    throw bench::Missing(std::string("libOpenCL.so.1 lacks ") + name);
  }
  void *const library = dlopen("libOpenCL.so.1", RTLD_NOW);
};

bench::Sampler bare_launches() {
  bench::need_device(kDevice);
  const Driver driver;
  void *platform = nullptr, *device = nullptr;
  driver.find<int(uint32_t, void **, uint32_t *)>("clGetPlatformIDs")(1, &platform, nullptr);
  driver.find<int(void *, uint64_t, uint32_t, void **, uint32_t *)>("clGetDeviceIDs")(platform, UINT32_MAX, 1, &device,
                                                                                      nullptr);
  void *const context = driver.find<void *(void *, uint32_t, void **, void *, void *, int *)>("clCreateContext")(
      nullptr, 1, &device, nullptr, nullptr, nullptr);
  void *const queue =
      driver.find<void *(void *, void *, uint64_t, int *)>("clCreateCommandQueue")(context, device, 0, nullptr);
  static void *buffer;
  buffer =
      driver.find<void *(void *, uint64_t, size_t, void *, int *)>("clCreateBuffer")(context, 1, 64, nullptr, nullptr);
  const char *source = kSource;
  void *const program = driver.find<void *(void *, uint32_t, const char **, const size_t *, int *)>(
      "clCreateProgramWithSource")(context, 1, &source, nullptr, nullptr);
  driver.find<int(void *, uint32_t, void **, const char *, void *, void *)>("clBuildProgram")(program, 1, &device, "",
                                                                                              nullptr, nullptr);
  void *const kernel = driver.find<void *(void *, const char *, int *)>("clCreateKernel")(program, "nop", nullptr);
  if (!kernel) throw std::runtime_error("the driver of opencl:0 cannot compile an empty kernel");
  auto *const set_arg = driver.find<int(void *, uint32_t, size_t, const void *)>("clSetKernelArg");
  auto *const finish = driver.find<int(void *)>("clFinish");
  auto *const launch = driver.find<int(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *,
                                       uint32_t, void *, void *)>("clEnqueueNDRangeKernel");
  return bench::timed(1, [=](int64_t n) {
    const size_t one[3] = {1, 1, 1};
    for (int64_t i = 0; i < n; ++i) {
      const int number = 1;
      set_arg(kernel, 0, sizeof buffer, &buffer);
      set_arg(kernel, 1, sizeof number, &number);
      if (launch(queue, kernel, 3, nullptr, one, one, 0, nullptr, nullptr)) throw std::runtime_error("a launch failed");
      if (i % kInFlight == 0) finish(queue);
    }
    finish(queue);
  });
}

const bench::AddRow launched("device_launch", "ns", [] { return launches(false); });
const bench::AddRow launched_bare("device_launch_bare", "ns", bare_launches);
const bench::AddRow recorded("device_launch_recorded", "ns", [] { return launches(true); });

// A program that returns a tensor of its own: each call takes memory of the pool, and gives back what the last one
// took.
const bench::AddRow allocated("device_allocation", "ns", [] {
  bench::need_device(kDevice);
  const opdyno::Module program = opdyno::Executable::assemble(R"(
.func main() {
  %s = call vm.builtin.alloc_storage(%vm, shape(4096), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(1024), dtype(float32))
  ret %a
})")
                                     .to_module();
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.devices = &kDevice;
  options.num_devices = 1;
  return bench::timed(1, [vm = opdyno::Vm(program, &options)](int64_t n) {
    opdyno::Value last;
    for (int64_t i = 0; i < n; ++i) last = vm.call("main");
  });
});

}  // namespace
