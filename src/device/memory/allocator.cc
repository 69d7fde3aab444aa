#include "device/memory/allocator.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/thread_state.h"
#include "device/memory/device_memory.h"
#include "value/value.h"

namespace opd {

Allocator &Allocator::of(DLDevice device, opd_allocator_kind kind) {
  require(kind == OPD_ALLOCATOR_NAIVE || kind == OPD_ALLOCATOR_POOLED,
          "the kind of an allocator must be 1 (naive) or 2 (pooled), but is ", static_cast<int>(kind));
  return DeviceMemory::of(device).allocator(kind);
}

Ref<Storage> Storage::make(DLDevice device, opd_allocator_kind kind, size_t bytes, MemoryUse use) {
  Allocator &allocator = Allocator::of(device, kind);
  auto storage = make_object<Storage>();
  storage->data = allocator.allocate(bytes, use);
  storage->size = bytes;
  storage->device = device;
  storage->allocator = &allocator;  // last: from now on the destructor returns the block
  return storage;
}

Ref<Storage> Storage::make(DLDevice device, const ImageShape &image, MemoryUse use) {
  auto storage = make_object<Storage>();
  storage->data = allocate_image(device, image, use);
  storage->size = image.bytes();
  storage->device = device;
  storage->allocator = &Allocator::of(device, OPD_ALLOCATOR_NAIVE);
  return storage;
}

void *allocate_image(DLDevice device, const ImageShape &image, MemoryUse use) {
  DeviceMemory &memory = DeviceMemory::of(device);
  void *const data = memory.take(image);
  if (!data) memory.fail_out_of_memory(image.bytes());
  memory.count_request(data, image.bytes(), false, use);
  return data;
}

Ref<Tensor> make_tensor(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, MemoryUse use,
                        std::string_view scope) {
  uint64_t count, bytes;
  const auto text = [&] {
    std::string out = dtype_name(dtype);
    append_dims(out, dims);
    return out;
  };
  // The low 15 bits are the number of lanes. The sign bit marks scalable vectors, whose size depends on the machine.
  if (static_cast<int16_t>(dtype.lanes) <= 0 || dtype.bits == 0)
    fail(OPD_INVALID_ARGUMENT, "a tensor cannot have elements of dtype ", dtype_name(dtype));
  if (!element_count(dims.data(), static_cast<int64_t>(dims.size()), count))
    fail(OPD_INVALID_ARGUMENT, "a tensor cannot have the shape of ", text(),
         ": a size is negative, or there are too many elements");
  if (!data_bytes(count, dtype, bytes))
    fail(OPD_OUT_OF_MEMORY, "the bits of ", text(), " cannot be counted in 64 bits");
  auto storage = check_scope(scope, device) ? Storage::make(device, image_shape(scope, dims, dtype), use)
                                            : Storage::make(device, OPD_ALLOCATOR_NAIVE, bytes, use);
  void *data = storage->data;
  return Tensor::make(dims, dtype, device, data, std::move(storage));
}

opd_memory_stats memory_stats(DLDevice device) { return DeviceMemory::of(device).stats(); }
void reset_memory_peak(DLDevice device) { DeviceMemory::of(device).reset_peak(); }
void trim_memory(DLDevice device) { DeviceMemory::of(device).trim(); }
void trim_all_memory() { DeviceMemory::trim_all(); }

// ---- the scratch memory of kernels

namespace {

// The scratch memory of one thread. Blocks that a kernel has freed are kept for the thread's next kernels.
class Workspace {
 public:
  ~Workspace() {
    for (const Block &block : used_) {  // a failed kernel may have left some
      block.memory->count_return(block.data, block.requested);
      give(block);
    }
    for (const Block &block : idle_) give(block);
  }

  void *allocate(DeviceMemory &memory, size_t bytes) {
    drop_trimmed();
    if (bytes > kMaxBlock) return nullptr;
    const size_t wanted = round_up(std::max<size_t>(bytes, 1), 4096);
    if (used_.capacity() == used_.size()) used_.reserve(2 * used_.size() + 8);
    if (idle_.capacity() <= used_.size() + idle_.size())
      idle_.reserve(2 * idle_.capacity() + 8);  // so that free() does not allocate
    Block block{&memory, nullptr, wanted, bytes};
    const bool hit = take_idle(block);
    if (!hit) block.data = memory.take(wanted);
    if (!block.data) return nullptr;
    if (hit) memory.enter_stream(block.data, block.size, block.stream);
    memory.count_request(block.data, bytes, hit, MemoryUse::kWorkspace);
    used_.push_back(block);
    return block.data;
  }

  bool free(const DeviceMemory &memory, void *data) noexcept {
    drop_trimmed();
    const auto found = std::find_if(used_.rbegin(), used_.rend(),
                                    [&](const Block &b) { return b.data == data && b.memory == &memory; });
    if (found == used_.rend()) return false;
    Block block = *found;
    block.stream = memory.stream_here();
    used_.erase(std::next(found).base());
    block.memory->count_return(block.data, block.requested);
    if (block.memory->keeps(data)) idle_.push_back(block);
    else give(block);
    return true;
  }

  void drop_trimmed() noexcept {
    const uint32_t now = DeviceMemory::trim_count();
    if (std::exchange(trim_count_, now) == now) [[likely]]
      return;
    for (const Block &block : idle_) give(block);
    idle_.clear();
  }

 private:
  struct Block {
    DeviceMemory *memory;
    void *data;
    size_t size, requested;
    void *stream = nullptr;  // for an idle block: stream whose work may still use it
  };

  static void give(const Block &block) noexcept { block.memory->give(block.data, block.size); }

  // Takes the smallest idle block that is large enough. If there is none, frees the largest idle block. So a thread
  // whose requests grow keeps one block instead of all sizes.
  bool take_idle(Block &block) noexcept {
    Block *best = nullptr, *largest = nullptr;
    for (Block &candidate : idle_) {
      if (candidate.memory != block.memory) continue;
      if (!largest || candidate.size > largest->size) largest = &candidate;
      if (candidate.size >= block.size && (!best || candidate.size < best->size)) best = &candidate;
    }
    if (best) block.data = best->data, block.size = best->size, block.stream = best->stream;
    else if (largest) give(*largest);
    if (Block *gone = best ? best : largest) {
      *gone = idle_.back();
      idle_.pop_back();
    }
    return best != nullptr;
  }

  std::vector<Block> used_, idle_;
  uint32_t trim_count_ = DeviceMemory::trim_count();
};

void end_workspace(void *workspace) { std::unique_ptr<Workspace>(static_cast<Workspace *>(workspace)); }
const bool kEnds = (free_workspace = &end_workspace, true);  // set at load, before any worker can exit

Workspace &workspace_of_thread() {
  void *&slot = thread_state().workspace;
  if (!slot) {
    slot = std::make_unique<Workspace>().release();
    clean_at_thread_exit();
  }
  return *static_cast<Workspace *>(slot);
}

}  // namespace

void *allocate_workspace(DLDevice device, size_t bytes) noexcept {
  try {
    return workspace_of_thread().allocate(DeviceMemory::of(device), bytes);
  } catch (...) { return nullptr; }
}

bool free_workspace_block(DLDevice device, void *data) noexcept {
  try {
    auto *workspace = static_cast<Workspace *>(thread_state().workspace);
    return workspace && workspace->free(DeviceMemory::of(device), data);
  } catch (...) {
    return false;  // the device does not exist
  }
}

void trim_workspace() noexcept {
  if (thread_state().workspace) static_cast<Workspace *>(thread_state().workspace)->drop_trimmed();
}

}  // namespace opd
