#include "device/device.h"

namespace opd {
namespace {

[[noreturn]] void fail_without(const char *what) { fail(OPD_UNSUPPORTED, "devices of this kind have no ", what); }

}  // namespace

bool DeviceBackend::has_images(int32_t) { return false; }
void *DeviceBackend::allocate_image(int32_t, const ImageShape &) { fail_without("images"); }
ImageShape DeviceBackend::image_at(int32_t, const void *) noexcept { return {}; }
std::string DeviceBackend::counters_absence(int32_t) { return "opdyno reads no counters of such devices"; }
std::unique_ptr<DeviceCounterSet> DeviceBackend::open_counters(int32_t id, std::span<const std::string>) {
  fail(OPD_UNSUPPORTED, counters_absence(id));
}
std::string DeviceBackend::absence(int32_t id) { return concat("devices of this kind have no number ", id); }
void DeviceBackend::sync_stream(int32_t id, void *) { sync(id); }
void *DeviceBackend::create_stream(int32_t) { fail_without("streams"); }
void DeviceBackend::free_stream(int32_t, void *) noexcept {}
void DeviceBackend::begin_capture(int32_t, void *) { fail_without("graphs"); }
std::unique_ptr<DeviceGraph> DeviceBackend::end_capture(int32_t, void *) { fail_without("graphs"); }
std::unique_ptr<DeviceProgram> DeviceBackend::build(int32_t, const DeviceCode &) {
  fail_without("kernels of their own");
}

bool check_scope(std::string_view scope, DLDevice device) {
  if (scope.empty() || scope == "global") [[likely]]
    return false;
  const bool has_images = device_backend(device).has_images(device.device_id);
  if (has_images && is_texture_scope(scope)) return true;
  fail(OPD_UNSUPPORTED, "memory scope \"", scope, "\" is not offered by ", device_name(device),
       has_images ? concat("; \"global\" is, and for images ", kTextureScopes) : std::string("; \"global\" is"));
}

std::unique_ptr<DeviceTimer> start_timer(DLDevice device) {
  void *const stream = current_stream(device);
  check_stream(device, stream);
  return device_backend(device).start_timer(device.device_id, stream);
}

bool has_working_timer(DLDevice device) try {
  const auto timer = start_timer(device);
  if (!timer) return false;
  timer->stop();
  (void)timer->elapsed_ns();
  return true;
} catch (const Exception &) { return false; }

}  // namespace opd
