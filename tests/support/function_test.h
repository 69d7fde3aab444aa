// What the tests of functions share: handles that end with their scope, and a callback that counts.
#pragma once
#include <gtest/gtest.h>
#include <opdyno/opdyno.h>

#include <string>
#include <vector>

#include "support/failure.h"

namespace opdyno_test {

// A function handle that ends with its scope.
struct Function {
  opd_function *handle = nullptr;
  Function() = default;
  Function(const Function &) = delete;
  ~Function() { opd_function_release(handle); }
  opd_error *call(std::vector<opd_value> args, opd_value *result) {
    return opd_function_call(handle, args.data(), static_cast<int32_t>(args.size()), result);
  }
  Failure refused(std::vector<opd_value> args) {
    opd_value result = opd_int(-77);
    const Failure told = failure(call(std::move(args), &result));
    EXPECT_EQ(result.type, OPD_NONE);
    return told;
  }
  opd_value plain(std::vector<opd_value> args) {
    opd_value result = opd_none();
    EXPECT_OK(call(std::move(args), &result));
    return result;
  }
  std::string text(std::vector<opd_value> args) {
    opd_value result = plain(std::move(args));
    const char *data = "";
    size_t size = 0;
    EXPECT_OK(opd_string_get(&result, &data, &size));
    std::string out(data, size);
    opd_value_release(&result);
    return out;
  }
};

template <class F>
struct Native : Function {
  Native(F *pointer, const char *signature, const char *name = "f", void *keep_alive = nullptr) {
    EXPECT_OK(opd_function_create_native(reinterpret_cast<void *>(pointer), signature, name, keep_alive, &handle));
  }
};

struct Counter {
  int calls = 0, ended = 0;
};
inline opd_error *add(void *self, const opd_value *args, int32_t num_args, opd_value *out) {
  ++static_cast<Counter *>(self)->calls;
  if (num_args != 2) return opd_error_create(OPD_INVALID_ARGUMENT, "TypeError", "add takes 2 arguments");
  *out = opd_int(args[0].u.int64 + args[1].u.int64);
  return nullptr;
}
inline void end(void *self) { ++static_cast<Counter *>(self)->ended; }

}  // namespace opdyno_test
