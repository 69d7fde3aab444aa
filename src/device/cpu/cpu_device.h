// The host as a device: kDLCPU, id 0.
#pragma once
#include "device/device.h"

namespace opd {

DeviceBackend &cpu_backend();

}  // namespace opd
