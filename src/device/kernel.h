// Kernels of devices: code for a device, the kernels in it, their launch, and graphs of launches.
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

// One argument, passed by value. An address is a device address or null.
struct KernelArg {
  const void *value;  // points at `size` bytes in the form of the kernel's parameter
  uint32_t size;
  bool is_address;
};

struct KernelLaunch {
  std::array<uint32_t, 3> grid{1, 1, 1};     // blocks along x, y and z
  std::array<uint32_t, 3> block{1, 1, 1};    // threads of a block
  std::array<uint32_t, 3> cluster{1, 1, 1};  // blocks of a cluster
  uint64_t dynamic_shared_bytes = 0;
  bool is_cooperative = false;   // all blocks run at the same time
  bool is_programmatic = false;  // may begin before the previous launch has ended
  std::span<const KernelArg> args;
};

// Thread-safe. Must not outlive its program.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  // Submits the launch to a stream (null: the default stream) and does not wait for it. Throws.
  virtual void launch(void *stream, const KernelLaunch &launch) = 0;
  // Submits like launch(), and the device measures the times. Returns null if it has no times.
  virtual std::unique_ptr<PendingWork> launch_timed(void *stream, const KernelLaunch &given) {
    launch(stream, given);
    return nullptr;
  }
};

// Work that a device has kept and runs at each launch. Launches of one graph run one after the other.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;       // launched work still completes
  virtual void launch(void *stream) = 0;  // the same as DeviceKernel::launch()
  virtual std::unique_ptr<PendingWork> launch_timed(void *stream) {
    launch(stream);
    return nullptr;
  }
};

// Code compiled for one device. Thread-safe.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  virtual std::unique_ptr<DeviceKernel> find(const std::string &name) = 0;  // throws OPD_NOT_FOUND
};

struct DeviceCode {
  std::string_view format;  // the artifact's name for it, such as "cl" or "ptx"
  std::string_view code;
  std::string_view origin;                // name of the file, for messages
  std::string_view cache_directory = "";  // directory for compiled code; "" means the default one
};

}  // namespace opd
