#include "device/cuda/cupti_api.h"

#include <dlfcn.h>

#include "base/fork_mutex.h"
#include "device/cuda/toolkits.h"

namespace opd::cupti {

// Opens the library. A release works with drivers of its own generation and newer ones.
void *open_library() {
  for (const char *name : {"libcupti.so", "libcupti.so.13", "libcupti.so.12"}) {
    if (void *const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    for (const std::string &toolkit : cuda::toolkits())
      for (const char *folder : {"/extras/CUPTI/lib64/", "/lib64/", "/lib/"})
        if (void *const library = ::dlopen((toolkit + folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

void Api::open() {
  const LoaderCall call;
  void *const library = open_library();
  if (!library) {
    absence =
        "there is no libcupti.so where the loader looks, in CUDA_HOME, CUDA_PATH or /usr/local/cuda (it comes with the "
        "CUDA toolkit, and with the Python package nvidia-cuda-cupti)";
    return;
  }
#define OPD_FIND(name, result, parameters)                          \
  name = reinterpret_cast<decltype(name)>(::dlsym(library, #name)); \
  if (!name && absence.empty()) absence = "libcupti.so has no " #name;
  OPD_CUPTI_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

std::string Api::status_name(Status status) const {
  const char *text = nullptr;
  return cuptiGetResultString(status, &text) || !text ? concat("error ", status) : concat(text, " (", status, ")");
}

void Api::check(Status status, const char *function) const {
  if (status)
    fail(OPD_UNSUPPORTED, "activity of CUDA devices is not reported: ", function, " gave ", status_name(status));
}

}  // namespace opd::cupti
