#include "device/opencl/opencl_memory.h"

namespace opd::cl {

Buffers &buffers() {
  static auto *const made = new Buffers("opencl");
  return *made;
}

}  // namespace opd::cl
