// Buffers of OpenCL devices, and the addresses that stand for them.
#pragma once
#include "device/address_ranges.h"
#include "device/opencl/opencl_api.h"

namespace opd::cl {

using Buffers = AddressRanges<Memory>;
using Place = Buffers::Place;

Buffers &buffers();  // never destroyed
// Releases the buffer at the end. The driver keeps it until the work that uses it has ended.
std::shared_ptr<Memory> owned(Memory *buffer);

}  // namespace opd::cl
