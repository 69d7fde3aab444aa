// Streams: those that users created, and the current stream of each thread and device. Also the current device of each
// thread and kind.
#include <array>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <utility>

#include "base/fork_mutex.h"
#include "device/device.h"
#include "device/graph.h"

namespace opd {
namespace {

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wexit-time-destructors"  // destroyed with its thread; no other thread uses it
#endif
thread_local std::map<std::pair<int32_t, int32_t>, void *> current;

thread_local std::array<int32_t, kMaxDeviceKinds> devices{};  // indexed by kind

struct Streams {                          // streams of one device
  std::map<void *, uint16_t> alive = {};  // the values are the streams' numbers
  // The lowest unused number. So a trace has few stream tracks if few streams exist at a time, however often they are
  // made.
  uint16_t free_number() const {
    std::set<uint16_t> taken;
    for (const auto &[stream, number] : alive) taken.insert(number);
    uint16_t number = 1;
    while (number < UINT16_MAX && taken.contains(number)) ++number;
    return number;
  }
};
struct StreamTable {
  ForkMutex guard{LockRank::kDeviceTables};
  std::map<std::pair<int32_t, int32_t>, Streams> streams;
  ForkSharedMutex ending{LockRank::kDeviceKernel};  // held shared while a stream is waited for, so that it does not end
  bool has(DLDevice device, void *stream) {
    const std::scoped_lock lock(guard);
    const auto found = streams.find({device.device_type, device.device_id});
    return found != streams.end() && found->second.alive.contains(stream);
  }
};
StreamTable &made() {
  static auto *const table = new StreamTable;  // never destroyed: threads may use streams while the process exits
  return *table;
}

std::vector<void *> streams_of(DLDevice device) {
  std::vector<void *> streams = {nullptr};
  const std::scoped_lock lock(made().guard);
  for (const auto &[stream, number] : made().streams[{device.device_type, device.device_id}].alive)
    streams.push_back(stream);
  return streams;
}

DeviceBackend &backend_with_streams(DLDevice device) {
  DeviceBackend &backend = device_backend(device);
  if (!backend.is_asynchronous())
    fail_as("NotImplementedError", OPD_UNSUPPORTED, device_name(device),
            " has no streams but its default one, which is NULL");
  return backend;
}

}  // namespace

void *make_stream(DLDevice device) {
  DeviceBackend &backend = backend_with_streams(device);
  void *const stream = backend.create_stream(device.device_id);
  try {
    const std::scoped_lock lock(made().guard);
    Streams &streams = made().streams[{device.device_type, device.device_id}];
    streams.alive.emplace(stream, streams.free_number());
  } catch (const std::bad_alloc &) {
    backend.free_stream(device.device_id, stream);
    throw;
  }
  return stream;
}

void check_stream(DLDevice device, void *stream) {
  if (!stream) return void(device_backend(device));  // throws if the device is absent
  backend_with_streams(device);
  if (!made().has(device, stream))
    fail(OPD_INVALID_ARGUMENT, "address ", reinterpret_cast<uintptr_t>(stream), " is not a stream of ",
         device_name(device));
}

void end_stream(DLDevice device, void *stream) {
  check_stream(device, stream);
  if (!stream) return;
  DeviceBackend &backend = device_backend(device);
  std::exception_ptr failure;  // error of the stream's work, thrown after the stream has ended
  try {
    wait_for_stream(device, stream);
  } catch (...) { failure = std::current_exception(); }
  {
    const std::unique_lock ending(made().ending);
    {
      const std::scoped_lock lock(made().guard);
      if (!made().streams[{device.device_type, device.device_id}].alive.erase(stream))
        return;  // another thread was faster
    }
    backend.free_stream(device.device_id, stream);
  }
  if (failure) std::rethrow_exception(failure);
}

void wait_for_stream(DLDevice device, void *stream) {
  if (is_capturing(device, stream)) fail_in_capture(device, "wait for the captured stream");
  const std::shared_lock ending(made().ending);
  if (!stream || made().has(device, stream)) device_backend(device).sync_stream(device.device_id, stream);
}

void wait_for_all_streams(DLDevice device) {
  for (void *stream : streams_of(device)) wait_for_stream(device, stream);
}

void with_streams(DLDevice device, const std::function<void(std::span<void *const>)> &use) {
  const std::shared_lock ending(made().ending);
  use(streams_of(device));
}

uint16_t stream_number(DLDevice device, void *stream) noexcept {
  if (!stream) return 0;
  const std::scoped_lock lock(made().guard);
  const auto found = made().streams.find({device.device_type, device.device_id});
  if (found == made().streams.end()) return 0;
  const auto number = found->second.alive.find(stream);
  return number == found->second.alive.end() ? uint16_t{0} : number->second;
}

void *current_stream(DLDevice device) noexcept {
  const auto found = current.find({device.device_type, device.device_id});
  return found == current.end() ? nullptr : found->second;
}

void *set_current_stream(DLDevice device, void *stream) {
  void *before = current_stream(device);
  if (before != stream) current[{device.device_type, device.device_id}] = stream;
  return before;
}

int32_t current_device(DLDeviceType type) noexcept {
  return static_cast<size_t>(type) < devices.size() ? devices[static_cast<size_t>(type)] : 0;
}

void set_current_device(DLDevice device) noexcept {
  if (static_cast<size_t>(device.device_type) < devices.size())
    devices[static_cast<size_t>(device.device_type)] = device.device_id;
}

}  // namespace opd
