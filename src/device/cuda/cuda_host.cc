// Pinned host memory, which CUDA devices can access. It exists if there is a CUDA device. The processor uses it like
// other memory. Copies to and from devices need no staging buffer.
#include <cstring>
#include <map>
#include <mutex>

#include "base/fork_mutex.h"
#include "base/thread_state.h"
#include "device/backends.h"
#include "device/cuda/cuda_context.h"
#include "device/device.h"

namespace opd {
namespace cuda {
namespace {

// Blocks of pinned memory, with the copies that may still read them. Each stream has an event after its last copy.
class PinnedBlocks {
 public:
  void add(const void *data, size_t bytes) {
    const std::scoped_lock lock(guard_);
    blocks_[address(data)].bytes = bytes;
  }
  void remove(const void *data) noexcept {
    const std::scoped_lock lock(guard_);
    blocks_.erase(address(data));
  }
  // Returns false if the address lies in no block.
  bool add_reader(const void *data, const DeviceContext &device, Stream *stream) {
    std::unique_ptr<TimedEvent> event;
    for (const bool has_event : {false, true}) {
      if (has_event) event = std::make_unique<TimedEvent>(device, stream);
      const std::scoped_lock lock(guard_);
      auto found = blocks_.upper_bound(address(data));
      if (found == blocks_.begin() || address(data) >= (--found)->first + found->second.bytes) return false;
      if (has_event) std::swap(found->second.readers[{device.number(), stream}], event);
    }
    return true;
  }
  void wait_for_readers(const void *data) noexcept {
    Readers readers;
    {
      const std::scoped_lock lock(guard_);
      if (const auto found = blocks_.find(address(data)); found != blocks_.end()) readers.swap(found->second.readers);
    }
    for (const auto &[stream, event] : readers) event->wait();
  }

 private:
  static uintptr_t address(const void *data) { return reinterpret_cast<uintptr_t>(data); }
  using Readers = std::map<std::pair<int32_t, Stream *>, std::unique_ptr<TimedEvent>>;
  struct Block {
    size_t bytes = 0;
    Readers readers;
  };
  ForkMutex guard_{LockRank::kDeviceTables};
  std::map<uintptr_t, Block> blocks_;
};

PinnedBlocks &pinned_blocks() {
  static auto *const made = new PinnedBlocks;  // never destroyed: blocks may be returned while the process exits
  return *made;
}

class CudaHostBackend final : public DeviceBackend {
 public:
  Value attr(int32_t id, opd_device_attr attr) override {
    if (attr == OPD_ATTR_EXIST) return Value(id == 0 && find_cuda_device(0) != nullptr);
    return attr == OPD_ATTR_DEVICE_NAME ? Value("memory of the host for CUDA devices") : Value();
  }
  std::string absence(int32_t id) override {
    return find_cuda_device(0) ? concat("there is only number 0, not ", id) : absence_of_cuda_device(0);
  }
  bool is_started() const override { return Api::is_open(); }

  void *allocate(int32_t, size_t bytes, size_t) override {
    const DeviceContext &device = get_cuda_device(0);
    const CurrentContext current(device);
    void *data = nullptr;
    const Status status = device.api().cuMemHostAlloc(&data, bytes, kPortable);
    if (status == kOutOfMemory) return nullptr;
    device.api().check(status, "cuMemHostAlloc");
    try {
      pinned_blocks().add(data, bytes);
    } catch (const std::bad_alloc &) {
      device.api().cuMemFreeHost(data);
      return nullptr;
    }
    return data;
  }
  void deallocate(int32_t, void *data, size_t, size_t) noexcept override {
    const Api &api = Api::get();
    if (api.is_inherited()) return;
    pinned_blocks().wait_for_readers(data);
    pinned_blocks().remove(data);
    try {
      const CurrentContext current(get_cuda_device(0));
      api.cuMemFreeHost(data);
    } catch (const Exception &) {}  // the driver has ended
  }
  void end_reads(const void *data) noexcept override {
    if (!Api::get().is_inherited()) pinned_blocks().wait_for_readers(data);
  }
  void copy(const void *from, DLDevice, void *to, DLDevice, size_t bytes, void *) override {
    std::memmove(to, from, bytes);
  }
  void sync(int32_t) override {}
};

}  // namespace

bool keep_until_read(const void *data, const DeviceContext &device, void *stream) noexcept try {
  if (!stream || thread_state().run_pool) return false;
  return pinned_blocks().add_reader(data, device, static_cast<Stream *>(stream));
} catch (const std::exception &) { return false; }

}  // namespace cuda

DeviceBackend &cuda_host_backend() {
  static auto *backend = new cuda::CudaHostBackend;
  return *backend;
}

}  // namespace opd
