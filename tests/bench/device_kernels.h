// Libraries with an empty kernel of a device, as TVM's have theirs: in a module that is embedded in a library.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <opdyno/opdyno.hpp>
#include <optional>

#include "harness.h"

namespace bench {

inline void need_device(DLDevice device) {
  const opdyno::Value reason = opdyno::device_attr(device, OPD_ATTR_ABSENCE);
  if (reason.type() != OPD_NONE)
    throw Missing("there is no device " + opdyno::to_string(device) + ": " + reason.string());
}

template <class T>
std::string raw(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}
inline std::string text(const std::string &content) { return raw(uint64_t{content.size()}) + content; }

struct KernelLibrary {
  std::string directory = "/tmp/opdyno-bench-XXXXXX", path;

  // The kernel nop(tensor, int). `kind`: of the module; `code`: what the module ends with.
  KernelLibrary(const std::string &kind, const std::string &format, const std::string &code) {
    const auto number = [](uint64_t value) { return raw(value); };
    const std::string params = number(2) + raw(DLDataType{kDLOpaqueHandle, 64, 1}) + raw(DLDataType{kDLInt, 32, 1});
    const std::string tags = number(2) + text("blockIdx.x") + text("threadIdx.x");
    const std::string module = text(format) + number(1) + text("nop") + text("nop") + params + tags + number(0) + code;
    const std::string tree = text(number(3) + number(0) + number(1) + number(1) + number(1) + number(1) + text(kind) +
                                  text(module) + text("_lib"));
    if (!mkdtemp(directory.data())) throw std::runtime_error("cannot make a directory in /tmp");
    const std::string source_path = directory + "/nop.c";
    std::ofstream source(source_path);
    source << "const unsigned char __tvm_ffi__library_bin[] = {";
    for (const char c : tree) source << static_cast<int>(static_cast<unsigned char>(c)) << ',';
    source << "};\n";
    source.close();
    path = directory + "/nop.so";
    if (std::system(("cc -shared -o " + path + " " + source_path).c_str())) throw Missing("there is no compiler cc");
  }
  ~KernelLibrary() { std::filesystem::remove_all(directory); }
  KernelLibrary(const KernelLibrary &) = delete;
};

inline constexpr int64_t kInFlight = 256;  // launches, before the device is waited for: a driver's queue is not to grow

// Launches of the kernel through its packed function, waited for after kInFlight.
inline Sampler timed_launches(DLDevice device, const opdyno::Function &kernel, bool is_recorded) {
  const opdyno::Tensor tensor({16}, "float32", device);
  kernel(tensor, 1, 1, 1);  // compiles it
  return timed(1, [device, kernel, tensor, is_recorded](int64_t n) {
    std::optional<opdyno::Profiler> profiler;
    if (is_recorded) profiler.emplace().start();
    const opd_value args[] = {opdyno::arg(tensor), opd_int(1), opd_int(1), opd_int(1)};
    for (int64_t i = 0; i < n; ++i) {
      opd_value result = opd_none();
      opdyno::check(opd_function_call(kernel.get(), args, 4, &result));
      if (i % kInFlight == 0) opdyno::sync(device);
    }
    opdyno::sync(device);
    if (profiler) (void)profiler->stop();
  });
}

}  // namespace bench
