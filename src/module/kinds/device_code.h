// The bytes of a module of kernels, in TVM's format for CUDA, OpenCL, HIP and others. They contain the code's format, a
// description of each kernel, and the code. A description has the kernel's name, the dtypes of its parameters and the
// names of its launch values.
#pragma once
#include <opdyno/dlpack.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace opd {

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
// Whether it may be the name of a kernel or a format: printable, and not too long.
bool is_kernel_name(std::string_view text);
bool is_source_text(std::string_view code);  // whether it is text that a user can read

// Most kinds have one code for all kernels. Vulkan's have a code for each kernel, which its back end reads from the
// bytes after the kernels' descriptions.
enum class CodeForm : uint8_t { kOneForAll, kEachItsOwn };
// Throws OPD_BAD_FORMAT. `what` names the bytes in its message.
DeviceModuleBytes read_device_module(Bytes bytes, const char *what, CodeForm form = CodeForm::kOneForAll);

}  // namespace opd
