// A program whose calls are counted, and the samples of metrics as text.
#pragma once
#include "support/add_one.h"
#include "support/http.h"
#include "support/log_messages.h"

namespace opdyno_test {

using opdyno::Telemetry;

class Options : public opd_telemetry_options {
 public:
  Options() : opd_telemetry_options(opdyno::defaults(opd_telemetry_options_init)) {}
};

// The value of the sample, whose labels are given as they stand in the text; -1: it is not there.
inline double sample(const std::string &text, const std::string &name) {
  const size_t at = ("\n" + text).find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 1));
}

inline const std::string kMain = R"({program="",function="main"})", kFail = R"({program="",function="fail"})";

inline Vm make_program(useconds_t inner_us = 0) {
  define("test.fail", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("no \"luck\""); });
  define("test.inner", [inner_us](const opd_value *, int32_t, opd_value *) { usleep(inner_us); });
  return make_vm(kTelemetryProgram);
}

inline void call(const Vm &vm, const char *function, int times = 1) {
  const Tensor x = floats({1, 2, 3, 4});
  for (int i = 0; i < times; ++i) vm.call(function, x);
}
inline void fail(const Vm &vm) {
  expect_throws([&] { call(vm, "fail"); }, OPD_CALL_FAILED, "luck");
}

}  // namespace opdyno_test
