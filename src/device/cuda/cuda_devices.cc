#include "device/cuda/cuda_devices.h"

#include <memory>
#include <vector>

#include "value/value.h"

namespace opd::cuda {
namespace {

struct Devices {
  std::vector<std::unique_ptr<DeviceContext>> list;
  std::string failure;  // of making them
};

void list_devices(const Api &api, Devices &devices) {
  int count = 0;
  api.check(api.cuDeviceGetCount(&count), "cuDeviceGetCount");
  for (int number = 0; number < count; ++number) {
    Device device = 0;
    api.check(api.cuDeviceGet(&device, number), "cuDeviceGet");
    devices.list.push_back(std::make_unique<DeviceContext>(device, number));
  }
}

// Made at the first question, and never destroyed: work may be given while the process exits.
const Devices &devices() {
  static const Devices *const made = [] {
    auto *devices = new Devices;
    if (!Api::get().absence.empty()) return devices;
    try {
      list_devices(Api::get(), *devices);
    } catch (const Exception &e) { devices->failure = e.error()->message; }
    return devices;
  }();
  return *made;
}

}  // namespace

const DeviceContext *find_cuda_device(int32_t id) {
  const Devices &known = devices();
  return id >= 0 && static_cast<size_t>(id) < known.list.size() ? known.list[static_cast<size_t>(id)].get() : nullptr;
}

const DeviceContext &get_cuda_device(int32_t id) {
  const DeviceContext *device = find_cuda_device(id);
  if (!device) fail(OPD_UNSUPPORTED, "there is no device cuda:", id);
  if (Api::get().is_inherited()) [[unlikely]]
    fail(OPD_UNSUPPORTED, "cuda:", id,
         " cannot be used in a child of fork(): its driver was started in the parent; start it after fork()");
  return *device;
}

std::string absence_of_cuda_device(int32_t id) {
  const Devices &known = devices();
  if (!Api::get().absence.empty()) return Api::get().absence;
  if (!known.failure.empty()) return known.failure;
  if (known.list.empty()) return "NVIDIA's driver is here, but it has no device";
  return concat("NVIDIA's driver has ", counted(known.list.size(), "device"), ", not a number ", id);
}

}  // namespace opd::cuda
