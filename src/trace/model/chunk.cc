#include "trace/model/chunk.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "base/fork_mutex.h"

namespace opd {
namespace {

// Keeps released chunks for reuse. Otherwise each recording would pay for page faults again, a third of its cost.
class Spare {
 public:
  static Spare &get() {
    static auto *spare = new Spare;  // never destroyed: threads may record while the process exits
    return *spare;
  }

  void *take() {
    std::scoped_lock lock(guard_);
    if (chunks_.empty()) return nullptr;
    void *const memory = chunks_.back();
    chunks_.pop_back();
    return memory;
  }

  void give(void *memory) noexcept {
    {
      std::scoped_lock lock(guard_);
      // Capacity was reserved, so this does not allocate.
      if (chunks_.size() < kKept) return chunks_.push_back(memory);
    }
    std::free(memory);
  }

  void reserve(size_t count) {
    {
      std::scoped_lock lock(guard_);
      count -= std::min(count, chunks_.size());
      chunks_.reserve(std::max(kKept, chunks_.size() + count));
    }
    for (; count > 0; --count) {
      void *const memory = allocate(Chunk::kBytes);
      std::scoped_lock lock(guard_);
      if (chunks_.size() == chunks_.capacity()) return std::free(memory);
      chunks_.push_back(memory);
    }
  }

  void trim() noexcept {
    for (;;) {
      void *memory;
      {
        std::scoped_lock lock(guard_);
        if (chunks_.size() <= kKept) return;
        memory = chunks_.back();
        chunks_.pop_back();
      }
      std::free(memory);
    }
  }

  static void *allocate(size_t bytes) {
    void *const memory = std::aligned_alloc(Chunk::kBytes, bytes);
    if (!memory) throw std::bad_alloc();
    return std::memset(memory, 0, bytes);
  }

 private:
  static constexpr size_t kKept = 128;  // 8 MiB: some 100,000 events
  Spare() { chunks_.reserve(kKept); }

  ForkMutex guard_{LockRank::kChunks};
  std::vector<void *> chunks_;
};
// Constructed at load, because a destructor that uses it must not run out of memory.
[[maybe_unused]] const Spare &spare_made_at_load = Spare::get();

void release_chunk(Chunk *chunk) {
  if (chunk->tail_words) std::free(chunk);
  else Spare::get().give(chunk);
}

}  // namespace

std::shared_ptr<Chunk> Chunk::make(uint64_t first, size_t tail_words) {
  const size_t bytes = (kBytes + tail_words * sizeof(int64_t) + kBytes - 1) / kBytes * kBytes;
  void *memory = tail_words ? nullptr : Spare::get().take();
  if (!memory) memory = Spare::allocate(bytes);
  auto *const chunk = new (memory) Chunk;
  chunk->first = first;
  chunk->tail_words = tail_words;
  return {chunk, &release_chunk};  // calls release_chunk() also if the counter cannot be allocated
}

void Chunk::release_free_pages(uint32_t top, uint32_t count) noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(words() + top) + page - 1) & ~(page - 1);
  const uintptr_t end = reinterpret_cast<uintptr_t>(event(0) + 1 - count) & ~(page - 1);
  if (begin < end) ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

void Chunk::reserve(size_t chunks) { Spare::get().reserve(chunks); }
void Chunk::trim() noexcept { Spare::get().trim(); }

}  // namespace opd
