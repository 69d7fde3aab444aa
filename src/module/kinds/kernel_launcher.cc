// The functions of devices' kernels, which turn packed arguments into launches. Also the functions that host code calls
// before it launches kernels.
#include <array>
#include <atomic>

#include "base/few_or_many.h"
#include "device/graph.h"
#include "module/kinds/device_module.h"
#include "value/tensor.h"

namespace opd {
namespace {

constexpr const char *kSetDevice = "__tvm_set_device";
constexpr size_t kFewParams = 32;   // nearly all kernels have fewer
constexpr size_t kFewDevices = 16;  // devices whose kernels are found without a lock

union Cell {
  uint64_t bits;
  float single;
  double number;
  const void *address;
};

class Launcher {
 public:
  Launcher(Ref<DeviceModule> module, size_t index, const KernelInfo &info)
      : module_(std::move(module)), index_(index), info_(info), name_(name_id(info.name)) {}
  Launcher(Launcher &&other) noexcept
      : module_(std::move(other.module_)), index_(other.index_), info_(other.info_), name_(other.name_) {}

  Value operator()(Args args) {
    const size_t count = info_.params.size();
    if (args.size() != count + info_.values.size()) [[unlikely]]
      fail_as("TypeError", OPD_INVALID_ARGUMENT, "kernel ", info_.name, " takes ", counted(count, "argument"), " and ",
              counted(info_.values.size(), "launch value"), ", but was given ", args.size());
    const DLDevice device{module_->device_type(), current_device(module_->device_type())};
    KernelLaunch launch;
    if (!read_values(args.subspan(count), launch)) return {};  // a launch without threads
    FewOrMany<Cell, kFewParams> cells(count);
    FewOrMany<KernelArg, kFewParams> kernel_args(count);
    run(args, device, launch, cells.get(), kernel_args.get());
    return {};
  }

 private:
  void run(Args args, DLDevice device, KernelLaunch &launch, std::span<Cell> cells, std::span<KernelArg> kernel_args) {
    for (size_t i = 0; i < cells.size(); ++i) kernel_args[i] = read(args[i], i, device, cells[i]);
    launch.args = kernel_args;
    void *const stream = current_stream(device);
    const bool is_recorded = !is_captured(device, stream) && is_recording(Interest::kDeviceWork);
    DeviceKernel &found = kernel(device.device_id);
    if (!is_recorded) [[likely]]
      return found.launch(stream, launch);
    record_work(device, stream, WorkKind::kKernel, name_, 0, [&] { return found.launch_timed(stream, launch); });
  }

  // Reads the launch values. Returns false if a size is 0, because then no thread runs.
  bool read_values(Args values, KernelLaunch &launch) const {
    bool runs = true;
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t value = as_int(values[i], "a launch value");
      const LaunchValue kind = info_.values[i];
      if (kind == LaunchValue::kDynamicShared) {
        if (value < 0) refuse(i, ">= 0", value);
        launch.dynamic_shared_bytes = static_cast<uint64_t>(value);
        continue;
      }
      if (value < 0 || value > UINT32_MAX) refuse(i, "from 0 to 4294967295", value);
      runs &= value != 0;
      const auto place = static_cast<size_t>(kind);
      if (place < 3) launch.grid[place] = static_cast<uint32_t>(value);
      else if (place < 6) launch.block[place - 3] = static_cast<uint32_t>(value);
      else if (place < 9) launch.cluster[place - 6] = static_cast<uint32_t>(value);
    }
    launch.is_cooperative = info_.is_cooperative;
    launch.is_programmatic = info_.is_programmatic;
    return runs;
  }
  [[noreturn]] void refuse(size_t i, std::string_view expected, int64_t value) const {
    fail(OPD_OUT_OF_RANGE, "launch value ", i, " of kernel ", info_.name, " must be ", expected, ", but is ", value);
  }

  KernelArg read(const View &arg, size_t i, DLDevice device, Cell &cell) const {
    const DLDataType dtype = info_.params[i];
    const uint32_t size = (element_bits(dtype) + 7) / 8;
    if (dtype.code == kDLOpaqueHandle) {
      cell.address = address_of(arg, i, device);
      return {&cell, sizeof cell.address, true};
    }
    if (dtype.code == kDLFloat) {
      const double number = as_float(arg, info_.name);
      if (size == sizeof(float)) cell.single = static_cast<float>(number);
      else cell.number = number;
    } else {
      const int64_t number = as_int(arg, info_.name);
      cell.bits = static_cast<uint64_t>(number);  // a narrower parameter uses the low bytes, which are first
    }
    return {&cell, size, false};
  }

  const void *address_of(const View &arg, size_t i, DLDevice device) const {
    if (arg.type == OPD_POINTER) return arg.u.pointer;
    if (arg.type == OPD_NONE) return nullptr;
    const DLTensor *const known = try_dltensor(arg);  // avoids making a text for each launch
    const DLTensor &tensor = known ? *known : as_dltensor(arg, concat("argument ", i, " of kernel ", info_.name));
    if (!same(tensor.device, device))
      fail(OPD_INVALID_ARGUMENT, "argument ", i, " of kernel ", info_.name, " must lie on ", device_name(device),
           ", but is ", describe(tensor));
    return data_of(tensor);
  }

  DeviceKernel &kernel(int32_t id) {
    const auto place = static_cast<size_t>(id);
    if (place >= kFewDevices) return module_->kernel(index_, id);
    DeviceKernel *known = known_[place].load(std::memory_order_acquire);
    if (!known) [[unlikely]]
      known_[place].store(known = &module_->kernel(index_, id), std::memory_order_release);
    return *known;
  }

  Ref<DeviceModule> module_;
  const size_t index_;
  const KernelInfo &info_;  // owned by the module
  const NameId name_;       // name of its launches in recordings
  std::array<std::atomic<DeviceKernel *>, kFewDevices> known_{};
};

}  // namespace

Ref<Function> make_kernel_launcher(Ref<DeviceModule> module, size_t index, const KernelInfo &kernel) {
  return make_function(Launcher(std::move(module), index, kernel));
}

// Registers the functions that host code calls before it launches kernels.
void register_device_functions() {
  const auto set_device = [](Args args) -> Value {
    check_arity(args, {"device type", "device id"}, kSetDevice);
    const DLDevice device{static_cast<DLDeviceType>(as_int(args[0], "device type")),
                          static_cast<int32_t>(as_int(args[1], "device id"))};
    device_backend(device);  // throws if the device is absent
    set_current_device(device);
    return {};
  };
  register_function(kSetDevice, make_function(set_device), true);
}

}  // namespace opd
