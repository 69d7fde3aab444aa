// The function that does nothing, registered with tvm-ffi. Also built as a library of its own, for Python.
#include <tvm/ffi/c_api.h>

#include <cstring>

#include "../vm_program.h"

namespace {
int nop(void *, const TVMFFIAny *, int32_t, TVMFFIAny *) { return 0; }
}  // namespace

extern "C" __attribute__((visibility("default"))) int opdyno_bench_register_nop() {
  TVMFFIObjectHandle function = nullptr;
  if (int failed = TVMFFIFunctionCreate(nullptr, nop, nullptr, &function)) return failed;
  const TVMFFIByteArray name{bench::kNop, std::strlen(bench::kNop)};
  return TVMFFIFunctionSetGlobal(&name, function, 1);
}
