#include "module/kinds/device_code.h"

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

}  // namespace

bool is_kernel_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxKernelNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
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

}  // namespace opd
