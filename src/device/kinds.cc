// The table of the kinds of devices. Only this file depends on all back ends. They depend on device.h, so no back end
// depends on another.
#include <array>
#include <atomic>

#include "device/backends.h"
#include "device/device.h"
#include "value/value.h"

namespace opd {
namespace {

using Kinds = std::array<std::atomic<DeviceBackend *>, kMaxDeviceKinds>;
Kinds &kinds() {
  static auto *const table = [] {
    auto *made = new Kinds{};  // never destroyed: storages may end while the process exits
    (*made)[kDLCPU] = &cpu_backend();
    (*made)[kDLCUDA] = &cuda_backend();
    (*made)[kDLCUDAHost] = &cuda_host_backend();
    (*made)[kDLOpenCL] = &opencl_backend();
    (*made)[kDLVulkan] = &vulkan_backend();
    return made;
  }();
  return *table;
}

std::atomic<DeviceBackend *(*)(int32_t)> further_kinds{nullptr};

bool exists(DeviceBackend &backend, int32_t id) { return backend.attr(id, OPD_ATTR_EXIST).view().u.int64 != 0; }

std::string present_devices() {
  constexpr int32_t kMost = 64;  // devices of one kind in a message
  std::string list, unknown;
  for (int32_t type = 0; type < kMaxDeviceKinds; ++type) {
    DeviceBackend *backend = kinds()[static_cast<size_t>(type)].load(std::memory_order_acquire);
    if (!backend) continue;
    if (!backend->is_started()) {  // a message must not start drivers
      unknown += concat(unknown.empty() ? "" : ", ", device_kind_name(type));
      continue;
    }
    int32_t count = 0;
    while (count < kMost && exists(*backend, count)) ++count;
    if (count == 0) continue;
    list += concat(list.empty() ? "" : ", ", device_kind_name(type), ":0");
    if (count > 1) list += concat(" to ", device_kind_name(type), ":", count - 1);
  }
  return unknown.empty() ? list : concat(list, ", and has not started the drivers of ", unknown);
}

}  // namespace

void register_device(int32_t device_type, DeviceBackend &backend) {
  if (device_type < 0 || device_type >= kMaxDeviceKinds)
    fail(OPD_OUT_OF_RANGE, "a kind of device must have a number from 0 to ", kMaxDeviceKinds - 1, ", but has ",
         device_type);
  DeviceBackend *none = nullptr;
  if (!kinds()[static_cast<size_t>(device_type)].compare_exchange_strong(none, &backend, std::memory_order_acq_rel))
    fail(OPD_ALREADY_EXISTS, "devices of kind ", device_kind_name(device_type), " are registered already");
}

void register_further_kinds(DeviceBackend *(*find)(int32_t device_type)) {
  further_kinds.store(find, std::memory_order_release);
}

DeviceBackend *find_kind(int32_t device_type) {
  if (device_type < 0 || device_type >= kMaxDeviceKinds) [[unlikely]] {
    const auto find = further_kinds.load(std::memory_order_acquire);
    return find ? find(device_type) : nullptr;
  }
  return kinds()[static_cast<size_t>(device_type)].load(std::memory_order_acquire);
}

DeviceBackend *find_device(DLDevice device) {
  DeviceBackend *backend = find_kind(device.device_type);
  return backend && exists(*backend, device.device_id) ? backend : nullptr;
}

std::string absence_of(DLDevice device) {
  DeviceBackend *backend = find_kind(device.device_type);
  if (backend) return exists(*backend, device.device_id) ? "" : backend->absence(device.device_id);
  if (device.device_type >= kDevicesOfSession)
    return concat("there is no session with the number ", device.device_type / kDevicesOfSession - 1);
  return concat("this build has no back end for devices of kind ", device_kind_name(device.device_type),
                ", and no plug-in has registered one (docs/devices.md: Add a kind of devices)");
}

DeviceBackend &device_backend(DLDevice device) {
  if (DeviceBackend *backend = find_device(device)) [[likely]]
    return *backend;
  fail(OPD_UNSUPPORTED, "there is no device ", device_name(device), ": ", absence_of(device), "; this process has ",
       present_devices());
}

Value device_attr(DLDevice device, opd_device_attr attr) {
  if (attr == OPD_ATTR_EXIST) return Value(find_device(device) != nullptr);
  if (attr == OPD_ATTR_ABSENCE) {
    const std::string absence = absence_of(device);
    return absence.empty() ? Value() : Value(absence);
  }
  return device_backend(device).attr(device.device_id, attr);
}

// ---- defaults of DeviceBackend's functions

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

// ---- functions of all kinds

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

// ---- images of tensors in texture scopes

namespace {

// Index of the first dimension that becomes columns. Earlier dimensions become layers and rows.
size_t first_column(std::string_view scope, size_t rank) {
  if (scope == "global.texture-weight") return 1;
  return scope == "global.texture-nhwc" ? 2 : rank - 2;
}

}  // namespace

bool is_texture_scope(std::string_view scope) {
  return scope == "global.texture" || scope == "global.texture-nhwc" || scope == "global.texture-weight";
}

ImageShape image_shape(std::string_view scope, std::span<const int64_t> dims, DLDataType dtype) {
  const size_t rank = dims.size();
  uint64_t count = 0, bytes = 0;
  std::string shape = dtype_name(dtype);
  append_dims(shape, dims);
  require(rank >= 3, "memory scope \"", scope, "\" takes tensors of at least 3 dimensions, but the tensor is ", shape);
  require(dims[rank - 1] == 4, "memory scope \"", scope,
          "\" takes tensors whose last dimension is 4, the channels of a pixel, but the tensor is ", shape);
  require(element_count(dims.data(), static_cast<int64_t>(rank), count) && data_bytes(count, dtype, bytes) && count > 0,
          "a tensor in memory scope \"", scope, "\" must have elements, and not too many, but is ", shape);
  ImageShape image{1, 1, 1, dtype};
  const size_t columns = first_column(scope, rank);
  for (size_t i = 0; i + 1 < rank; ++i)
    (i >= columns ? image.width : i + 1 == columns ? image.height : image.layers) *= dims[i];
  return image;
}

}  // namespace opd
