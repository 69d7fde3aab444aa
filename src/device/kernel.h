// Kernels of devices: code that a device compiles, the kernels in it, and how one is launched.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "trace/record/device_work.h"

namespace opd {

// One argument. An address is one of the device's own, or null; it is passed by value, as the others are.
struct KernelArg {
  const void *value;  // where the value lies: `size` bytes, as the kernel's parameter has them
  uint32_t size;
  bool is_address;
};

struct KernelLaunch {
  std::array<uint32_t, 3> grid{1, 1, 1};     // blocks along x, y and z
  std::array<uint32_t, 3> block{1, 1, 1};    // threads of a block
  std::array<uint32_t, 3> cluster{1, 1, 1};  // blocks of a cluster
  uint64_t dynamic_shared_bytes = 0;
  bool is_cooperative = false;   // all blocks run at once
  bool is_programmatic = false;  // may begin before the launch ahead of it has ended
  std::span<const KernelArg> args;
};

// Thread-safe. Lives no longer than its program.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  // Gives the launch to a stream (null: the default one) and does not wait for it. Throws.
  virtual void launch(void *stream, const KernelLaunch &launch) = 0;
  // The same; the device keeps the times of the work. Null: it has none.
  virtual std::unique_ptr<PendingWork> launch_timed(void *stream, const KernelLaunch &given) {
    launch(stream, given);
    return nullptr;
  }
};

// Work that a device has kept, to be done at each launch. Its launches are done one after the other.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;       // work that was launched is still done
  virtual void launch(void *stream) = 0;  // as DeviceKernel's
  virtual std::unique_ptr<PendingWork> launch_timed(void *stream) {
    launch(stream);
    return nullptr;
  }
};

// Code that one device has compiled. Thread-safe.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  virtual std::unique_ptr<DeviceKernel> find(const std::string &name) = 0;  // throws OPD_NOT_FOUND
};

struct DeviceCode {
  std::string_view format;  // "cl", "ptx" … ; the artifact's name for it
  std::string_view code;
  std::string_view origin;                // the file, for messages
  std::string_view cache_directory = "";  // where compiled code may be kept; "" means the usual one
};

}  // namespace opd
