// The CUDA devices and their primary contexts, which all users of the driver in the process share. Also times of work,
// memory blocks, pinned memory and programs of a device.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "device/cuda/cuda_api.h"
#include "device/cuda/cupti_activity.h"
#include "device/device_clock.h"
#include "device/device_counters.h"
#include "device/kernel.h"

namespace opd::cuda {

class BlockStreams;
class Reference;

class DeviceContext {
 public:
  DeviceContext(Device device, int32_t number);  // throws
  DeviceContext(const DeviceContext &) = delete;

  const Api &api() const { return api_; }
  int32_t number() const { return number_; }
  int32_t compute_version() const { return compute_version_; }  // 90 for 9.0

  int32_t attribute(DeviceAttribute attribute) const {
    int value = 0;
    api_.check(api_.cuDeviceGetAttribute(&value, attribute, device_), "cuDeviceGetAttribute");
    return value;
  }
  std::string name() const {
    char text[256] = {};
    api_.check(api_.cuDeviceGetName(text, sizeof text - 1, device_), "cuDeviceGetName");
    return text;
  }
  size_t total_bytes() const {
    size_t bytes = 0;
    api_.check(api_.cuDeviceTotalMem_v2(&bytes, device_), "cuDeviceTotalMem");
    return bytes;
  }
  std::string pci_bus_id() const;  // "0000:3b:00.0"

  // Creates the context at the first call. This takes device memory and up to a second. Throws.
  // Takes no lock: threads that call it at the same time get the same context, because a device has one primary
  // context. The context is never released.
  Context *context() const {
    Context *context = context_.load(std::memory_order_acquire);
    if (context) [[likely]]
      return context;
    const KeptSignalHandlers kept;
    api_.check(api_.cuDevicePrimaryCtxRetain(&context, device_), "cuDevicePrimaryCtxRetain");
    context_.store(context, std::memory_order_release);
    return context;
  }
  // Calls a driver function that destroys an object. Does nothing in a child of fork(), or after the process has ended
  // the driver.
  template <class T>
  void release(Status (*function)(T *), T *object) const noexcept;
  // A reference for the times of work, at most a few seconds old. Throws.
  std::shared_ptr<const Reference> reference() const;
  // The streams for stream-ordered memory. Null if the driver or the device lacks it. Created at the first call.
  // Throws.
  BlockStreams *block_streams() const;
  bool has_context() const { return context_.load(std::memory_order_acquire) != nullptr; }

 private:
  const Api &api_;
  const Device device_;
  const int32_t number_;
  int32_t compute_version_ = 0;
  mutable std::atomic<Context *> context_{nullptr};
  mutable ForkMutex guard_{LockRank::kDeviceKernel};
  mutable std::shared_ptr<const Reference> reference_;
  bool has_ordered_memory_ = false;
  mutable std::atomic<BlockStreams *> block_streams_{nullptr};
};

// Makes a device's context current for the calling thread during its life. Then restores the previous context, for
// other users of the driver.
class CurrentContext {
 public:
  explicit CurrentContext(const DeviceContext &device);  // throws
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;

 private:
  const Api &api_;
  bool is_pushed_ = false;
};

template <class T>
void DeviceContext::release(Status (*function)(T *), T *object) const noexcept {
  if (!object || api_.is_inherited()) return;
  try {
    const CurrentContext current(*this);
    function(object);
  } catch (const Exception &) {}
}

// ---- times of kernels and copies
//
// They are measured by events before and after the work. The driver reports only the time between two events. So there
// is a reference event with a known time on the host's clock.

class TimedEvent {
 public:
  TimedEvent(const DeviceContext &device, Stream *stream);  // throws; reached when the stream's earlier work is done
  ~TimedEvent() { device_.release(device_.api().cuEventDestroy_v2, event_); }
  TimedEvent(const TimedEvent &) = delete;

  bool wait() const noexcept { return device_.api().cuEventSynchronize(event_) == kSuccess; }
  bool ns_since(const TimedEvent &earlier, uint64_t &out) const noexcept;  // false if the driver has no time

 private:
  const DeviceContext &device_;
  Event *event_ = nullptr;
};

// An event of a device with a known time on the host's clock. The driver's times are floats in milliseconds: if the
// event were older than a few seconds, they would be coarser than a microsecond. Cost: waits for the device, 0.1 ms.
class Reference {
 public:
  explicit Reference(const DeviceContext &device);  // throws
  bool is_old() const { return std::chrono::steady_clock::now() - made_ > std::chrono::seconds(4); }
  // Times of work between two events. Returns false if the driver has none.
  bool times_of(const TimedEvent &before, const TimedEvent &after, TickInterval launch, WorkTimes &out) const noexcept;

 private:
  struct OwnStream {  // a separate stream, so that it waits for no work
    explicit OwnStream(const DeviceContext &device);
    ~OwnStream() { device.release(device.api().cuStreamDestroy_v2, stream); }
    OwnStream(const OwnStream &) = delete;
    const DeviceContext &device;
    Stream *stream = nullptr;
  };

  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
  const OwnStream stream_;
  DeviceClock clock_;  // its time is 0 at the event
  std::unique_ptr<TimedEvent> event_;
};

class CudaTimer final : public DeviceTimer {
 public:
  CudaTimer(const DeviceContext &device, Stream *stream) : device_(device), stream_(stream), begin_(device, stream) {}
  void stop() override { end_.emplace(device_, stream_); }
  uint64_t elapsed_ns() override {
    const CurrentContext current(device_);
    uint64_t ns = 0;
    if (!end_->wait()) fail(OPD_CALL_FAILED, "cuEventSynchronize failed");
    if (!end_->ns_since(begin_, ns)) fail(OPD_CALL_FAILED, "cuEventElapsedTime failed");
    return ns;
  }

 private:
  const DeviceContext &device_;
  Stream *const stream_;
  TimedEvent begin_;
  std::optional<TimedEvent> end_;
};

class CudaWork final : public PendingWork {
 public:
  // Submits work to a stream between two events. If the events fail, the work is still submitted, and its times are
  // lost.
  template <class Give>
  static std::unique_ptr<PendingWork> timed(const DeviceContext &device, void *stream, const Give &give) {
    if (is_reported()) {  // CUPTI reports the times
      const ReportedRun run;
      return give(), nullptr;
    }
    auto work = std::make_unique<CudaWork>(device, static_cast<Stream *>(stream));
    give();
    work->end();
    return work;
  }
  CudaWork(const DeviceContext &device, Stream *stream) noexcept;
  bool finish(TickInterval launch, WorkTimes &out) noexcept override try {
    if (!after_ || device_.api().is_inherited()) return false;
    const CurrentContext current(device_);
    return after_->wait() && reference_->times_of(*before_, *after_, launch, out);
  } catch (const Exception &) { return false; }

 private:
  void end() noexcept {
    if (before_) after_ = record();
  }
  std::unique_ptr<TimedEvent> record() const noexcept try {
    return std::make_unique<TimedEvent>(device_, stream_);
  } catch (const std::exception &) { return nullptr; }

  const DeviceContext &device_;
  Stream *const stream_;
  std::shared_ptr<const Reference> reference_;
  std::unique_ptr<TimedEvent> before_, after_;
};

// ---- the devices, their memory and their programs

// The list of the process' devices is made at the first use of one.
const DeviceContext *find_cuda_device(int32_t id);  // null if there is no such device
// Throws OPD_UNSUPPORTED for an absent device, or in a child of fork() whose parent started the driver.
const DeviceContext &get_cuda_device(int32_t id);
std::string absence_of_cuda_device(int32_t id);  // reason for the absence; one clause

// Memory blocks. If the driver and the device have stream-ordered memory, a returned block becomes free when the device
// has completed the earlier work. The host does not wait for that.
void *allocate_block(const DeviceContext &device, size_t bytes);  // null if there is no memory; throws
void free_block(const DeviceContext &device, void *data) noexcept;
size_t free_bytes(const DeviceContext &device);  // waits until all returned blocks are free; throws

// Pinned memory of the host (cuda_host.cc).
// Whether a copy submitted to the stream may read the memory after the call has returned. If so, the memory is not
// reused before the copy has ended, even if its owner returns it earlier. If not, the caller must wait for the copy.
// There are three reasons for that: the memory has another owner; the program did not create the stream; or a VM runs,
// which reuses the memory of its tensors without notice.
bool keep_until_read(const void *data, const DeviceContext &device, void *stream) noexcept;

// Code that the driver has loaded for the device, and the kernels in it. Throws.
std::unique_ptr<DeviceProgram> build_program(const DeviceContext &device, const DeviceCode &code);

}  // namespace opd::cuda
