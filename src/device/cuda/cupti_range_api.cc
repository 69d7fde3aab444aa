#include "device/cuda/cupti_range_api.h"

#include <dlfcn.h>

#include "base/fork_mutex.h"

namespace opd::cupti {

void RangeApi::open() {
  const LoaderCall call;
  void *const library = open_library();
#define OPD_FIND(name, params)                                                          \
  name = library ? reinterpret_cast<decltype(name)>(::dlsym(library, #name)) : nullptr; \
  if (!name && absence.empty()) absence = "libcupti.so has no " #name ", which CUPTI has since CUDA 12.6";
  OPD_CUPTI_RANGE_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

}  // namespace opd::cupti
