// The bytes of a module of kernels, as TVM writes them for CUDA, OpenCL, HIP and others: the code's format; for each
// kernel its name, the dtypes of its parameters and the names of its launch values; the code.
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
  std::vector<LaunchValue> values;  // in the order of the arguments after the kernel's own
  bool is_cooperative = false, is_programmatic = false;
  std::string unsupported;  // what of it the library does not know; "" otherwise
};

struct DeviceModuleBytes {
  std::string_view format, code;  // parts of the bytes
  std::vector<KernelInfo> kernels;
};
// Whether it may name a kernel or a format: printable, and not too long.
bool is_kernel_name(std::string_view text);
bool is_source_text(std::string_view code);  // whether a user can read it

// Most kinds have one code for all kernels. Vulkan's have a code for each, which its back end reads: it is all that
// follows the kernels' descriptions.
enum class CodeForm : uint8_t { kOneForAll, kEachItsOwn };
// Throws OPD_BAD_FORMAT; `what` names the bytes in its message.
DeviceModuleBytes read_device_module(Bytes bytes, const char *what, CodeForm form = CodeForm::kOneForAll);

}  // namespace opd
