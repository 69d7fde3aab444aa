#include "device/opencl/opencl_binary.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/content_hash.h"

namespace opd::cl {
namespace {

// PoCL 3.1 compiles a binary's kernels at their first launch, in a separate thread. If the process exits meanwhile, it
// crashes: about one process in a hundred did. PoCL also has its own cache of binaries.
bool is_pocl(const DeviceContext &context) {
  std::string version = context.text(CL_DEVICE_VERSION);
  std::ranges::transform(version, version.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return version.find("pocl") != version.npos;
}

bool are_kept(const DeviceContext &context) {
  const char *const wanted = std::getenv("OPDYNO_OPENCL_BINARIES");
  return wanted && *wanted ? std::string_view(wanted) != "0" : !is_pocl(context);
}

// Returns nullopt if binaries are not kept for the device, or the driver does not report its names.
std::optional<KeptProgram> file_of(const DeviceContext &context, const DeviceCode &source) try {
  if (!are_kept(context)) return std::nullopt;
  ContentHash hash;
  hash.add("opencl 1").add(source.code);
  for (const cl_device_info each : {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION})
    hash.add(context.text(each));
  return KeptProgram(source.cache_directory, hash);
} catch (const Exception &) { return std::nullopt; }

}  // namespace

KeptBinary::KeptBinary(const DeviceContext &context, const DeviceCode &source)
    : context_(context), file_(file_of(context, source)) {}

cl_program KeptBinary::load() const {
  const std::optional<std::string> code = file_ ? file_->read() : std::nullopt;
  if (!code || code->empty()) return nullptr;
  const Api &api = context_.api();
  const cl_device_id device = context_.device();
  const size_t size = code->size();
  const auto *bytes = reinterpret_cast<const unsigned char *>(code->data());
  cl_int status_of_device = CL_SUCCESS, status = CL_SUCCESS;
  const cl_program program =
      api.clCreateProgramWithBinary(context_.context(), 1, &device, &size, &bytes, &status_of_device, &status);
  if (!status && !status_of_device && !api.clBuildProgram(program, 1, &device, "", nullptr, nullptr)) return program;
  api.release(api.clReleaseProgram, program);
  return nullptr;
}

void KeptBinary::keep(cl_program built) const {
  if (!file_) return;
  const Api &api = context_.api();
  constexpr size_t kMost = size_t{1} << 30;
  size_t size = 0;
  if (api.clGetProgramInfo(built, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) || size == 0 || size > kMost)
    return;
  std::string code(size, '\0');
  char *const place = code.data();
  if (api.clGetProgramInfo(built, CL_PROGRAM_BINARIES, sizeof place, const_cast<char **>(&place), nullptr)) return;
  file_->keep(code);
}

}  // namespace opd::cl
