// Checks of compiled code before the driver gets it. The driver gets an address without a size, so it would read beyond
// the end of truncated code.
#pragma once
#include <string>

#include "device/kernel.h"

namespace opd::cuda {

// Returns a copy of the code that is safe to give to the driver: "ptx", "cubin" or "fatbin". Throws OPD_BAD_FORMAT, or
// OPD_UNSUPPORTED for another format.
std::string checked_image(const DeviceCode &code);

}  // namespace opd::cuda
