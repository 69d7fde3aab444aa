// Kernels in SPIR-V, as TVM stores them: a map from names to code.
#pragma once
#include "device/kernel.h"
#include "device/vulkan/vulkan_stream.h"

namespace opd::vk {

// Throws OPD_BAD_FORMAT. `main`: the default stream.
std::unique_ptr<DeviceProgram> build_program(DeviceContext &context, Stream &main, const DeviceCode &code);

}  // namespace opd::vk
