// Memory of the host that CUDA devices reach ("pinned"): there if there is a CUDA device. The processor uses it as it
// uses its own; copies to and from devices need no stage.
#include <cstring>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_devices.h"

namespace opd {
namespace cuda {
namespace {

class CudaHostBackend final : public DeviceBackend {
 public:
  Value attr(int32_t id, opd_device_attr attr) override {
    if (attr == OPD_ATTR_EXIST) return Value(id == 0 && find_cuda_device(0) != nullptr);
    return attr == OPD_ATTR_DEVICE_NAME ? Value("memory of the host for CUDA devices") : Value();
  }
  std::string absence(int32_t id) override {
    return find_cuda_device(0) ? concat("there is only number 0, not ", id) : absence_of_cuda_device(0);
  }
  bool is_started() const override { return Api::is_open(); }

  void *allocate(int32_t, size_t bytes, size_t) override {
    const DeviceContext &device = get_cuda_device(0);
    const CurrentContext current(device);
    void *data = nullptr;
    const Status status = device.api().cuMemHostAlloc(&data, bytes, kPortable);
    if (status == kOutOfMemory) return nullptr;
    device.api().check(status, "cuMemHostAlloc");
    return data;
  }
  // Copies have ended when they return, so no device uses the block.
  void deallocate(int32_t, void *data, size_t, size_t) noexcept override {
    const Api &api = Api::get();
    if (api.is_inherited()) return;
    try {
      const CurrentContext current(get_cuda_device(0));
      api.cuMemFreeHost(data);
    } catch (const Exception &) {}  // the driver has ended
  }
  void copy(const void *from, DLDevice, void *to, DLDevice, size_t bytes, void *) override {
    std::memmove(to, from, bytes);
  }
  void sync(int32_t) override {}
};

}  // namespace
}  // namespace cuda

DeviceBackend &cuda_host_backend() {
  static auto *backend = new cuda::CudaHostBackend;
  return *backend;
}

}  // namespace opd
