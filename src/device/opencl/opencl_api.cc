#include "device/opencl/opencl_api.h"

#include <dlfcn.h>

#include "base/fork_mutex.h"
#include "value/value.h"

namespace opd::cl {
namespace {

constexpr KnownStatus kNames[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-9, "CL_IMAGE_FORMAT_MISMATCH"},
    {-10, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-39, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"},
    {-40, "CL_INVALID_IMAGE_SIZE"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

}  // namespace

void Api::open() {
  const LoaderCall call;
  void *const library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    absence = "there is no libOpenCL.so.1, the loader of OpenCL's drivers (Debian: ocl-icd-libopencl1)";
    return;
  }
#define OPD_FIND(name, result, parameters) name = reinterpret_cast<decltype(name)>(::dlsym(library, #name));
  OPD_OPENCL_NEW_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
#define OPD_FIND(name, result, parameters)                          \
  name = reinterpret_cast<decltype(name)>(::dlsym(library, #name)); \
  if (!name && absence.empty()) absence = "libOpenCL.so.1 has no " #name;
  OPD_OPENCL_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

std::string status_name(Status status) { return status_text(kNames, status); }

void check(Status status, const char *function) {
  if (status == kSuccess) [[likely]]
    return;
  const bool is_memory = status == kMemoryAllocationFailure || status == kOutOfHostMemory || status == kOutOfResources;
  fail(is_memory ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED, function, " gave ", status_name(status));
}

}  // namespace opd::cl
