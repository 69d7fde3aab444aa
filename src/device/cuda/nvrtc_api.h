// The part of NVRTC, NVIDIA's compiler library for CUDA C++, that the library uses. Declared and found as the driver
// is. Source: NVIDIA, NVRTC.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace opd::cuda {

struct SourceProgram;  // nvrtcProgram points at one

#define OPD_NVRTC_FUNCTIONS(X)                                                                     \
  X(nvrtcGetErrorString, const char *, (int32_t))                                                  \
  X(nvrtcVersion, int32_t, (int *, int *))                                                         \
  X(nvrtcGetNumSupportedArchs, int32_t, (int *))                                                   \
  X(nvrtcGetSupportedArchs, int32_t, (int *))                                                      \
  X(nvrtcCreateProgram, int32_t,                                                                   \
    (SourceProgram **, const char *, const char *, int, const char *const *, const char *const *)) \
  X(nvrtcDestroyProgram, int32_t, (SourceProgram **))                                              \
  X(nvrtcCompileProgram, int32_t, (SourceProgram *, int, const char *const *))                     \
  X(nvrtcGetProgramLogSize, int32_t, (SourceProgram *, size_t *))                                  \
  X(nvrtcGetProgramLog, int32_t, (SourceProgram *, char *))                                        \
  X(nvrtcGetPTXSize, int32_t, (SourceProgram *, size_t *))                                         \
  X(nvrtcGetPTX, int32_t, (SourceProgram *, char *))                                               \
  X(nvrtcGetCUBINSize, int32_t, (SourceProgram *, size_t *))                                       \
  X(nvrtcGetCUBIN, int32_t, (SourceProgram *, char *))

struct Nvrtc {
#define OPD_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  OPD_NVRTC_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE
  std::string absence;                           // why it cannot be used; "" if it can
  std::string name;                              // "NVRTC 13.5"
  std::string identity;                          // of the library's file: builds of one release differ
  std::vector<int> architectures;                // 75, 80 …, rising
  std::vector<std::string> include_directories;  // of the CUDA toolkit; none if it is not here

  bool has_standard_headers = false;  // NVIDIA's C++ library is in them

  // Opened at the first call, in a release that fits the driver's: version 12 before 13 for a driver of CUDA 12.
  static const Nvrtc &get(int32_t driver_version);
  void check(int32_t status, const char *function) const;  // throws
};

}  // namespace opd::cuda
