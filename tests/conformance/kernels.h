// The kernel that the suite runs, for each kind of devices in the device's own language.
#pragma once
#include "support/embedded_modules.h"
#include "support/opdyno_test.h"
#include "support/simulated_device.h"
#include "support/vulkan_kernels.h"

namespace opdyno_test {

inline bool is_simulated() { return std::string(std::getenv("OPDYNO_DEVICE")) == "vpi"; }

inline DLDevice tested_device() {
  if (is_simulated()) return SimulatedDevice::get().device();
  return opdyno::device_of(std::getenv("OPDYNO_DEVICE"));
}

inline Tensor on(DLDevice device, const std::vector<float> &values) {
  Tensor there({static_cast<int64_t>(values.size())}, "float32", device);
  there.copy_from_bytes(values.data(), values.size() * sizeof(float));
  return there;
}
inline std::vector<float> read(const Tensor &tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.size()));
  tensor.copy_to_bytes(values.data(), values.size() * sizeof(float));
  return values;
}

// to[i] = factor * from[i] + offset
constexpr const char *kOpenClSource = R"(
__kernel void scale(__global const float *from, __global float *to, float factor, int offset) {
  const size_t i = get_global_id(0);
  to[i] = factor * from[i] + offset;
})";

constexpr const char *kPtx = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry scale(.param .u64 from, .param .u64 to, .param .f32 factor, .param .u32 offset) {
  .reg .b32 %r<5>;
  .reg .f32 %f<5>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd0, [from];
  ld.param.u64 %rd1, [to];
  ld.param.f32 %f0, [factor];
  ld.param.u32 %r0, [offset];
  cvta.to.global.u64 %rd0, %rd0;
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd2, %r4, 4;
  add.u64 %rd3, %rd0, %rd2;
  add.u64 %rd4, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3];
  cvt.rn.f32.s32 %f2, %r0;
  fma.rn.f32 %f3, %f1, %f0, %f2;
  st.global.f32 [%rd4], %f3;
  ret;
}
)";
constexpr const char *kVulkanSource = R"(#version 450
layout(local_size_x = 4) in;
layout(binding = 0) readonly buffer From { float from[]; };
layout(binding = 1) writeonly buffer To { float to[]; };
layout(push_constant) uniform Scalars { layout(offset = 0) float factor; layout(offset = 8) int offset; };
void main() {
  const uint i = gl_GlobalInvocationID.x;
  to[i] = factor * from[i] + offset;
})";

inline void define_simulated_kernels() {
  SimulatedDevice::get().define(
      "scale", [](SimulatedDevice &device, const std::vector<std::string> &args, const opd_kernel_launch &launch) {
        const size_t count = size_t{launch.grid[0]} * launch.block[0];
        const auto *from = reinterpret_cast<float *>(device.memory(argument<void *>(args[0]), count * sizeof(float)));
        auto *to = reinterpret_cast<float *>(device.memory(argument<void *>(args[1]), count * sizeof(float)));
        for (size_t i = 0; i < count; ++i)
          to[i] = argument<float>(args[2]) * from[i] + static_cast<float>(argument<int32_t>(args[3]));
      });
}

/** A library whose root imports it, with the device's kernel scale(from, to, factor, offset; blocks, threads). On
 * Vulkan the number of threads in a block is part of the code: 4. */
inline Module kernels_or_none(const std::string &name) {
  const std::string kind = opdyno::to_string(tested_device());
  std::string format, code;
  if (is_simulated()) format = "sim", code = text("scale\n"), define_simulated_kernels();
  else if (kind.starts_with("opencl")) format = "cl", code = text(kOpenClSource);
  else if (kind.starts_with("cuda")) format = "ptx", code = text(kPtx);
  else if (kind.starts_with("vulkan") && has_glsl_compiler())
    format = "vulkan", code = number(1) + text("scale") + vulkan_code(compile_glsl("scale", kVulkanSource));
  else return {};
  const DLDataType handle{kDLOpaqueHandle, 64, 1}, f32{kDLFloat, 32, 1}, i32{kDLInt, 32, 1};
  const std::string params = number(4) + raw(handle) + raw(handle) + raw(f32) + raw(i32);
  const std::string bytes = text(format) + number(1) + text("scale") + text("scale") + params +
                            list({"blockIdx.x", "threadIdx.x"}) + number(0) + code;
  return with_root("kernels_" + name, kind.substr(0, kind.find(':')), bytes);
}

/** What a test does without kernels: the CPU's are functions of libraries. */
inline void end_without_kernels() {
  if (opdyno::to_string(tested_device()).starts_with("vulkan"))
    GTEST_SKIP() << "glslangValidator, which compiles its kernels, is not installed";
}

/** A VM on the device: main(x) = (x * 3 + 2) * 3 + 2 for four floats. */
inline Vm vm_on(DLDevice device, const Module &kernels) {
  const Module program = Executable::assemble(R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call scale(%x, %a, 3, 2, 1, 4)
  %t = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %b = call vm.builtin.alloc_tensor(%t, 0, shape(4), dtype(float32))
  call scale(%a, %b, 3, 2, 1, 4)
  ret %b
})")
                             .to_module();
  program.add_import(kernels);
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = &device;
  options.num_devices = 1;
  return Vm(program, &options);
}

}  // namespace opdyno_test
