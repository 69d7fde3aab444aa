#include "module/enabled.h"

#include <algorithm>

#include "device/device.h"

namespace opd {
namespace {

struct Target {
  std::string_view name;
  DLDeviceType device;
  bool is_prefix = false;  // also matches longer names
};
constexpr Target kTargets[] = {
    {"cpu", kDLCPU},          {"llvm", kDLCPU, true},  {"c", kDLCPU},
    {"ext_dev", kDLExtDev},   {"cuda", kDLCUDA},       {"gpu", kDLCUDA},
    {"nvptx", kDLCUDA, true}, {"opencl", kDLOpenCL},   {"cl", kDLOpenCL},
    {"vulkan", kDLVulkan},    {"metal", kDLMetal},     {"mtl", kDLMetal},
    {"rocm", kDLROCM, true},  {"hexagon", kDLHexagon}, {"webgpu", kDLWebGPU},
    {"vpi", kDLVPI},
};

}  // namespace

bool is_target_enabled(std::string_view target) {
  target = target.substr(0, target.find(' '));
  return std::any_of(std::begin(kTargets), std::end(kTargets), [&](const Target &known) {
    return (known.is_prefix ? target.starts_with(known.name) : target == known.name) &&
           find_device({known.device, 0}) != nullptr;
  });
}

}  // namespace opd
