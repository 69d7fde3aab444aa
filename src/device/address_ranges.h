// Reserved addresses for buffers without addresses of their own, such as OpenCL's and Vulkan's. Each buffer gets a
// range of addresses that is never read. So tensors of such devices have data pointers, views are pointers into the
// range, and a pointer identifies its buffer.
// Cost: an allocation maps a range, which is a system call. A search takes a shared lock and searches a tree.
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
void *reserve_addresses(size_t bytes) noexcept;  // null if the address space is full
void release_addresses(void *begin, size_t bytes) noexcept;
[[noreturn]] void fail_without_buffer(const char *kind, int32_t device, const void *address, size_t bytes);
}  // namespace detail

// Throws unless the kernel's argument begins at an offset that the device allows for parts of buffers.
void check_part_begin(const char *kind, int32_t device, const std::string &kernel, size_t argument, size_t offset,
                      size_t alignment);

template <class Buffer>
class AddressRanges {
 public:
  struct Place {  // a position in a buffer
    std::shared_ptr<Buffer> buffer;
    size_t offset = 0, bytes = 0;  // `bytes`: size of the whole buffer
  };

  explicit AddressRanges(const char *kind) : kind_(kind) {}  // `kind`: the devices' kind, for messages

  void *add(std::shared_ptr<Buffer> buffer, size_t bytes, int32_t device) {  // null if the address space is full
    void *const range = detail::reserve_addresses(bytes);
    if (range) try {
        const std::unique_lock lock(guard_);
        blocks_.emplace(reinterpret_cast<uintptr_t>(range), Block{std::move(buffer), bytes, device});
        return range;
      } catch (const std::bad_alloc &) { detail::release_addresses(range, bytes); }
    return nullptr;
  }

  // Work that uses the buffer may keep it alive for longer.
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
    detail::release_addresses(address, block.bytes);  // last, so that no other buffer gets the range earlier
  }

  // Throws OPD_INVALID_ARGUMENT unless all `bytes` at the address belong to one buffer of the device.
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
