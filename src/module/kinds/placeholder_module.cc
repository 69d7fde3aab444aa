#include "module/kinds/placeholder_module.h"

#include <algorithm>
#include <iterator>

#include "module/kinds/device_module.h"

namespace opd {
namespace {

constexpr std::string_view kDeviceKinds[] = {"cuda",    "hsaco", "hip",    "rocm",  "opencl",
                                             "hexagon", "metal", "vulkan", "webgpu"};

}  // namespace

PlaceholderModule::PlaceholderModule(std::string kind, Bytes bytes, std::string origin, std::string damage)
    : kind_(std::move(kind)), bytes_(as_text(bytes)), origin_(std::move(origin)), damage_(std::move(damage)) {
  if (damage_.empty()) read_names();
}

// If the bytes have an unexpected form, the names stay unknown.
void PlaceholderModule::read_names() {
  try {
    if (std::ranges::find(kDeviceKinds, kind_) != std::end(kDeviceKinds)) {
      const DeviceModuleBytes found = read_device_module(as_bytes(bytes_), "device module");
      for (const KernelInfo &kernel : found.kernels) names_.push_back(kernel.name);
      format_ = found.format, code_ = found.code;
    } else {  // graphs for other libraries start with the name of their only function
      ByteReader reader(as_bytes(bytes_), "module");
      const auto name = reader.read_string("name");
      if (!is_kernel_name(name)) return;
      names_.emplace_back(name);
    }
    names_known_ = true;
  } catch (const Exception &) { names_.clear(); }
}

std::string PlaceholderModule::source(std::string_view format) {
  if (code_.empty() || !is_source_text(code_) || (!format.empty() && format != format_)) return Module::source(format);
  return code_;
}

}  // namespace opd
