#include "device/opencl/opencl_api.h"

#include <dlfcn.h>

#include "base/fork_mutex.h"
#include "value/value.h"

namespace opd::cl {
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
  void *const library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    absence = "there is no libOpenCL.so.1, the loader of OpenCL's drivers (Debian: ocl-icd-libopencl1)";
    return;
  }
#define OPD_FIND(name) name = reinterpret_cast<decltype(name)>(::dlsym(library, #name));
  OPD_OPENCL_NEW_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
#define OPD_FIND(name)                                              \
  name = reinterpret_cast<decltype(name)>(::dlsym(library, #name)); \
  if (!name && absence.empty()) absence = "libOpenCL.so.1 has no " #name;
  OPD_OPENCL_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

std::string status_name(cl_int status) { return status_text(kNames, status); }

void check(cl_int status, const char *function) {
  if (status == CL_SUCCESS) [[likely]]
    return;
  const bool is_memory =
      status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY || status == CL_OUT_OF_RESOURCES;
  fail(is_memory ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED, function, " gave ", status_name(status));
}

}  // namespace opd::cl
