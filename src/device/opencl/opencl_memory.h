// Buffers and images of OpenCL devices, and the addresses that represent them.
#pragma once
#include "device/address_ranges.h"
#include "device/opencl/opencl_api.h"
#include "device/texture.h"

namespace opd::cl {

// Owns a buffer or an image. The driver keeps the memory until the work that uses it has ended.
struct OwnedMemory {
  OwnedMemory() = default;
  ~OwnedMemory() { Api::get().release(Api::get().clReleaseMemObject, memory); }
  OwnedMemory(const OwnedMemory &) = delete;

  cl_mem memory = nullptr;
  ImageShape image;  // empty for a buffer
};

using Buffers = AddressRanges<OwnedMemory>;
using Place = Buffers::Place;

Buffers &buffers();  // never destroyed

}  // namespace opd::cl
