#include "device/cuda/cuda_devices.h"

namespace opd::cuda {
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
