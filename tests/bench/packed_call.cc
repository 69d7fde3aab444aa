// A packed call from C: an int goes through a C callback with user data and comes back.
#include <opdyno/opdyno.hpp>

#include "harness.h"

namespace {

opd_error *echo(void *user_data, const opd_value *args, int32_t, opd_value *out_result) {
  ++*static_cast<int64_t *>(user_data);
  *out_result = opd_int(args[0].u.int64);
  return nullptr;
}

const bench::AddRow row("packed_call", "ns", [] {
  static int64_t calls = 0;
  opdyno::Function function;
  opdyno::check(opd_function_create(echo, &calls, nullptr, function.out()));
  return bench::timed(1, [function](int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const opd_value arg = opd_int(i);
      opd_value result = opd_none();
      if (opd_function_call(function.get(), &arg, 1, &result) || result.u.int64 != i)
        throw std::runtime_error("wrong echo");
    }
  });
});

}  // namespace
