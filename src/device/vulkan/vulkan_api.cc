#include "device/vulkan/vulkan_api.h"

#include <dlfcn.h>

#include "base/fork_mutex.h"
#include "value/value.h"

namespace opd::vk {
namespace {

#define OPD_NAME(result) \
  { result, #result }
constexpr KnownStatus kNames[] = {
    OPD_NAME(VK_NOT_READY),
    OPD_NAME(VK_TIMEOUT),
    OPD_NAME(VK_INCOMPLETE),
    OPD_NAME(VK_ERROR_OUT_OF_HOST_MEMORY),
    OPD_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY),
    OPD_NAME(VK_ERROR_INITIALIZATION_FAILED),
    OPD_NAME(VK_ERROR_DEVICE_LOST),
    OPD_NAME(VK_ERROR_MEMORY_MAP_FAILED),
    OPD_NAME(VK_ERROR_LAYER_NOT_PRESENT),
    OPD_NAME(VK_ERROR_EXTENSION_NOT_PRESENT),
    OPD_NAME(VK_ERROR_FEATURE_NOT_PRESENT),
    OPD_NAME(VK_ERROR_INCOMPATIBLE_DRIVER),
    OPD_NAME(VK_ERROR_TOO_MANY_OBJECTS),
    OPD_NAME(VK_ERROR_FRAGMENTED_POOL),
    OPD_NAME(VK_ERROR_UNKNOWN),
    OPD_NAME(VK_ERROR_OUT_OF_POOL_MEMORY),
    OPD_NAME(VK_ERROR_INVALID_SHADER_NV),
};
#undef OPD_NAME

}  // namespace

void Api::open() {
  const LoaderCall call;
  void *const library = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    absence = "there is no libvulkan.so.1, the loader of Vulkan's drivers (Debian: libvulkan1)";
    return;
  }
  const auto find = reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
  const auto create = find ? reinterpret_cast<PFN_vkCreateInstance>(find(nullptr, "vkCreateInstance")) : nullptr;
  if (!create) {
    absence = "libvulkan.so.1 has no vkCreateInstance";
    return;
  }
  auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pEngineName = "opdyno";
  application.apiVersion = VK_API_VERSION_1_3;
  auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  if (const VkResult result = create(&info, nullptr, &instance)) {
    absence =
        result == VK_ERROR_INCOMPATIBLE_DRIVER ? no_driver() : concat("vkCreateInstance gave ", result_name(result));
    return;
  }
#define OPD_FIND(name) name = reinterpret_cast<decltype(name)>(find(instance, #name));
  OPD_VULKAN_EXTENSION_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
#define OPD_FIND(name)                                            \
  name = reinterpret_cast<decltype(name)>(find(instance, #name)); \
  if (!name && absence.empty()) absence = "Vulkan's loader is older than Vulkan 1.2: it has no " #name;
  OPD_VULKAN_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

std::string no_driver() {
  return "the loader of Vulkan's drivers is here, but no driver that has a device (Debian: mesa-vulkan-drivers, or the "
         "vendor's)";
}

// True also for the limit on the number of allocations: another one is possible after one has been freed.
bool is_out_of_memory(VkResult result) {
  return result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
         result == VK_ERROR_TOO_MANY_OBJECTS;
}

std::string result_name(VkResult result) { return status_text(kNames, result); }

void check(VkResult result, const char *function) {
  if (result == VK_SUCCESS) [[likely]]
    return;
  fail(is_out_of_memory(result) ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED, function, " gave ", result_name(result));
}

}  // namespace opd::vk
