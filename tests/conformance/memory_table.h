// The table of a kind of devices whose memory is the host's: one device, no streams, no kernels.
#pragma once
#include <cstdlib>
#include <cstring>

#include "support/opdyno_test.h"

namespace opdyno_test {

inline opd_device_table memory_table() {
  opd_device_table table{};
  table.struct_size = sizeof table;
  table.get_attr = [](void *, int32_t id, opd_device_attr attr, opd_value *out) -> opd_error * {
    if (attr == OPD_ATTR_EXIST) *out = opd_bool(id == 0);
    return nullptr;
  };
  table.allocate = [](void *, int32_t, uint64_t size, uint64_t alignment) {
    return std::aligned_alloc(alignment, size);
  };
  table.deallocate = [](void *, int32_t, void *data, uint64_t) { std::free(data); };
  table.copy = [](void *, const void *from, DLDevice, void *to, DLDevice, uint64_t size, void *) -> opd_error * {
    return std::memmove(to, from, size), nullptr;
  };
  table.sync = [](void *, int32_t, void *, int) -> opd_error * { return nullptr; };
  return table;
}

}  // namespace opdyno_test
