#include "device/opencl/opencl_context.h"

#include "base/fork_mutex.h"
#include "value/value.h"

namespace opd::cl {

// ---- the loader

namespace {

#define OPD_NAME(status) \
  { status, #status }
constexpr KnownStatus kNames[] = {
    OPD_NAME(CL_DEVICE_NOT_FOUND),
    OPD_NAME(CL_DEVICE_NOT_AVAILABLE),
    OPD_NAME(CL_COMPILER_NOT_AVAILABLE),
    OPD_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    OPD_NAME(CL_OUT_OF_RESOURCES),
    OPD_NAME(CL_OUT_OF_HOST_MEMORY),
    OPD_NAME(CL_MEM_COPY_OVERLAP),
    OPD_NAME(CL_IMAGE_FORMAT_MISMATCH),
    OPD_NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED),
    OPD_NAME(CL_BUILD_PROGRAM_FAILURE),
    OPD_NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    OPD_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    OPD_NAME(CL_INVALID_VALUE),
    OPD_NAME(CL_INVALID_CONTEXT),
    OPD_NAME(CL_INVALID_COMMAND_QUEUE),
    OPD_NAME(CL_INVALID_MEM_OBJECT),
    OPD_NAME(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
    OPD_NAME(CL_INVALID_IMAGE_SIZE),
    OPD_NAME(CL_INVALID_PROGRAM),
    OPD_NAME(CL_INVALID_PROGRAM_EXECUTABLE),
    OPD_NAME(CL_INVALID_KERNEL_NAME),
    OPD_NAME(CL_INVALID_KERNEL),
    OPD_NAME(CL_INVALID_ARG_INDEX),
    OPD_NAME(CL_INVALID_ARG_VALUE),
    OPD_NAME(CL_INVALID_ARG_SIZE),
    OPD_NAME(CL_INVALID_KERNEL_ARGS),
    OPD_NAME(CL_INVALID_WORK_DIMENSION),
    OPD_NAME(CL_INVALID_WORK_GROUP_SIZE),
    OPD_NAME(CL_INVALID_WORK_ITEM_SIZE),
    OPD_NAME(CL_INVALID_OPERATION),
    OPD_NAME(CL_INVALID_BUFFER_SIZE),
    OPD_NAME(CL_INVALID_GLOBAL_WORK_SIZE),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},  // from the loader
};
#undef OPD_NAME

}  // namespace

void Api::open() {
  const LoaderCall call;
  const auto library =
      DriverLibrary::open("libOpenCL.so.1", absence, "the loader of OpenCL's drivers (Debian: ocl-icd-libopencl1)");
#define OPD_FIND(name) library.find(name, #name);
  OPD_OPENCL_NEW_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
#define OPD_FIND(name) library.require(name, #name);
  OPD_OPENCL_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

std::string status_name(cl_int status) { return status_text(kNames, status); }

void check(cl_int status, const char *function) {
  if (status == CL_SUCCESS) [[likely]]
    return;
  const bool is_memory =
      status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY || status == CL_OUT_OF_RESOURCES;
  fail(is_memory ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED, function, " returned ", status_name(status));
}

// ---- devices

DeviceContext::DeviceContext(cl_device_id device, int32_t number) : api_(Api::get()), device_(device), number_(number) {
  cl_int status = CL_SUCCESS;
  context_ = api_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  queue_ = make_queue();
  sub_buffer_bytes_ = number_of<uint32_t>(CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
}

// Only the device's time is used: no specification defines which clock the host time is from.
void DeviceContext::compare_clocks() const {
  constexpr uint64_t kCertainNs = 20'000'000;
  constexpr int kRounds = 3;  // the shortest round counts
  DeviceClock &own = clock();
  if (!has_timer_ || monotonic_ns() - compared_ns_ < kCertainNs) return;
  for (int i = 0; i < kRounds; ++i) {
    uint64_t device_ns = 0, host_ns = 0;
    TickInterval interval;
    interval.begin = ticks_of(tick_clock());
    const cl_int status = api_.clGetDeviceAndHostTimer(device_, &device_ns, &host_ns);
    interval.end = ticks_of(tick_clock());
    if (status == CL_SUCCESS) own.observe(device_ns, interval);
  }
  compared_ns_ = monotonic_ns();
}

std::vector<cl_device_id> list_devices(const Api &api) {
  constexpr uint64_t kOrder[] = {CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU};
  uint32_t count = 0;
  if (api.clGetPlatformIDs(0, nullptr, &count)) return {};  // no driver is installed
  std::vector<cl_platform_id> platforms(count);
  check(api.clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  std::vector<cl_device_id> devices;
  for (const uint64_t type : kOrder)
    for (cl_platform_id platform : platforms) {
      if (api.clGetDeviceIDs(platform, type, 0, nullptr, &count)) continue;  // it has no devices of the type
      const size_t before = devices.size();
      devices.resize(before + count);
      if (api.clGetDeviceIDs(platform, type, count, &devices[before], nullptr)) devices.resize(before);
    }
  return devices;
}

// ---- times of commands

// The driver records the device's time when the host queues a command, so this time is within the launch. If the launch
// waits for a copy, its interval is long, and only its two ends bound the clock tightly.
bool OpenClWork::finish(TickInterval launch, WorkTimes &out) noexcept try {
  const Api &api = context_.api();
  uint64_t queued = 0, started = 0, ended = 0;
  if (!event_ || api.is_inherited() || api.clWaitForEvents(1, &event_)) return false;
  const uint64_t now = ticks_of(tick_clock());
  if (!read(CL_PROFILING_COMMAND_QUEUED, queued) || !read(CL_PROFILING_COMMAND_START, started) ||
      !read(CL_PROFILING_COMMAND_END, ended))
    return false;
  context_.compare_clocks();
  DeviceClock &clock = context_.clock();
  clock.observe(queued, launch);
  clock.observe_not_before(started, launch.begin);
  clock.observe_not_after(ended, is_blocking_ ? launch.end : now);
  out = clock.times_of(started, ended, launch);
  return true;
} catch (const std::exception &) { return false; }

OpenClTimer::OpenClTimer(const DeviceContext &context, void *stream) : context_(context), stream_(stream) {
  mark(&begin_);
}

OpenClTimer::~OpenClTimer() {
  for (cl_event event : {begin_, end_}) context_.api().release(context_.api().clReleaseEvent, event);
}

}  // namespace opd::cl
