#include "module/kinds/device_module.h"

#include <algorithm>

#include "module/kinds/kernel_launcher.h"

namespace opd {
namespace {

struct ModuleKind {
  std::string_view name;
  DLDeviceType device;
};
constexpr ModuleKind kModuleKinds[] = {{"cuda", kDLCUDA}, {"opencl", kDLOpenCL}, {"vulkan", kDLVulkan},
                                       {"hip", kDLROCM},  {"hsaco", kDLROCM},    {"rocm", kDLROCM}};

}  // namespace

std::optional<DLDeviceType> device_of_module_kind(std::string_view kind) {
  for (const ModuleKind &known : kModuleKinds)
    if (known.name == kind) return known.device;
  return device_kind_of(kind);  // for a plug-in, the kind is the name of its devices
}

DeviceModule::DeviceModule(std::string kind, DLDeviceType device, Bytes bytes, std::string origin,
                           std::string cache_directory)
    : kind_(std::move(kind)),
      bytes_(as_text(bytes)),
      origin_(std::move(origin)),
      cache_directory_(std::move(cache_directory)),
      device_(device) {
  const std::string what = concat(origin_, ": embedded module of kind ", kind_);
  const CodeForm form = device_ == kDLVulkan ? CodeForm::kEachItsOwn : CodeForm::kOneForAll;
  DeviceModuleBytes found = read_device_module(as_bytes(bytes_), what.c_str(), form);
  format_ = found.format;
  code_ = found.code;
  kernels_ = std::move(found.kernels);
}

std::optional<size_t> DeviceModule::index_of(std::string_view name) const {
  const auto found =
      std::find_if(kernels_.begin(), kernels_.end(), [&](const KernelInfo &kernel) { return kernel.name == name; });
  if (found == kernels_.end()) return std::nullopt;
  return static_cast<size_t>(found - kernels_.begin());
}

std::vector<std::string> DeviceModule::list() {
  std::vector<std::string> names;
  for (const KernelInfo &kernel : kernels_) names.push_back(kernel.name);
  return names;
}

Ref<Function> DeviceModule::find(std::string_view name) {
  const auto index = index_of(name);
  if (!index) return nullptr;
  const KernelInfo &kernel = kernels_[*index];
  if (const std::string absence = absence_of({device_, 0}); !absence.empty())
    fail(OPD_UNSUPPORTED, "function \"", name, "\" of ", origin_, " is in its embedded module of kind ", kind_,
         ", which cannot run here: ", absence);
  if (!kernel.unsupported.empty())
    fail(OPD_UNSUPPORTED, "kernel ", name, " of ", origin_, " has ", kernel.unsupported,
         ", which opdyno cannot pass to a device");
  return make_kernel_launcher(Ref<DeviceModule>::share(this), *index, kernel);
}

std::string DeviceModule::source(std::string_view format) {
  if (!is_source_text(code_) || (!format.empty() && format != format_)) return Module::source(format);
  return std::string(code_);
}

// Compiles without the lock, because drivers take seconds. If two threads compile, the first result is used.
DeviceKernel &DeviceModule::kernel(size_t index, int32_t device_id) {
  DeviceProgram *program = nullptr;
  {
    const std::scoped_lock lock(guard_);
    Built &built = built_[device_id];
    if (const auto found = built.kernels.find(index); found != built.kernels.end()) return *found->second;
    program = built.program.get();
  }
  if (!program) {
    auto made = device_backend({device_, device_id}).build(device_id, {format_, code_, origin_, cache_directory_});
    const std::scoped_lock lock(guard_);
    auto &place = built_[device_id].program;
    if (!place) place = std::move(made);
    program = place.get();
  }
  auto kernel = program->find(kernels_[index].name);
  const std::scoped_lock lock(guard_);
  return *built_[device_id].kernels.try_emplace(index, std::move(kernel)).first->second;
}

// Does not check whether a device exists: that would start its driver, and an inspection must not run foreign code.
void DeviceModule::describe(JsonWriter &json) {
  json.key("supported").value(find_kind(device_) != nullptr).key("size_bytes").value(bytes_.size());
}

}  // namespace opd
