#include "device/opencl/opencl_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

#include "value/value.h"

namespace opd::cl {

Buffers &Buffers::get() {
  static auto *const buffers = new Buffers;
  return *buffers;
}

void *Buffers::add(Memory *buffer, size_t bytes, int32_t device) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t mapped = (bytes + page - 1) / page * page;
  void *const range = ::mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range != MAP_FAILED) try {
      const std::unique_lock lock(guard_);
      blocks_.emplace(reinterpret_cast<uintptr_t>(range), Block{buffer, bytes, mapped, device});
      return range;
    } catch (const std::bad_alloc &) { ::munmap(range, mapped); }
  Api::get().release(Api::get().clReleaseMemObject, buffer);
  return nullptr;
}

void Buffers::remove(void *address) noexcept {
  Block block;
  {
    const std::unique_lock lock(guard_);
    const auto found = blocks_.find(reinterpret_cast<uintptr_t>(address));
    if (found == blocks_.end()) return;
    block = found->second;
    blocks_.erase(found);
  }
  Api::get().release(Api::get().clReleaseMemObject, block.buffer);
  ::munmap(address, block.mapped);  // last: no other buffer may get the range before
}

Place Buffers::find(const void *address, size_t bytes, int32_t device) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const std::shared_lock lock(guard_);
  auto found = blocks_.upper_bound(at);
  if (found != blocks_.begin()) {
    const auto &[begin, block] = *--found;
    const size_t offset = at - begin;
    if (offset <= block.bytes && bytes <= block.bytes - offset && block.device == device)
      return {block.buffer, offset, block.bytes};
  }
  fail(OPD_INVALID_ARGUMENT, "the ", bytes, " bytes at address ", at, " are not of a tensor of opencl:", device);
}

}  // namespace opd::cl
