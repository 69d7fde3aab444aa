#include "device/cuda/cuda_context.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/clock.h"
#include "base/signals.h"
#include "device/device.h"

namespace opd::cuda {

DeviceContext::DeviceContext(Device device, int32_t number) : api_(Api::get()), device_(device), number_(number) {
  compute_version_ = attribute(kComputeMajor) * 10 + attribute(kComputeMinor);
  int ordered = 0;  // drivers that lack the attribute return an error
  has_ordered_memory_ = api_.cuMemAllocAsync && api_.cuMemFreeAsync &&
                        !api_.cuDeviceGetAttribute(&ordered, kOrderedMemory, device_) && ordered;
}

std::string DeviceContext::pci_bus_id() const {
  if (!api_.cuDeviceGetPCIBusId) fail(OPD_UNSUPPORTED, "libcuda.so.1 has no cuDeviceGetPCIBusId");
  char text[32] = {};
  api_.check(api_.cuDeviceGetPCIBusId(text, sizeof text - 1, device_), "cuDeviceGetPCIBusId");
  return text;
}

std::shared_ptr<const Reference> DeviceContext::reference() const {
  const std::scoped_lock lock(guard_);
  if (!reference_ || reference_->is_old()) reference_ = std::make_shared<const Reference>(*this);
  return reference_;
}

CurrentContext::CurrentContext(const DeviceContext &device) : api_(device.api()) {
  Context *const wanted = device.context();
  Context *present = nullptr;
  api_.check(api_.cuCtxGetCurrent(&present), "cuCtxGetCurrent");
  if (present == wanted) return;
  api_.check(api_.cuCtxPushCurrent_v2(wanted), "cuCtxPushCurrent");
  is_pushed_ = true;
}

CurrentContext::~CurrentContext() {
  Context *ignored = nullptr;
  if (is_pushed_) api_.cuCtxPopCurrent_v2(&ignored);
}

// ---- times of work

TimedEvent::TimedEvent(const DeviceContext &device, Stream *stream) : device_(device) {
  const Api &api = device.api();
  const CurrentContext current(device);
  api.check(api.cuEventCreate(&event_, 0), "cuEventCreate");
  if (const Status status = api.cuEventRecord(event_, stream)) {
    api.cuEventDestroy_v2(event_);
    api.check(status, "cuEventRecord");
  }
}

bool TimedEvent::ns_since(const TimedEvent &earlier, uint64_t &out) const noexcept {
  float ms = 0;
  if (device_.api().cuEventElapsedTime(&ms, earlier.event_, event_)) return false;
  out = static_cast<uint64_t>(std::max(double{ms}, 0.0) * 1e6);
  return true;
}

Reference::OwnStream::OwnStream(const DeviceContext &d) : device(d) {
  const CurrentContext current(device);
  device.api().check(device.api().cuStreamCreate(&stream, kNonBlocking), "cuStreamCreate");
}

namespace {
constexpr uint64_t kResolutionNs = 500;  // resolution of the times between events, by NVIDIA's manual

// Rounding error of the driver's times, which are floats in milliseconds.
uint64_t rounding_ns(uint64_t ns) {
  const auto ms = static_cast<float>(static_cast<double>(ns) / 1e6);
  return static_cast<uint64_t>((std::nextafter(ms, std::numeric_limits<float>::infinity()) - ms) * 1e6f);
}
}  // namespace

// Each further event narrows the first event's place on the host's clock.
Reference::Reference(const DeviceContext &device)
    : stream_(device), clock_("bracketed events", kResolutionNs, DeviceClock::Zero::kOfReference) {
  constexpr int kEvents = 4;
  const CurrentContext current(device);
  for (int i = 0; i < kEvents; ++i) {
    TickInterval interval;
    interval.begin = opd::ticks_of(tick_clock());
    auto event = std::make_unique<TimedEvent>(device, stream_.stream);
    if (!event->wait()) fail(OPD_CALL_FAILED, "cuEventSynchronize failed");
    interval.end = opd::ticks_of(tick_clock());
    uint64_t ns = 0;
    if (i > 0 && !event->ns_since(*event_, ns)) fail(OPD_CALL_FAILED, "cuEventElapsedTime failed");
    clock_.observe(ns, interval);
    if (i == 0) event_ = std::move(event);
  }
}

bool Reference::times_of(const TimedEvent &before, const TimedEvent &after, TickInterval launch,
                         WorkTimes &out) const noexcept {
  uint64_t began = 0, ended = 0;
  if (!before.ns_since(*event_, began) || !after.ns_since(*event_, ended)) return false;
  out = clock_.times_of(began, ended, launch);
  out.clock.error_ns += rounding_ns(ended);
  return true;
}

CudaWork::CudaWork(const DeviceContext &device, Stream *stream) noexcept : device_(device), stream_(stream) {
  if (device.api().is_inherited()) return;
  try {
    reference_ = device.reference();
    before_ = record();
  } catch (const std::exception &) {}  // the times are lost, and the trace counts the loss
}

// ---- memory blocks

// Two streams of a device. Blocks are allocated in the first one, which has no other work. So a new block can be used
// in every stream at once. Blocks are freed in the second one, which waits for all streams of the library.
class BlockStreams {
 public:
  explicit BlockStreams(const DeviceContext &device);  // throws; lives as long as the device
  BlockStreams(const BlockStreams &) = delete;

  Address allocate(size_t bytes);  // 0 if there is no memory
  void free(Address block);        // throws if freeing fails
  void settle() {                  // waits until all returned blocks are free
    device_.api().check(device_.api().cuStreamSynchronize(freeing_), "cuStreamSynchronize");
  }

 private:
  const DeviceContext &device_;
  Stream *allocating_ = nullptr, *freeing_ = nullptr;
  ForkMutex guard_{LockRank::kDeviceQueue};
  Event *event_ = nullptr;  // recorded in each stream in turn
};

BlockStreams::BlockStreams(const DeviceContext &device) : device_(device) {
  const Api &api = device.api();
  const CurrentContext current(device);
  try {
    api.check(api.cuStreamCreate(&allocating_, kNonBlocking), "cuStreamCreate");
    api.check(api.cuStreamCreate(&freeing_, kNonBlocking), "cuStreamCreate");
    api.check(api.cuEventCreate(&event_, kNoTiming), "cuEventCreate");
  } catch (const Exception &) {
    device.release(api.cuStreamDestroy_v2, allocating_);
    device.release(api.cuStreamDestroy_v2, freeing_);
    throw;
  }
}

Address BlockStreams::allocate(size_t bytes) {
  const Api &api = device_.api();
  Address block = 0;
  Status status = api.cuMemAllocAsync(&block, bytes, allocating_);
  if (status == kOutOfMemory) {
    settle();
    status = api.cuMemAllocAsync(&block, bytes, allocating_);
  }
  if (status == kOutOfMemory) return 0;
  api.check(status, "cuMemAllocAsync");
  if (const Status failure = api.cuStreamSynchronize(allocating_)) {
    api.cuMemFree_v2(block);
    api.check(failure, "cuStreamSynchronize");
  }
  return block;
}

void BlockStreams::free(Address block) {
  const Api &api = device_.api();
  with_streams({kDLCUDA, device_.number()}, [&](std::span<void *const> streams) {
    const std::scoped_lock lock(guard_);
    for (void *const stream : streams) {
      api.check(api.cuEventRecord(event_, static_cast<Stream *>(stream)), "cuEventRecord");
      api.check(api.cuStreamWaitEvent(freeing_, event_, 0), "cuStreamWaitEvent");
    }
    api.check(api.cuMemFreeAsync(block, freeing_), "cuMemFreeAsync");
  });
}

BlockStreams *DeviceContext::block_streams() const {
  if (!has_ordered_memory_) return nullptr;
  if (BlockStreams *const made = block_streams_.load(std::memory_order_acquire)) [[likely]]
    return made;
  const std::scoped_lock lock(guard_);
  if (!block_streams_.load(std::memory_order_relaxed))
    block_streams_.store(std::make_unique<BlockStreams>(*this).release(), std::memory_order_release);
  return block_streams_.load(std::memory_order_relaxed);
}

void *allocate_block(const DeviceContext &device, size_t bytes) {
  const Api &api = device.api();
  const CurrentContext current(device);
  Address block = 0;
  if (BlockStreams *const streams = device.block_streams()) {
    block = streams->allocate(bytes);
  } else if (const Status status = api.cuMemAlloc_v2(&block, bytes); status != kOutOfMemory) {
    api.check(status, "cuMemAlloc");
  }
  return reinterpret_cast<void *>(block);
}

void free_block(const DeviceContext &device, void *data) noexcept try {
  const Api &api = device.api();
  const auto block = static_cast<Address>(reinterpret_cast<uintptr_t>(data));
  const CurrentContext current(device);
  try {
    if (BlockStreams *const streams = device.block_streams()) return streams->free(block);
  } catch (const Exception &) {}  // continue as for devices without such streams
  api.cuCtxSynchronize();         // the manual does not promise that cuMemFree() waits for the work of every stream
  api.cuMemFree_v2(block);
} catch (const std::exception &) {}  // the driver has ended

size_t free_bytes(const DeviceContext &device) {
  const CurrentContext current(device);
  if (BlockStreams *const streams = device.block_streams()) streams->settle();
  size_t free = 0, total = 0;
  device.api().check(device.api().cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  return free;
}

// ---- the list of the devices

namespace {

using Devices = DriverDevices<const DeviceContext>;

const Devices &devices() {
  static const Devices &made = Devices::make(Api::get(), [](Devices &devices) {
    const Api &api = Api::get();
    int count = 0;
    api.check(api.cuDeviceGetCount(&count), "cuDeviceGetCount");
    for (int number = 0; number < count; ++number) {
      Device device = 0;
      api.check(api.cuDeviceGet(&device, number), "cuDeviceGet");
      devices.list.push_back(std::make_unique<DeviceContext>(device, number));
    }
  });
  return made;
}

}  // namespace

const DeviceContext *find_cuda_device(int32_t id) { return devices().find(id); }
const DeviceContext &get_cuda_device(int32_t id) { return devices().get(Api::get(), "cuda", id); }
std::string absence_of_cuda_device(int32_t id) {
  return devices().absence(Api::get(), "NVIDIA's driver is here, but it has no device", "NVIDIA's driver has", id);
}

}  // namespace opd::cuda
