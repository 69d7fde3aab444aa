// Devices: the interface of a kind, the registry of kinds, streams and timers, and tensors and copies built on them.
#pragma once
#include <opdyno/device.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "device/device_counters.h"
#include "device/kernel.h"
#include "device/texture.h"
#include "trace/record/memory_event.h"
#include "value/tensor.h"
#include "value/value.h"

namespace opd {

class ActivitySource;

// One object per kind of device. Thread-safe. Lives as long as the process. A stream is the kind's own pointer; null is
// the default stream. Work of one stream runs in order; only sync() waits for it.
//
// A block of memory has a range of addresses that no other memory of the process has, even if the processor cannot
// access it. So views, pools and copies calculate with addresses in the same way on all devices.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  virtual Value attr(int32_t id, opd_device_attr attr) = 0;
  // The reason why the kind has no devices, or no device of this number. One clause, for messages.
  virtual std::string absence(int32_t id);
  // Returns false if attr() or absence() would run foreign code for the first time, such as the start of a driver.
  virtual bool is_started() const { return true; }

  virtual void *allocate(int32_t id, size_t bytes, size_t alignment) = 0;  // null if there is no memory
  // Work submitted earlier may still use the block.
  virtual void deallocate(int32_t id, void *data, size_t bytes, size_t alignment) noexcept = 0;
  // Waits for copies that still read a block that its owner returns, because the next owner writes to it. Needs no
  // override on devices whose copies end in the order of their streams.
  virtual void end_reads(const void *) noexcept {}
  // Images, for the memory scopes of device/texture.h. Their addresses count the bytes of a tensor. deallocate() frees
  // them. Devices without images need no override.
  virtual bool has_images(int32_t id);
  virtual void *allocate_image(int32_t id, const ImageShape &shape);      // throws if the device cannot have it
  virtual ImageShape image_at(int32_t id, const void *address) noexcept;  // an empty shape for other memory
  // Whether a returned block may be kept for later requests; false if its source has been replaced. If `data` is null:
  // whether the current source is the system.
  virtual bool keeps(const void *data) noexcept {
    (void)data;
    return true;
  }
  // Copies compact bytes between this kind and itself or the host, after the earlier work of the stream. If one side is
  // the host, the copy is complete on return, except from pinned memory in a stream that the program created.
  virtual void copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes,
                    void *stream) = 0;
  // Copies like copy(), and the device measures the times. Returns null if it has no times.
  virtual std::unique_ptr<PendingWork> copy_timed(const void *from, DLDevice from_device, void *to, DLDevice to_device,
                                                  size_t bytes, void *stream) {
    copy(from, from_device, to, to_device, bytes, stream);
    return nullptr;
  }
  virtual void sync(int32_t id) = 0;  // waits for the work of all streams
  // Devices whose work ends before the call returns, such as the CPU, need not override these.
  virtual bool is_asynchronous() const { return false; }
  virtual void sync_stream(int32_t id, void *stream);
  virtual void *create_stream(int32_t id);
  virtual void free_stream(int32_t id, void *stream) noexcept;

  // Returns null if the device has no timestamps: the caller uses the host's clock. Throws.
  virtual std::unique_ptr<DeviceTimer> start_timer(int32_t, void *) { return nullptr; }
  // The reason why the device has no counters: one clause; "" if it has some. `names`: the wanted counters, if they
  // have names.
  virtual std::string counters_absence(int32_t id);
  virtual std::unique_ptr<DeviceCounterSet> open_counters(int32_t id, std::span<const std::string> names);  // throws
  // The source of events about the work of all the kind's devices. Null: there is none.
  virtual ActivitySource *activity() { return nullptr; }

  virtual std::unique_ptr<DeviceProgram> build(int32_t id, const DeviceCode &code);  // throws

  // Graphs (device/graph.h). Between begin_capture() and end_capture(), called by one thread, the device captures the
  // stream's work instead of executing it.
  virtual bool has_graphs() const { return false; }
  virtual void begin_capture(int32_t id, void *stream);
  // Ends the capture also if it throws.
  virtual std::unique_ptr<DeviceGraph> end_capture(int32_t id, void *stream);
};

inline constexpr int32_t kMaxDeviceKinds = 64;  // DLPack 1.3 uses 18
void register_device(int32_t device_type, DeviceBackend &backend);
// Registers a function that makes kinds with greater numbers on demand: those of remote sessions.
void register_further_kinds(DeviceBackend *(*find)(int32_t device_type));
DeviceBackend *find_kind(int32_t device_type);  // null if this process has no such kind
DeviceBackend *find_device(DLDevice device);    // null if this process has no such kind or device number
// Throws OPD_UNSUPPORTED with the reason and a list of the available devices.
DeviceBackend &device_backend(DLDevice device);
std::string absence_of(DLDevice device);  // reason for the absence; "" if the device exists
// Throws for an absent device, except for OPD_ATTR_EXIST and OPD_ATTR_ABSENCE.
Value device_attr(DLDevice device, opd_device_attr attr);

// Events about the work of all kinds of devices. Starts the sources of all kinds that have devices. Throws if a source
// refuses, or if there is none.
ActivitySource &reported_activity();

// Throws OPD_UNSUPPORTED for a memory scope that the device lacks. All devices have "global", for which "" also stands.
// Devices with images have the texture scopes, too. Returns true for a texture scope.
bool check_scope(std::string_view scope, DLDevice device);

// Streams that users create. They are the device's own pointers, and are checked before the device gets them.
void *make_stream(DLDevice device);              // throws, for example if the device has no streams
void end_stream(DLDevice device, void *stream);  // waits for its work first
// Waits for the work of a stream. A stream that has already ended has no work.
void wait_for_stream(DLDevice device, void *stream);
// Waits for the work of all streams, including the device's internal ones. Throws while the calling thread captures a
// graph of the device. Waits while another thread captures one.
void wait_for_device(DLDevice device);
// Throws unless the pointer is a stream of the device. Null is the default stream.
void check_stream(DLDevice device, void *stream);
void wait_for_all_streams(DLDevice device);  // the default stream included
// Calls `use` with the default stream and all streams that users created. None of them ends during the call.
void with_streams(DLDevice device, const std::function<void(std::span<void *const>)> &use);
// Number of the stream among the device's streams, from 1 on. 0: the default stream.
uint16_t stream_number(DLDevice device, void *stream) noexcept;

// Starts a timer in the calling thread's current stream. Null: the device has no timers. Throws.
std::unique_ptr<DeviceTimer> start_timer(DLDevice device);
// Tries whether the device's timers work, because some drivers have events without times. Waits for the current stream.
bool has_working_timer(DLDevice device);

// The stream that compiled code on the calling thread uses; null is the device's default stream. The device need not
// exist. set_current_stream() returns the previous stream.
void *current_stream(DLDevice device) noexcept;
void *set_current_stream(DLDevice device, void *stream);
// The device of a kind on which the calling thread runs kernels. Initially 0.
int32_t current_device(DLDeviceType type) noexcept;
void set_current_device(DLDevice device) noexcept;

// Submits work to a stream by calling `give`. Records the work if the device has its times.
template <class Give>
void record_work(DLDevice device, void *stream, WorkKind kind, NameId name, uint64_t bytes, const Give &give) {
  const uint64_t begin = ticks_of(tick_clock());
  std::unique_ptr<PendingWork> work = give();
  const uint64_t end = ticks_of(tick_clock());
  if (work) add_device_work({name, device, stream_number(device, stream), kind, bytes, {begin, end}}, std::move(work));
}

inline constexpr size_t kAlignment = 64;  // alignment of tensor data that compiled kernels assume
inline constexpr DLDevice kHost = {kDLCPU, 0};

Ref<Tensor> make_tensor(std::span<const int64_t> dims, DLDataType dtype, DLDevice device,
                        MemoryUse use = MemoryUse::kTensor, std::string_view scope = "");
// Returns a compact copy on a device.
Ref<Tensor> copied_to(DLDevice device, const DLTensor &from, MemoryUse use = MemoryUse::kTensor,
                      std::string_view scope = "");
void check_copy(const DLTensor &from, const DLTensor &to);   // throws as copy_tensor() would
void copy_tensor(const DLTensor &from, const DLTensor &to);  // any strides; throws if shape or dtype differ
// Copies between a contiguous tensor and host memory of exactly its size.
void copy_from_bytes(const DLTensor &to, const void *data, size_t size);
void copy_to_bytes(const DLTensor &from, void *data, size_t size);

}  // namespace opd
