#include "device/memory/pool.h"

#include <array>
#include <unordered_map>
#include <vector>

#include "base/fork_mutex.h"

namespace opd {
namespace {

// Images always use this allocator. They have shapes, and a list of free blocks of one size would not distinguish
// these.
class NaiveAllocator final : public Allocator {
 public:
  explicit NaiveAllocator(DeviceMemory &memory) : memory_(memory) {}

  void *allocate(size_t bytes, MemoryUse use) override {
    void *data = bytes <= kMaxBlock ? memory_.take(block_size(bytes)) : nullptr;
    if (!data) memory_.fail_out_of_memory(bytes);
    memory_.count_request(data, bytes, false, use);
    return data;
  }
  void deallocate(void *data, size_t bytes) noexcept override {
    // Called before give(): afterwards another thread may get the block, and its event must come after this one's.
    memory_.count_return(data, bytes, block_size(bytes));
    memory_.give(data, block_size(bytes));
  }
  void trim() noexcept override {}

 private:
  // A request of 0 bytes also gets a block, so that its address is unique.
  static size_t block_size(size_t bytes) { return bytes == 0 ? 64 : round_up(bytes, 64); }
  DeviceMemory &memory_;
};

// The destructor does not return the blocks, because the memory of a device lives as long as the process.
class PooledAllocator final : public Allocator {
 public:
  explicit PooledAllocator(DeviceMemory &memory) : memory_(memory) {}

  void *allocate(size_t bytes, MemoryUse use) override {
    if (bytes > kMaxBlock) memory_.fail_out_of_memory(bytes);
    const size_t size = pooled_size(bytes);
    void *data = pop(size);
    const bool hit = data != nullptr;
    if (!hit) data = memory_.take(size);
    if (!data) memory_.fail_out_of_memory(bytes);
    // Counts the requested bytes. Otherwise the bytes in use would include the pool's rounding.
    memory_.count_request(data, bytes, hit, use);
    return data;
  }

  void deallocate(void *data, size_t bytes) noexcept override {
    // Called before the block is in a list, where another thread can find it: the event of the return must come first.
    memory_.count_return(data, bytes);
    memory_.end_reads(data);  // called without the lock, because it may wait
    const size_t size = pooled_size(bytes);
    // If memory for the list is short, the block goes back to the device. Otherwise it would be lost.
    if (!push(data, size)) memory_.give(data, size);
  }

  void trim() noexcept override {
    std::array<Blocks, kSmall> small;
    std::unordered_map<size_t, Blocks> large;
    {
      std::scoped_lock lock(guard_);
      small.swap(small_);
      large.swap(large_);
    }
    // Called without the lock, because the backend may be a plug-in or the embedder's hooks.
    for (size_t i = 0; i < kSmall; ++i) give_all(small[i], (i + 1) * 64);
    for (auto &[size, blocks] : large) give_all(blocks, size);
  }

 private:
  struct Block {
    void *data;
    void *stream;  // stream whose work may still use the block; null on devices whose work ends with its call
  };
  using Blocks = std::vector<Block>;
  static constexpr size_t kSmall = 4096 / 64;

  // The block is removed from the list before the wait, so no other thread gets it meanwhile. If the wait fails,
  // enter_stream() returns the block to the device, so it is not lost.
  void *pop(size_t size) {
    const Block block = find(size);
    // Called without the lock, because it may wait for the work of another stream.
    if (block.data) memory_.enter_stream(block.data, size, block.stream);
    return block.data;
  }
  Block find(size_t size) {
    std::scoped_lock lock(guard_);
    Blocks *blocks = nullptr;
    // pooled_size() rounds sizes up to 4096 bytes to multiples of 64. Each of these has a list that is found without a
    // search.
    if (size <= 4096) {
      blocks = &small_[size / 64 - 1];
    } else if (const auto found = large_.find(size); found != large_.end()) {
      blocks = &found->second;
    }
    if (!blocks || blocks->empty()) return {};
    const Block block = blocks->back();  // the block returned last is most likely to be in a cache
    blocks->pop_back();
    return block;
  }

  bool push(void *data, size_t size) noexcept {
    try {
      std::scoped_lock lock(guard_);
      // Checked under the lock. set_memory_hooks() empties the pool afterwards, so no block of replaced hooks stays.
      if (!memory_.keeps(data)) return false;
      (size <= 4096 ? small_[size / 64 - 1] : large_[size]).push_back({data, memory_.stream_here()});
      return true;
    } catch (...) {
      return false;  // memory for the list is short
    }
  }

  void give_all(const Blocks &blocks, size_t size) noexcept {
    for (const Block &block : blocks) memory_.give(block.data, size);
  }

  DeviceMemory &memory_;
  ForkMutex guard_{LockRank::kPool};
  std::array<Blocks, kSmall> small_;
  std::unordered_map<size_t, Blocks> large_;
};

}  // namespace

std::unique_ptr<Allocator> make_naive_allocator(DeviceMemory &memory) {
  return std::make_unique<NaiveAllocator>(memory);
}
std::unique_ptr<Allocator> make_pooled_allocator(DeviceMemory &memory) {
  return std::make_unique<PooledAllocator>(memory);
}

}  // namespace opd
