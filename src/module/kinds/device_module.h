// Modules of kernels for a device: code that the device's driver compiles, and how each kernel is launched. A function
// of such a module takes the kernel's arguments, then the launch values. It runs on the calling thread's current device
// of the kind, in its current stream. Cost of a call: about 0.1 us, in addition to the driver's launch.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/fork_mutex.h"
#include "device/device.h"
#include "module/module.h"

namespace opd {

// ---- the bytes of such a module
//
// They have TVM's format for CUDA, OpenCL, HIP and others. They contain the code's format, a description of each
// kernel, and the code. A description has the kernel's name, the dtypes of its parameters and the names of its launch
// values.

enum class LaunchValue : uint8_t {
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kClusterX,
  kClusterY,
  kClusterZ,
  kPreferredCluster,
  kDynamicShared
};

struct KernelInfo {
  std::string name;
  std::vector<DLDataType> params;
  std::vector<LaunchValue> values;  // in the order of the arguments that follow the kernel's own
  bool is_cooperative = false, is_programmatic = false;
  std::string unsupported;  // feature of the kernel that the library does not support; "" if none
};

struct DeviceModuleBytes {
  std::string_view format, code;  // both point into the bytes
  std::vector<KernelInfo> kernels;
};
// Whether the text may be the name of a kernel or a format: printable, and not too long.
bool is_kernel_name(std::string_view text);
bool is_source_text(std::string_view code);  // whether it is text that a user can read

// Most kinds have one code for all kernels. Vulkan's have a code for each kernel, which its back end reads from the
// bytes after the kernels' descriptions.
enum class CodeForm : uint8_t { kOneForAll, kEachItsOwn };
// Throws OPD_BAD_FORMAT. `what` names the bytes in its message.
DeviceModuleBytes read_device_module(Bytes bytes, const char *what, CodeForm form = CodeForm::kOneForAll);

// ---- the module

class DeviceModule final : public Module {
 public:
  // `cache_directory`: from the options. Throws OPD_BAD_FORMAT.
  DeviceModule(std::string kind, DLDeviceType device, Bytes bytes, std::string origin, std::string cache_directory);

  const char *kind() const override { return kind_.c_str(); }
  Ref<Function> find(std::string_view name) override;  // throws OPD_UNSUPPORTED if there is no device of the kind
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (const KernelInfo &kernel : kernels_) names.push_back(kernel.name);
    return names;
  }
  bool implements(std::string_view name) override { return index_of(name).has_value(); }
  std::string source(std::string_view format) override;  // returns the code if it is text
  const char *format() const override { return format_.c_str(); }
  int32_t properties() const override {
    return OPD_MODULE_SERIALIZABLE | (find_kind(device_) ? OPD_MODULE_RUNNABLE : 0);
  }
  std::vector<std::string> save_formats() const override { return {format_}; }
  std::string save(std::string_view) override { return std::string(code_); }
  std::string serialize() override { return bytes_; }
  // Does not check whether a device exists: that would start its driver, and an inspection must not run foreign code.
  void describe(JsonWriter &json) override {
    json.key("supported").value(find_kind(device_) != nullptr).key("size_bytes").value(bytes_.size());
  }

  DLDeviceType device_type() const { return device_; }
  const std::string &origin() const { return origin_; }
  // Returns a kernel for a device, compiled at the first call. It lives as long as the module.
  DeviceKernel &kernel(size_t index, int32_t device_id);

 private:
  struct Built {
    std::unique_ptr<DeviceProgram> program;
    std::map<size_t, std::unique_ptr<DeviceKernel>> kernels;  // destroyed before the program
  };

  std::optional<size_t> index_of(std::string_view name) const {
    const auto found = std::ranges::find(kernels_, name, &KernelInfo::name);
    if (found == kernels_.end()) return std::nullopt;
    return static_cast<size_t>(found - kernels_.begin());
  }

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
// Whether this build can run artifacts for a target: a kind or one of its common other names ("gpu", "cl", "nvptx64"
// …). It may have options after a space. Unknown targets are not enabled.
bool is_target_enabled(std::string_view target);

// The function of a kernel. It turns packed arguments into a launch.
Ref<Function> make_kernel_launcher(Ref<DeviceModule> module, size_t index, const KernelInfo &kernel);

}  // namespace opd
