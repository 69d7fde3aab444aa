// The version and properties of this build.
#pragma once
#include <opdyno/base.h>

namespace opd {

#define OPD_TEXT_(x) #x
#define OPD_TEXT(x) OPD_TEXT_(x)
inline constexpr const char *kVersion =
    OPD_TEXT(OPD_VERSION_MAJOR) "." OPD_TEXT(OPD_VERSION_MINOR) "." OPD_TEXT(OPD_VERSION_PATCH);
inline constexpr const char *kAbi = "1";  // the number after "libopdyno.so.": SOVERSION in src/CMakeLists.txt
#undef OPD_TEXT
#undef OPD_TEXT_

#if defined(__clang__)
inline constexpr const char *kCompiler = "clang " __clang_version__;
#else
inline constexpr const char *kCompiler = "gcc " __VERSION__;
#endif
#if defined(NDEBUG)
inline constexpr const char *kBuildType = "release";
#else
inline constexpr const char *kBuildType = "debug";
#endif
#if defined(__x86_64__)
inline constexpr const char *kArchitecture = "x86_64";
#elif defined(__aarch64__)
inline constexpr const char *kArchitecture = "aarch64";
#else
inline constexpr const char *kArchitecture = "unknown";
#endif

struct Feature {
  const char *name;
  bool present;
};
// Missing features are listed, too, so that a program can ask for any of them. PAPI is loaded at run time.
inline constexpr Feature kFeatures[] = {{"cpu", true},  {"libffi", true}, {"npz", true},    {"papi", false},
                                        {"cuda", true}, {"opencl", true}, {"vulkan", true}, {"rpc", true}};

}  // namespace opd
