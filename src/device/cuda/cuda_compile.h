// Kernels in CUDA C++, as TVM writes them where it has no CUDA itself, compiled by NVRTC.
#pragma once
#include <string>
#include <string_view>

#include "device/cuda/nvrtc_api.h"

namespace opd::cuda {

// Code that the driver loads for a device of a compute version (90 for 9.0). If the compiler supports this version, it
// is a cubin for it; else PTX for the newest older one, which the driver compiles again. Throws; the compiler's
// messages are in the error. Cost: 0.1 s and more.
std::string compile_source(const Nvrtc &nvrtc, int32_t compute_version, std::string_view source,
                           std::string_view origin);

// The same; code that was compiled before, by any process, is read from the cache directory if nothing has changed that
// it was made of: source, options, headers, NVRTC.
std::string kept_or_compiled(const Nvrtc &nvrtc, int32_t compute_version, std::string_view source,
                             std::string_view origin, std::string_view cache_directory);

}  // namespace opd::cuda
