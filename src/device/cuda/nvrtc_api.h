// The part of NVRTC, NVIDIA's compiler library for CUDA C++, that the library uses. It is declared and found like the
// driver. Source: NVIDIA, NVRTC.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace opd::cuda {

struct SourceProgram;  // nvrtcProgram is a pointer to it

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
  std::string absence;                           // reason why it cannot be used; "" if it can
  std::string name;                              // "NVRTC 13.5"
  std::string identity;                          // identifies the library's file, because builds of one release differ
  std::vector<int> architectures;                // supported ones: 75, 80 …, ascending
  std::vector<std::string> include_directories;  // headers of the CUDA toolkit; empty if not found

  bool has_standard_headers = false;  // they include NVIDIA's C++ library

  // Opened at the first call. The release is chosen to fit the driver: for a driver of CUDA 12, version 12 is preferred
  // to 13.
  static const Nvrtc &get(int32_t driver_version);
  void check(int32_t status, const char *function) const;  // throws
};

}  // namespace opd::cuda
