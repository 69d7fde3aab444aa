// Compiles kernels in CUDA C++ with NVRTC, finds the files that they include, and checks compiled code. TVM writes such
// kernels if it has no CUDA itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/content_hash.h"
#include "device/kernel.h"

namespace opd::cuda {

// ---- NVRTC, NVIDIA's compiler library for CUDA C++
//
// Only the part that the library uses is declared. NVRTC is declared and found like the driver. Source: NVIDIA, NVRTC.

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

// ---- compilation

// Returns code that the driver can load for a device of a compute version (90 for 9.0). If the compiler supports this
// version, the code is a cubin for it. Otherwise it is PTX for the newest older version, which the driver compiles
// again. Throws an error with the compiler's messages. Cost: 0.1 s or more.
std::string compile_source(const Nvrtc &nvrtc, int32_t compute_version, std::string_view source,
                           std::string_view origin);

// Does the same, with a cache. If a process has compiled the same source before, with the same options, headers and
// NVRTC, reads the code from the cache directory.
std::string kept_or_compiled(const Nvrtc &nvrtc, int32_t compute_version, std::string_view source,
                             std::string_view origin, std::string_view cache_directory);

// Adds to the hash every file that the source may include, directly or indirectly, so that the hash changes if such a
// file changes, appears or disappears. NVRTC does not list these files, so they are found in the text: for each
// included name, the files of that name in all directories, whatever the conditions around the directive. Returns false
// if the text does not determine the included files, because a macro makes a name, the code depends on the date, or
// there are too many files.
// Cost: 15 ms for the headers of NVIDIA that TVM's kernels include.
bool add_included_files(ContentHash &hash, std::string_view source, const std::vector<std::string> &directories);

// Checks compiled code before the driver gets it. The driver gets an address without a size, so it would read beyond
// the end of truncated code. Returns a copy of the code that is safe to give to the driver: "ptx", "cubin" or "fatbin".
// Throws OPD_BAD_FORMAT, or OPD_UNSUPPORTED for another format.
std::string checked_image(const DeviceCode &code);

}  // namespace opd::cuda
