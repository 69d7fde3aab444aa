#include "device/cuda/cuda_api.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/fork_mutex.h"
#include "value/value.h"

namespace opd::cuda {

void Api::open() {
  {
    const LoaderCall call;
    const auto library = DriverLibrary::open("libcuda.so.1", absence,
                                             "which comes with NVIDIA's driver (Debian: libcuda1, from non-free)");
#define OPD_FIND(name, result, parameters) library.find(name, #name);
    OPD_CUDA_NEW_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
#define OPD_FIND(name, result, parameters) library.require(name, #name);
    OPD_CUDA_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
  }
  if (!absence.empty()) return;
  if (const Status status = cuInit(0))
    absence = concat("libcuda.so.1 is here, but cuInit returned ", status_name(status));
  else if (const Status failure = cuDriverGetVersion(&version))
    absence = concat("libcuda.so.1 is here, but cuDriverGetVersion returned ", status_name(failure));
}

std::string Api::status_name(Status status) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(status, &name) || !name) return concat("error ", status);
  if (cuGetErrorString(status, &text) || !text) return concat(name, " (", status, ")");
  return concat(name, " (", status, "): ", text);
}

void Api::check(Status status, const char *function) const {
  if (status == kSuccess) [[likely]]
    return;
  fail(status == kOutOfMemory ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED, function, " returned ", status_name(status));
}

std::vector<std::string> toolkits() {
  std::vector<std::string> found;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = ::secure_getenv(variable); value && *value) found.emplace_back(value);
  found.emplace_back("/usr/local/cuda");
  return found;
}

void *open_of_toolkits(const std::string &name, std::initializer_list<const char *> folders) {
  if (void *const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  for (const std::string &toolkit : toolkits())
    for (const char *folder : folders)
      if (void *const library = ::dlopen((toolkit + folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

}  // namespace opd::cuda
