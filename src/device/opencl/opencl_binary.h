// Keeps binaries of OpenCL programs in the cache directory (device/kept_program.h).
#pragma once
#include <optional>

#include "device/kept_program.h"
#include "device/kernel.h"
#include "device/opencl/opencl_context.h"

namespace opd::cl {

class KeptBinary {
 public:
  KeptBinary(const DeviceContext &context, const DeviceCode &source);

  // Returns the kept program, built. Null if nothing is kept, or the driver does not accept it.
  cl_program load() const;
  void keep(cl_program built) const;

 private:
  const DeviceContext &context_;
  const std::optional<KeptProgram> file_;  // nullopt: binaries of this driver are not kept
};

}  // namespace opd::cl
