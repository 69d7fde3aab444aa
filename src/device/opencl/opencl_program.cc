// Programs in OpenCL C, and the kernels in them.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "base/cache_directory.h"
#include "base/content_hash.h"
#include "base/fork_mutex.h"
#include "base/signals.h"
#include "device/opencl/opencl_context.h"
#include "value/value.h"

namespace opd::cl {
namespace {

// The image or the part of a buffer to which an address argument points. OpenCL's kernels take whole memory objects.
class Argument {
 public:
  Argument(const DeviceContext &context, const std::string &kernel, size_t i, const void *address) : context_(context) {
    if (!address) return;
    Place place = buffers().find(address, 0, context.number());
    whole_ = std::move(place.buffer);
    memory_ = whole_->memory;
    if (place.offset == 0) return;
    if (whole_->image)
      fail(OPD_INVALID_ARGUMENT, "argument ", i, " of kernel ", kernel, " begins ", place.offset,
           " bytes into its image; opencl:", context.number(), " takes whole images only");
    check_part_begin("opencl", context.number(), kernel, i, place.offset, context.sub_buffer_bytes());
    const cl_buffer_region region{place.offset, place.bytes - place.offset};
    cl_int status = CL_SUCCESS;
    memory_ = part_ = context.api().clCreateSubBuffer(whole_->memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                                      &region, &status);
    check(status, "clCreateSubBuffer");
  }
  ~Argument() {
    context_.api().release(context_.api().clReleaseMemObject, part_);  // the launch keeps it until it has ended
  }
  Argument(const Argument &) = delete;
  const cl_mem &memory() const { return memory_; }

 private:
  const DeviceContext &context_;
  std::shared_ptr<OwnedMemory> whole_;
  cl_mem memory_ = nullptr, part_ = nullptr;
};

class OpenClKernel final : public DeviceKernel {
 public:
  OpenClKernel(const DeviceContext &context, cl_kernel kernel, std::string name)
      : context_(context), kernel_(kernel), name_(std::move(name)) {}
  ~OpenClKernel() { context_.api().release(context_.api().clReleaseKernel, kernel_); }

  void launch(void *stream, const KernelLaunch &launch) override { enqueue(stream, launch, nullptr); }
  std::unique_ptr<PendingWork> launch_timed(void *stream, const KernelLaunch &launch) override {
    auto work = std::make_unique<OpenClWork>(context_);
    enqueue(stream, launch, work->place());
    return work;
  }

 private:
  void enqueue(void *stream, const KernelLaunch &launch, cl_event *event) {
    const Api &api = context_.api();
    check_launch(api, name_);
    size_t local[3], global[3];
    for (int i = 0; i < 3; ++i) local[i] = launch.block[i], global[i] = size_t{launch.grid[i]} * launch.block[i];
    // Arguments belong to the kernel until it is launched, so threads take turns.
    const std::scoped_lock lock(guard_);
    for (size_t i = 0; i < launch.args.size(); ++i) set_argument(i, launch.args[i]);
    if (launch.dynamic_shared_bytes)
      check_argument(launch.args.size(), api.clSetKernelArg(kernel_, static_cast<uint32_t>(launch.args.size()),
                                                            launch.dynamic_shared_bytes, nullptr));
    const cl_int status =
        api.clEnqueueNDRangeKernel(context_.queue(stream), kernel_, 3, nullptr, global, local, 0, nullptr, event);
    if (status) [[unlikely]]
      fail_launch(status, launch);
  }

  void set_argument(size_t i, const KernelArg &arg) {
    const auto number = static_cast<uint32_t>(i);
    if (!arg.is_address) return check_argument(i, context_.api().clSetKernelArg(kernel_, number, arg.size, arg.value));
    const Argument argument(context_, name_, i, *static_cast<void *const *>(arg.value));
    check_argument(i, context_.api().clSetKernelArg(kernel_, number, sizeof(cl_mem), &argument.memory()));
  }
  void check_argument(size_t i, cl_int status) const {
    if (status) [[unlikely]]
      fail(OPD_CALL_FAILED, "kernel ", name_, " does not take argument ", i, ": clSetKernelArg returned ",
           status_name(status));
  }
  [[noreturn]] void fail_launch(cl_int status, const KernelLaunch &launch) const {
    fail(OPD_CALL_FAILED, "kernel ", name_, " cannot be launched with ", sizes_text(launch.grid), " groups of ",
         sizes_text(launch.block), " items: clEnqueueNDRangeKernel returned ", status_name(status));
  }

  const DeviceContext &context_;
  const cl_kernel kernel_;
  const std::string name_;
  ForkMutex guard_{LockRank::kDeviceKernel};
};

class OpenClProgram final : public DeviceProgram {
 public:
  OpenClProgram(const DeviceContext &context, cl_program program) : context_(context), program_(program) {}
  ~OpenClProgram() { context_.api().release(context_.api().clReleaseProgram, program_); }

  std::unique_ptr<DeviceKernel> find(const std::string &name) override {
    const KeptSignalHandlers kept;
    cl_int status = CL_SUCCESS;
    const cl_kernel kernel = context_.api().clCreateKernel(program_, name.c_str(), &status);
    if (status == CL_INVALID_KERNEL_NAME) fail(OPD_NOT_FOUND, "the program for OpenCL has no kernel ", name);
    check(status, "clCreateKernel");
    return std::make_unique<OpenClKernel>(context_, kernel, name);
  }

  std::string build_log() const {
    const Api &api = context_.api();
    size_t size = 0;
    if (api.clGetProgramBuildInfo(program_, context_.device(), CL_PROGRAM_BUILD_LOG, 0, nullptr, &size)) return "";
    std::string log(size, '\0');
    if (api.clGetProgramBuildInfo(program_, context_.device(), CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr))
      return "";
    return log.c_str();
  }

 private:
  const DeviceContext &context_;
  const cl_program program_;
};

// PoCL 3.1 compiles a binary's kernels at their first launch, in a separate thread. If the process exits before that
// ends, it crashes: about one process in a hundred did. PoCL also has its own cache of binaries.
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

// Keeps the binary of a program in the cache directory (base/cache_directory.h).
class KeptBinary {
 public:
  KeptBinary(const DeviceContext &context, const DeviceCode &source)
      : context_(context), file_(file_of(context, source)) {}

  // Returns the kept program, built. Null if nothing is kept, or the driver does not accept it.
  cl_program load() const {
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

  void keep(cl_program built) const {
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

 private:
  const DeviceContext &context_;
  const std::optional<KeptProgram> file_;  // nullopt: binaries of this driver are not kept
};

}  // namespace

std::unique_ptr<DeviceProgram> build_program(const DeviceContext &context, const DeviceCode &code) {
  if (code.format != "cl")
    fail(OPD_UNSUPPORTED, "the OpenCL code in ", code.origin, " has the format \"", code.format,
         "\"; this build reads \"cl\", which is source");
  const KeptSignalHandlers kept;
  const KeptBinary binary(context, code);
  if (const cl_program made = binary.load()) return std::make_unique<OpenClProgram>(context, made);
  cl_int status = CL_SUCCESS;
  const char *const text = code.code.data();
  const size_t size = code.code.size();
  const cl_program made =
      context.api().clCreateProgramWithSource(context.context(), 1, const_cast<const char **>(&text), &size, &status);
  check(status, "clCreateProgramWithSource");
  auto program = std::make_unique<OpenClProgram>(context, made);
  const cl_device_id device = context.device();
  status = context.api().clBuildProgram(made, 1, &device, "", nullptr, nullptr);
  if (status)
    fail(OPD_CALL_FAILED, "the driver of opencl:", context.number(), " cannot compile the kernels of ", code.origin,
         ": ", status_name(status), "\n", program->build_log());
  binary.keep(made);
  return program;
}

}  // namespace opd::cl
