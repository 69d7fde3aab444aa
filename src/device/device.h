// Devices: the interface of a kind, the registry of kinds, and tensors and copies on top of it.
#pragma once
#include <opdyno/device.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "device/device_counters.h"
#include "device/device_timer.h"
#include "device/kernel.h"
#include "device/texture.h"
#include "trace/record/memory_event.h"
#include "value/tensor.h"
#include "value/value.h"

namespace opd {

class ActivitySource;

// One per kind of device; thread-safe; lives as long as the process. A stream is the kind's own pointer; null is the
// default stream. Work of one stream is done in order; only sync() waits for it.
//
// A block of memory has a range of addresses that no other memory of the process has, also if the processor cannot
// access it: so views, pools and copies calculate with addresses of all devices alike.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  virtual Value attr(int32_t id, opd_device_attr attr) = 0;
  // Why there is no device of the kind, or none of this number: one clause, for messages.
  virtual std::string absence(int32_t id);
  // Whether attr() and absence() would run no foreign code that has not run before, as a driver's start-up does.
  virtual bool is_started() const { return true; }

  virtual void *allocate(int32_t id, size_t bytes, size_t alignment) = 0;  // null without memory
  // Work that was given to the device before may still use the block.
  virtual void deallocate(int32_t id, void *data, size_t bytes, size_t alignment) noexcept = 0;
  // Waits for copies that still read a block which its owner returns, because the next owner writes to it. Needs no
  // override on devices whose copies end in the order of their streams.
  virtual void end_reads(const void *) noexcept {}
  // Images, for the memory scopes of device/texture.h. Their addresses count the bytes of a tensor; deallocate() ends
  // them. They need no override on devices without images.
  virtual bool has_images(int32_t id);
  virtual void *allocate_image(int32_t id, const ImageShape &shape);      // as allocate(); throws for what it cannot be
  virtual ImageShape image_at(int32_t id, const void *address) noexcept;  // none: it is other memory
  // Whether a returned block may be kept for later requests; false if its source has been replaced. If `data` is null:
  // whether the present source is the system.
  virtual bool keeps(const void *data) noexcept {
    (void)data;
    return true;
  }
  // Compact bytes between this kind and itself or the host, after the work that the stream has. Finished on return if
  // one side is the host, unless a copy from pinned memory goes to a stream that the program made.
  virtual void copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes,
                    void *stream) = 0;
  // The same; the device keeps the times of the work. Null: it has none.
  virtual std::unique_ptr<PendingWork> copy_timed(const void *from, DLDevice from_device, void *to, DLDevice to_device,
                                                  size_t bytes, void *stream) {
    copy(from, from_device, to, to_device, bytes, stream);
    return nullptr;
  }
  virtual void sync(int32_t id) = 0;  // waits for the work of all streams
  // These need no override if work ends before it returns, as on the CPU.
  virtual bool is_asynchronous() const { return false; }
  virtual void sync_stream(int32_t id, void *stream);
  virtual void *create_stream(int32_t id);
  virtual void free_stream(int32_t id, void *stream) noexcept;

  // Null if the device has no timestamps: the caller uses the host's clock. Throws.
  virtual std::unique_ptr<DeviceTimer> start_timer(int32_t, void *) { return nullptr; }
  // Why the device has no counters: one clause; "" if it has some. `names`: which ones, if they have names.
  virtual std::string counters_absence(int32_t id);
  virtual std::unique_ptr<DeviceCounterSet> open_counters(int32_t id, std::span<const std::string> names);  // throws
  // What reports the work of all the kind's devices; null: nothing does.
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
// Kinds with greater numbers, which are made when they are asked for: those of sessions on other machines.
void register_further_kinds(DeviceBackend *(*find)(int32_t device_type));
DeviceBackend *find_kind(int32_t device_type);  // null: no such kind in this process
DeviceBackend *find_device(DLDevice device);    // null: no such kind in this process, or no such id
// Throws OPD_UNSUPPORTED with the reason and a list of the present ones.
DeviceBackend &device_backend(DLDevice device);
std::string absence_of(DLDevice device);  // why it is absent; "" if it is there
// Throws for an absent device, except for OPD_ATTR_EXIST and OPD_ATTR_ABSENCE.
Value device_attr(DLDevice device, opd_device_attr attr);

// What the kinds of devices report of their work, together. Starts the sources of all kinds that have devices; throws
// if one of them refuses, or if there is none.
ActivitySource &reported_activity();

// Throws OPD_UNSUPPORTED for a memory scope that the device lacks. All have "global", which "" stands for; those with
// images have the texture scopes, too. True: the scope is one of these.
bool check_scope(std::string_view scope, DLDevice device);

// Streams that users make: a device's own pointers, which are checked before the device sees them.
void *make_stream(DLDevice device);              // throws, also for a device without streams
void end_stream(DLDevice device, void *stream);  // after its work
// Waits for the work of a stream. It may have ended meanwhile, and then has none.
void wait_for_stream(DLDevice device, void *stream);
// Waits for the work of all streams, also of those that the device made for itself. Throws while the calling thread
// captures a graph of the device; waits while another thread does.
void wait_for_device(DLDevice device);
// Throws for what is no stream of the device; null is its default one.
void check_stream(DLDevice device, void *stream);
void wait_for_all_streams(DLDevice device);  // also for the default one
// Calls `use` with the default stream and all that users made. None of them ends meanwhile.
void with_streams(DLDevice device, const std::function<void(std::span<void *const>)> &use);
// Its number among those that the device has, from 1 on; 0: the default one.
uint16_t stream_number(DLDevice device, void *stream) noexcept;

// Starts a timer in the calling thread's current stream. Null: the device has none. Throws.
std::unique_ptr<DeviceTimer> start_timer(DLDevice device);
// Whether the device's timers work, by a try: some drivers offer events without times. Waits for the current stream.
bool has_working_timer(DLDevice device);

// The stream that compiled code on the calling thread asks for, even if there is no such device; null is the device's
// default one. set_current_stream() returns the former one.
void *current_stream(DLDevice device) noexcept;
void *set_current_stream(DLDevice device, void *stream);
// The device of a kind that kernels of the calling thread run on; 0 at first.
int32_t current_device(DLDeviceType type) noexcept;
void set_current_device(DLDevice device) noexcept;

// Gives work to a stream, and records it if the device has its times. `give` submits the work.
template <class Give>
void record_work(DLDevice device, void *stream, WorkKind kind, NameId name, uint64_t bytes, const Give &give) {
  const uint64_t begin = ticks_of(tick_clock());
  std::unique_ptr<PendingWork> work = give();
  const uint64_t end = ticks_of(tick_clock());
  if (work) add_device_work({name, device, stream_number(device, stream), kind, bytes, {begin, end}}, std::move(work));
}

inline constexpr size_t kAlignment = 64;  // compiled kernels assume it of tensor data
inline constexpr DLDevice kHost = {kDLCPU, 0};

Ref<Tensor> make_tensor(std::span<const int64_t> dims, DLDataType dtype, DLDevice device,
                        MemoryUse use = MemoryUse::kTensor, std::string_view scope = "");
// A compact copy on a device.
Ref<Tensor> copied_to(DLDevice device, const DLTensor &from, MemoryUse use = MemoryUse::kTensor,
                      std::string_view scope = "");
void check_copy(const DLTensor &from, const DLTensor &to);   // throws as copy_tensor() would
void copy_tensor(const DLTensor &from, const DLTensor &to);  // any strides; throws if shape or dtype differ
// Between a contiguous tensor and host memory of exactly its size.
void copy_from_bytes(const DLTensor &to, const void *data, size_t size);
void copy_to_bytes(const DLTensor &from, void *data, size_t size);

}  // namespace opd
