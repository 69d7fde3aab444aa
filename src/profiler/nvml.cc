#include "profiler/nvml.h"

#include <dlfcn.h>

#include "base/fork_mutex.h"

namespace opd::nvml {

void Api::open() {
  {
    const LoaderCall call;
    void *const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      absence =
          "there is no libnvidia-ml.so.1, which comes with NVIDIA's driver (Debian: libnvidia-ml1, from non-free)";
      return;
    }
#define OPD_FIND(name, result, parameters)                          \
  name = reinterpret_cast<decltype(name)>(::dlsym(library, #name)); \
  if (!name && absence.empty()) absence = "libnvidia-ml.so.1 has no " #name;
    OPD_NVML_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
  }
  if (!absence.empty()) return;
  if (const Status status = nvmlInit_v2())
    absence = concat("libnvidia-ml.so.1 is here, but nvmlInit gave ", status_name(status));
}

std::string Api::status_name(Status status) const {
  const char *const text = nvmlErrorString(status);
  return text ? concat(text, " (", status, ")") : concat("error ", status);
}

void Api::check(Status status, const char *function) const {
  if (status) fail(OPD_CALL_FAILED, function, " gave ", status_name(status));
}

}  // namespace opd::nvml
