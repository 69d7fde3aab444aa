// Kernels in SPIR-V, as TVM writes them: a map from their names to their code.
#pragma once
#include "device/kernel.h"
#include "device/vulkan/vulkan_stream.h"

namespace opd::vk {

// Throws OPD_BAD_FORMAT. `main`: the default stream.
std::unique_ptr<DeviceProgram> build_program(DeviceContext &context, Stream &main, const DeviceCode &code);

}  // namespace opd::vk
