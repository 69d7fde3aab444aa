// Calls recorded in files, and what their replays say.
#pragma once
#include <cstdio>
#include <fstream>
#include <iterator>

#include "support/add_one.h"
#include "support/paths.h"

namespace opdyno_test {

/** A file of one test. */
inline std::string recording_path(const std::string &suffix = "") {
  const auto *info = testing::UnitTest::GetInstance()->current_test_info();
  return test_scratch("/") + info->test_suite_name() + "." + info->name() + suffix + ".opdrec";
}

inline std::string bytes_of(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_bytes(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline std::string entry(const Report &report, const char *name) {
  for (const std::string &known : report.columns(OPD_REPORT_CONFIGURATION))
    if (known == name) return report.value(OPD_REPORT_CONFIGURATION, 0, name).string();
  return "";
}
inline std::string verdict(const opdyno::Replayed &replayed) { return entry(replayed.report, "Verdict"); }
inline bool is_same(const opdyno::Replayed &replayed) {
  return replayed.report.value(OPD_REPORT_CONFIGURATION, 0, "Same").view().u.int64 == 1;
}
inline std::string cell(const Report &report, size_t row, const char *column) {
  return report.value(OPD_REPORT_CALLS, row, column).string();
}

/** On cpu:0; tensors of cpu:1 are arguments, too. */
inline Vm make_vm_on_two(const std::string &body) {
  const DLDevice devices[] = {{kDLCPU, 0}, {kDLCPU, 1}};
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = devices, options.num_devices = 2;
  return make_vm(body, &options);
}

/** Lets a function of the host return a value. */
inline void give(const opd_value &value, opd_value *out) { check(opd_value_retain(&value, out)); }

/** Records a call of `main` and returns the path of the file. */
inline std::string record(const Vm &vm, const Views &args, const opd_record_options *options = nullptr) {
  const std::string path = recording_path();
  vm.record_next_call(path, options);
  try {
    vm.call_with(opdyno::defaults(opd_call_options_init), "main", args);
  } catch (const Error &) {}
  vm.end_recording();
  return path;
}

}  // namespace opdyno_test
