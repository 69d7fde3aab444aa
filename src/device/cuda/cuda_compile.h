// Compiles kernels in CUDA C++ with NVRTC. TVM writes such kernels if it has no CUDA itself.
#pragma once
#include <string>
#include <string_view>

#include "device/cuda/nvrtc_api.h"

namespace opd::cuda {

// Returns code that the driver can load for a device of a compute version (90 for 9.0). If the compiler supports this
// version, the code is a cubin for it. Otherwise it is PTX for the newest older version, which the driver compiles
// again. Throws an error with the compiler's messages. Cost: 0.1 s or more.
std::string compile_source(const Nvrtc &nvrtc, int32_t compute_version, std::string_view source,
                           std::string_view origin);

// The same, with a cache. If source, options, headers and NVRTC are unchanged, reads code that any process has compiled
// before from the cache directory.
std::string kept_or_compiled(const Nvrtc &nvrtc, int32_t compute_version, std::string_view source,
                             std::string_view origin, std::string_view cache_directory);

}  // namespace opd::cuda
