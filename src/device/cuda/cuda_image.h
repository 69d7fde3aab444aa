// Checks of compiled code before the driver gets it. The driver is given an address without a size, so it would read
// beyond bytes that are cut off.
#pragma once
#include <string>

#include "device/kernel.h"

namespace opd::cuda {

// A copy of the code that the driver may be given: "ptx", "cubin" or "fatbin". Throws OPD_BAD_FORMAT, and
// OPD_UNSUPPORTED for another format.
std::string checked_image(const DeviceCode &code);

}  // namespace opd::cuda
