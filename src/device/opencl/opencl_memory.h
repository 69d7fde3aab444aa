// Addresses for OpenCL's buffers, which have none of their own. Each buffer gets a range of addresses that nothing else
// in the process has and that nobody can read. So tensors of OpenCL devices have data pointers, views of parts of them
// are pointers into the range, and a pointer leads back to its buffer.
// Cost: allocating maps a range, a system call; finding takes a shared lock and a search of a tree.
#pragma once
#include <map>
#include <shared_mutex>

#include "base/fork_mutex.h"
#include "device/opencl/opencl_api.h"

namespace opd::cl {

struct Place {  // in a buffer
  Memory *buffer = nullptr;
  size_t offset = 0, bytes = 0;  // `bytes`: of the whole buffer
};

class Buffers {
 public:
  static Buffers &get();  // never destroyed

  // Takes the buffer over. Null without address space; the buffer is then released.
  void *add(Memory *buffer, size_t bytes, int32_t device);
  void remove(void *address) noexcept;  // releases the buffer, which lasts until the work that uses it has ended
  // Throws OPD_INVALID_ARGUMENT unless the `bytes` at the address are of one buffer of the device.
  Place find(const void *address, size_t bytes, int32_t device) const;

 private:
  struct Block {
    Memory *buffer;
    size_t bytes, mapped;
    int32_t device;
  };
  mutable ForkSharedMutex guard_{LockRank::kDeviceTables};
  std::map<uintptr_t, Block> blocks_;
};

}  // namespace opd::cl
