// Modules of kernels for a device: code that the device's driver compiles, and how each kernel is launched. A function
// of such a module takes the kernel's arguments, then the launch values. It runs on the calling thread's current device
// of the kind, in its current stream. Cost of a call: about 0.1 us, in addition to the driver's launch.
#pragma once
#include <map>
#include <memory>
#include <optional>

#include "base/fork_mutex.h"
#include "device/device.h"
#include "module/kinds/device_code.h"
#include "module/module.h"

namespace opd {

class DeviceModule final : public Module {
 public:
  // `cache_directory`: from the options. Throws OPD_BAD_FORMAT.
  DeviceModule(std::string kind, DLDeviceType device, Bytes bytes, std::string origin, std::string cache_directory);

  const char *kind() const override { return kind_.c_str(); }
  Ref<Function> find(std::string_view name) override;  // throws OPD_UNSUPPORTED if there is no device of the kind
  std::vector<std::string> list() override;
  bool implements(std::string_view name) override { return index_of(name).has_value(); }
  std::string source(std::string_view format) override;  // returns the code if it is text
  const char *format() const override { return format_.c_str(); }
  int32_t properties() const override {
    return OPD_MODULE_SERIALIZABLE | (find_kind(device_) ? OPD_MODULE_RUNNABLE : 0);
  }
  std::vector<std::string> save_formats() const override { return {format_}; }
  std::string save(std::string_view) override { return std::string(code_); }
  std::string serialize() override { return bytes_; }
  void describe(JsonWriter &json) override;

  DLDeviceType device_type() const { return device_; }
  const std::string &origin() const { return origin_; }
  // Returns a kernel for a device, compiled at the first call. It lives as long as the module.
  DeviceKernel &kernel(size_t index, int32_t device_id);

 private:
  struct Built {
    std::unique_ptr<DeviceProgram> program;
    std::map<size_t, std::unique_ptr<DeviceKernel>> kernels;  // destroyed before the program
  };

  std::optional<size_t> index_of(std::string_view name) const;

  const std::string kind_, bytes_, origin_, cache_directory_;
  const DLDeviceType device_;
  std::string format_;
  std::string_view code_;  // points into bytes_
  std::vector<KernelInfo> kernels_;
  ForkMutex guard_{LockRank::kDeviceTables};
  std::map<int32_t, Built> built_;  // keys are device numbers
};

// The kind of device for a kind of module; nullopt if no device can run it.
std::optional<DLDeviceType> device_of_module_kind(std::string_view kind);

}  // namespace opd
