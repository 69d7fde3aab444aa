#include "device/vulkan/vulkan_api.h"

#include <dlfcn.h>

#include "base/fork_mutex.h"
#include "value/value.h"

namespace opd::vk {
namespace {

using Function = void (*)();
using Find = Function (*)(Instance *, const char *);  // vkGetInstanceProcAddr()
using Create = Result (*)(const InstanceInfo *, Allocator, Instance **);

constexpr KnownStatus kNames[] = {
    {1, "VK_NOT_READY"},
    {2, "VK_TIMEOUT"},
    {5, "VK_INCOMPLETE"},
    {-1, "VK_ERROR_OUT_OF_HOST_MEMORY"},
    {-2, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
    {-3, "VK_ERROR_INITIALIZATION_FAILED"},
    {-4, "VK_ERROR_DEVICE_LOST"},
    {-5, "VK_ERROR_MEMORY_MAP_FAILED"},
    {-6, "VK_ERROR_LAYER_NOT_PRESENT"},
    {-7, "VK_ERROR_EXTENSION_NOT_PRESENT"},
    {-8, "VK_ERROR_FEATURE_NOT_PRESENT"},
    {-9, "VK_ERROR_INCOMPATIBLE_DRIVER"},
    {-10, "VK_ERROR_TOO_MANY_OBJECTS"},
    {-12, "VK_ERROR_FRAGMENTED_POOL"},
    {-13, "VK_ERROR_UNKNOWN"},
    {-1000069000, "VK_ERROR_OUT_OF_POOL_MEMORY"},
    {-1000012000, "VK_ERROR_INVALID_SHADER_NV"},
};

}  // namespace

void Api::open() {
  const LoaderCall call;
  void *const library = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    absence = "there is no libvulkan.so.1, the loader of Vulkan's drivers (Debian: libvulkan1)";
    return;
  }
  const auto find = reinterpret_cast<Find>(::dlsym(library, "vkGetInstanceProcAddr"));
  const auto create = find ? reinterpret_cast<Create>(find(nullptr, "vkCreateInstance")) : nullptr;
  if (!create) {
    absence = "libvulkan.so.1 has no vkCreateInstance";
    return;
  }
  ApplicationInfo application;
  application.engine = "opdyno";
  application.api_version = version(1, 3);
  InstanceInfo info;
  info.application = &application;
  if (const Result result = create(&info, nullptr, &instance)) {
    absence = result == kIncompatibleDriver ? no_driver() : concat("vkCreateInstance gave ", result_name(result));
    return;
  }
#define OPD_FIND(name, result, parameters) name = reinterpret_cast<decltype(name)>(find(instance, #name));
  OPD_VULKAN_EXTENSION_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
#define OPD_FIND(name, result, parameters)                        \
  name = reinterpret_cast<decltype(name)>(find(instance, #name)); \
  if (!name && absence.empty()) absence = "Vulkan's loader is older than Vulkan 1.2: it has no " #name;
  OPD_VULKAN_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

std::string no_driver() {
  return "the loader of Vulkan's drivers is here, but no driver that has a device (Debian: mesa-vulkan-drivers, or the "
         "vendor's)";
}

// The number of allocations is limited, too: one more is possible after another has been freed.
bool is_out_of_memory(Result result) {
  return result == kOutOfHostMemory || result == kOutOfDeviceMemory || result == kTooManyObjects;
}

std::string result_name(Result result) { return status_text(kNames, result); }

void check(Result result, const char *function) {
  if (result == kSuccess) [[likely]]
    return;
  fail(is_out_of_memory(result) ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED, function, " gave ", result_name(result));
}

}  // namespace opd::vk
