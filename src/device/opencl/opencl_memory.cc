#include "device/opencl/opencl_memory.h"

namespace opd::cl {

Buffers &buffers() {
  static auto *const made = new Buffers("opencl");
  return *made;
}

std::shared_ptr<Memory> owned(Memory *buffer) {
  return {buffer, [](Memory *last) { Api::get().release(Api::get().clReleaseMemObject, last); }};
}

}  // namespace opd::cl
