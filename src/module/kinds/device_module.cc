#include "module/kinds/device_module.h"

#include <algorithm>

#include "base/text.h"
#include "value/dtype.h"

namespace opd {
namespace {

constexpr size_t kMaxKernelNameBytes = 512;

struct LaunchTag {
  std::string_view name;
  LaunchValue value;
};
constexpr LaunchTag kTags[] = {
    {"blockIdx.x", LaunchValue::kGridX},
    {"blockIdx.y", LaunchValue::kGridY},
    {"blockIdx.z", LaunchValue::kGridZ},
    {"threadIdx.x", LaunchValue::kBlockX},
    {"threadIdx.y", LaunchValue::kBlockY},
    {"threadIdx.z", LaunchValue::kBlockZ},
    {"clusterCtaIdx.x", LaunchValue::kClusterX},
    {"clusterCtaIdx.y", LaunchValue::kClusterY},
    {"clusterCtaIdx.z", LaunchValue::kClusterZ},
    {"preferredClusterCtaIdx.x", LaunchValue::kPreferredCluster},
    {"preferredClusterCtaIdx.y", LaunchValue::kPreferredCluster},
    {"preferredClusterCtaIdx.z", LaunchValue::kPreferredCluster},
    {"tirx.use_dyn_shared_memory", LaunchValue::kDynamicShared},
    {"tir.use_dyn_shared_memory", LaunchValue::kDynamicShared},
};

// Reads a tag, which names a value or an option of the launch.
void read_tag(std::string_view tag, KernelInfo &kernel) {
  for (const LaunchTag &known : kTags)
    if (known.name == tag) return kernel.values.push_back(known.value);
  const std::string_view flag = tag.substr(tag.find('.') + 1);
  if (flag == "use_cooperative_launch") kernel.is_cooperative = true;
  else if (flag == "use_programtic_dependent_launch") kernel.is_programmatic = true;
  else if (flag != "use_required_block_dimension") kernel.unsupported = concat("the launch parameter ", tag);
}

bool can_pass(DLDataType dtype) {
  if (dtype.lanes != 1 || dtype.bits > 64) return false;
  if (dtype.code == kDLOpaqueHandle) return true;
  if (dtype.code == kDLFloat) return dtype.bits == 32 || dtype.bits == 64;
  return dtype.code == kDLInt || dtype.code == kDLUInt || dtype.code == kDLBool;
}

struct ModuleKind {
  std::string_view name;
  DLDeviceType device;
};
constexpr ModuleKind kModuleKinds[] = {{"cuda", kDLCUDA}, {"opencl", kDLOpenCL}, {"vulkan", kDLVulkan},
                                       {"hip", kDLROCM},  {"hsaco", kDLROCM},    {"rocm", kDLROCM}};

struct Target {
  std::string_view name;
  DLDeviceType device;
  bool is_prefix = false;  // also matches longer names
};
constexpr Target kTargets[] = {
    {"cpu", kDLCPU},          {"llvm", kDLCPU, true},  {"c", kDLCPU},
    {"ext_dev", kDLExtDev},   {"cuda", kDLCUDA},       {"gpu", kDLCUDA},
    {"nvptx", kDLCUDA, true}, {"opencl", kDLOpenCL},   {"cl", kDLOpenCL},
    {"vulkan", kDLVulkan},    {"metal", kDLMetal},     {"mtl", kDLMetal},
    {"rocm", kDLROCM, true},  {"hexagon", kDLHexagon}, {"webgpu", kDLWebGPU},
    {"vpi", kDLVPI},
};

}  // namespace

bool is_target_enabled(std::string_view target) {
  target = target.substr(0, target.find(' '));
  return std::ranges::any_of(kTargets, [&](const Target &known) {
    return (known.is_prefix ? target.starts_with(known.name) : target == known.name) &&
           find_device({known.device, 0}) != nullptr;
  });
}

bool is_kernel_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxKernelNameBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; });
}

bool is_source_text(std::string_view code) {
  return std::ranges::all_of(code, [](unsigned char c) { return c >= ' ' || (c >= '\t' && c <= '\r'); });
}

DeviceModuleBytes read_device_module(Bytes bytes, const char *what, CodeForm form) {
  ByteReader reader(bytes, what);
  DeviceModuleBytes found;
  found.format = reader.read_string("the format");
  if (!is_kernel_name(found.format)) reader.bad("the format", "is not printable");
  for (auto left = reader.read_count(40, "the number of kernels"); left > 0; --left) {
    KernelInfo kernel;
    kernel.name = reader.read_string("a kernel's name");
    if (!is_kernel_name(kernel.name)) reader.bad("a kernel's name", "is not printable");
    reader.read_string("the name in a kernel's description");
    for (auto params = reader.read_count(4, "the number of parameters"); params > 0; --params) {
      kernel.params.push_back(reader.read<DLDataType>("a parameter"));
      if (!can_pass(kernel.params.back()))
        kernel.unsupported = concat("a parameter of dtype ", dtype_name(kernel.params.back()));
    }
    for (auto tags = reader.read_count(8, "the number of launch parameters"); tags > 0; --tags)
      read_tag(reader.read_string("a launch parameter"), kernel);
    for (auto tags = reader.read_count(4, "the number of parameter tags"); tags > 0; --tags)
      if (reader.read<int32_t>("a parameter tag") != 0) kernel.unsupported = "a tensor map as a parameter";
    found.kernels.push_back(std::move(kernel));
  }
  found.code = form == CodeForm::kOneForAll ? reader.read_string("the code")
                                            : as_text(reader.take(reader.remaining(), "the code"));
  return found;
}

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

}  // namespace opd
