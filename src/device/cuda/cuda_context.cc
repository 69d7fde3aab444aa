#include "device/cuda/cuda_context.h"

#include <mutex>

#include "base/signal_handlers.h"
#include "device/cuda/cuda_memory.h"
#include "device/cuda/cuda_work.h"

namespace opd::cuda {

DeviceContext::DeviceContext(Device device, int32_t number) : api_(Api::get()), device_(device), number_(number) {
  compute_version_ = attribute(kComputeMajor) * 10 + attribute(kComputeMinor);
  int ordered = 0;  // drivers that lack the attribute return an error
  has_ordered_memory_ = api_.cuMemAllocAsync && api_.cuMemFreeAsync &&
                        !api_.cuDeviceGetAttribute(&ordered, kOrderedMemory, device_) && ordered;
}

int32_t DeviceContext::attribute(DeviceAttribute attribute) const {
  int value = 0;
  api_.check(api_.cuDeviceGetAttribute(&value, attribute, device_), "cuDeviceGetAttribute");
  return value;
}

std::string DeviceContext::name() const {
  char text[256] = {};
  api_.check(api_.cuDeviceGetName(text, sizeof text - 1, device_), "cuDeviceGetName");
  return text;
}

std::string DeviceContext::pci_bus_id() const {
  if (!api_.cuDeviceGetPCIBusId) fail(OPD_UNSUPPORTED, "libcuda.so.1 has no cuDeviceGetPCIBusId");
  char text[32] = {};
  api_.check(api_.cuDeviceGetPCIBusId(text, sizeof text - 1, device_), "cuDeviceGetPCIBusId");
  return text;
}

size_t DeviceContext::total_bytes() const {
  size_t bytes = 0;
  api_.check(api_.cuDeviceTotalMem_v2(&bytes, device_), "cuDeviceTotalMem");
  return bytes;
}

// Takes no lock: threads that call it at the same time get the same context, because a device has one primary context.
// The context is never released.
Context *DeviceContext::context() const {
  Context *context = context_.load(std::memory_order_acquire);
  if (context) [[likely]]
    return context;
  const KeptSignalHandlers kept;
  api_.check(api_.cuDevicePrimaryCtxRetain(&context, device_), "cuDevicePrimaryCtxRetain");
  context_.store(context, std::memory_order_release);
  return context;
}

std::shared_ptr<const Reference> DeviceContext::reference() const {
  const std::scoped_lock lock(guard_);
  if (!reference_ || reference_->is_old()) reference_ = std::make_shared<const Reference>(*this);
  return reference_;
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

}  // namespace opd::cuda
