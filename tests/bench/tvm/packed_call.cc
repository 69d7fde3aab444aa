// The peer of ../packed_call.cc.
#include "../harness.h"
#include "tvm.h"

namespace {

int echo(void *user_data, const TVMFFIAny *args, int32_t, TVMFFIAny *result) {
  ++*static_cast<int64_t *>(user_data);
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64;
  return 0;
}

const bench::AddRow row("packed_call", "ns", [] {
  static int64_t calls = 0;
  TVMFFIObjectHandle function = nullptr;
  bench::check(TVMFFIFunctionCreate(&calls, echo, nullptr, &function));
  return bench::timed(1, [function](int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      TVMFFIAny arg{}, result{};
      arg.type_index = kTVMFFIInt;
      arg.v_int64 = i;
      if (TVMFFIFunctionCall(function, &arg, 1, &result) || result.v_int64 != i) throw std::runtime_error("wrong echo");
    }
  });
});

}  // namespace
