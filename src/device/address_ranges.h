// Addresses for buffers that have none, such as OpenCL's and Vulkan's. Each buffer gets its own range of addresses in
// the process, which is not readable. So tensors of such devices have data pointers, views of parts of them are
// pointers into the range, and a pointer leads back to its buffer.
// Cost: allocating maps a range, a system call; finding takes a shared lock and a search of a tree.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "base/fork_mutex.h"

namespace opd {

namespace detail {
void *reserve_addresses(size_t bytes) noexcept;  // null if there are none left
void release_addresses(void *begin, size_t bytes) noexcept;
[[noreturn]] void fail_without_buffer(const char *kind, int32_t device, const void *address, size_t bytes);
}  // namespace detail

// Throws unless a kernel's argument begins where the device lets parts of buffers begin.
void check_part_begin(const char *kind, int32_t device, const std::string &kernel, size_t argument, size_t offset,
                      size_t alignment);

template <class Buffer>
class AddressRanges {
 public:
  struct Place {  // in a buffer
    std::shared_ptr<Buffer> buffer;
    size_t offset = 0, bytes = 0;  // `bytes`: of the whole buffer
  };

  explicit AddressRanges(const char *kind) : kind_(kind) {}  // `kind`: of the devices, for messages

  void *add(std::shared_ptr<Buffer> buffer, size_t bytes, int32_t device) {  // null without address space
    void *const range = detail::reserve_addresses(bytes);
    if (range) try {
        const std::unique_lock lock(guard_);
        blocks_.emplace(reinterpret_cast<uintptr_t>(range), Block{std::move(buffer), bytes, device});
        return range;
      } catch (const std::bad_alloc &) { detail::release_addresses(range, bytes); }
    return nullptr;
  }

  // Work that uses the buffer may hold it longer.
  void remove(void *address) noexcept {
    Block block;
    {
      const std::unique_lock lock(guard_);
      const auto found = blocks_.find(reinterpret_cast<uintptr_t>(address));
      if (found == blocks_.end()) return;
      block = std::move(found->second);
      blocks_.erase(found);
    }
    block.buffer.reset();
    detail::release_addresses(address, block.bytes);  // last: no other buffer may get the range before
  }

  // Throws OPD_INVALID_ARGUMENT unless the `bytes` at the address are of one buffer of the device.
  Place find(const void *address, size_t bytes, int32_t device) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    {
      const std::shared_lock lock(guard_);
      auto found = blocks_.upper_bound(at);
      if (found != blocks_.begin()) {
        const auto &[begin, block] = *--found;
        const size_t offset = at - begin;
        if (offset <= block.bytes && bytes <= block.bytes - offset && block.device == device)
          return {block.buffer, offset, block.bytes};
      }
    }
    detail::fail_without_buffer(kind_, device, address, bytes);
  }

 private:
  struct Block {
    std::shared_ptr<Buffer> buffer;
    size_t bytes = 0;
    int32_t device = 0;
  };
  const char *const kind_;
  mutable ForkSharedMutex guard_{LockRank::kDeviceTables};
  std::map<uintptr_t, Block> blocks_;
};

}  // namespace opd
