#include "device/cuda/cuda_api.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/fork_mutex.h"
#include "value/value.h"

namespace opd::cuda {
namespace {

void find_functions(Api &api) {
  const LoaderCall call;
  void *const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    api.absence = "there is no libcuda.so.1, which comes with NVIDIA's driver (Debian: libcuda1, from non-free)";
    return;
  }
#define OPD_FIND(name, result, parameters) api.name = reinterpret_cast<decltype(api.name)>(::dlsym(library, #name));
  OPD_CUDA_NEW_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
#define OPD_FIND(name, result, parameters)                                  \
  api.name = reinterpret_cast<decltype(api.name)>(::dlsym(library, #name)); \
  if (!api.name && api.absence.empty()) api.absence = "libcuda.so.1 has no " #name;
  OPD_CUDA_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

}  // namespace

void Api::open() {
  find_functions(*this);
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
