// Streams: of the devices, and which of them each thread uses.
#include <map>
#include <utility>

#include "device/device.h"

namespace opd {
namespace {

thread_local std::map<std::pair<int32_t, int32_t>, void *> current;

DeviceStreams &streams_of(DLDevice device) {
  if (DeviceStreams *streams = device_backend(device).streams()) return *streams;
  fail(OPD_UNSUPPORTED, device_name(device), " has no streams but its default one, which is NULL");
}

}  // namespace

void *create_stream(DLDevice device) { return streams_of(device).create(device.device_id); }

void release_stream(DLDevice device, void *stream) {
  if (stream) streams_of(device).release(device.device_id, stream);
}

void sync_stream(DLDevice device, void *stream) {
  if (stream) streams_of(device).sync(device.device_id, stream);
  else device_backend(device).sync(device.device_id);
}

void check_stream(DLDevice device, void *stream) {
  if (stream) streams_of(device);
  else device_backend(device);
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

}  // namespace opd
