#include "device/cuda/cuda_compile.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/cache_directory.h"
#include "base/file.h"
#include "base/fork_mutex.h"
#include "base/signals.h"
#include "device/cuda/cuda_api.h"
#include "value/value.h"

namespace opd::cuda {

// ---- NVRTC

namespace {

// The library's names, best first. The driver may refuse code of a newer release than its own.
std::vector<std::string> names_for(int32_t driver_version) {
  constexpr int kNewest = 13;
  const int major = driver_version / 1000;
  std::vector<std::string> names;
  const auto add = [&](int release) {
    // All releases from 11.2 to 11.8 use this name.
    names.push_back(release == 11 ? "libnvrtc.so.11.2" : concat("libnvrtc.so.", release));
  };
  for (int release = std::max(major, 11); release >= 11; --release) add(release);
  for (int release = std::max(major, 10) + 1; release <= kNewest; ++release) add(release);
  names.emplace_back("libnvrtc.so");
  return names;
}

void *open_library(int32_t driver_version) {
  for (const std::string &name : names_for(driver_version))
    if (void *const library = open_of_toolkits(name, {"/lib64/", "/lib/"})) return library;
  return nullptr;
}

// The library's file; "" if unknown.
std::filesystem::path library_file(const Nvrtc &api) {
  Dl_info info{};
  if (!::dladdr(reinterpret_cast<const void *>(api.nvrtcVersion), &info) || !info.dli_fname) return {};
  std::error_code ignored;
  return std::filesystem::canonical(info.dli_fname, ignored);
}

// Finds the directories with the toolkit's headers, which kernels with half precision need. Searches the toolkits, and
// the directories beside the library that toolkits and NVIDIA's Python packages use.
void find_headers(Nvrtc &api) {
  std::vector<std::string> places;
  for (const std::string &toolkit : toolkits()) places.push_back(toolkit + "/include");
  if (const auto folder = library_file(api).parent_path(); !folder.empty())
    for (const char *beside : {"../include", "../../cuda_runtime/include"})
      places.push_back((folder / beside).lexically_normal());
  places.emplace_back("/usr/include");
  const auto has = [](const std::string &file) { return ::access(file.c_str(), R_OK) == 0; };
  const auto place = std::find_if(places.begin(), places.end(),
                                  [&](const std::string &folder) { return has(folder + "/cuda_fp16.h"); });
  if (place == places.end()) return;
  api.include_directories = {*place};
  const std::string library = *place + "/cccl";  // since CUDA 13; older releases have it beside the other headers
  if (has(library + "/cuda/std/cstdint")) api.include_directories.push_back(library);
  api.has_standard_headers = api.include_directories.size() > 1 || has(*place + "/cuda/std/cstdint");
}

void read_version(Nvrtc &api) {
  int major = 0, minor = 0, count = 0;
  api.check(api.nvrtcVersion(&major, &minor), "nvrtcVersion");
  api.name = concat("NVRTC ", major, ".", minor);
  api.check(api.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  api.architectures.resize(static_cast<size_t>(std::max(count, 0)));
  api.check(api.nvrtcGetSupportedArchs(api.architectures.data()), "nvrtcGetSupportedArchs");
  std::sort(api.architectures.begin(), api.architectures.end());
}

Nvrtc *open(int32_t driver_version) {
  const KeptSignalHandlers kept;
  auto *api = new Nvrtc;  // never destroyed, like the driver's table
  {
    const LoaderCall call;
    const DriverLibrary library{"its library, libnvrtc.so,", api->absence, open_library(driver_version)};
    if (!library.handle)
      api->absence =
          "there is no libnvrtc.so, NVIDIA's compiler for it, where the loader looks, in CUDA_HOME, CUDA_PATH or "
          "/usr/local/cuda (it comes with the CUDA toolkit, and with the Python package nvidia-cuda-nvrtc)";
#define OPD_FIND(name, result, parameters) library.require(api->name, #name);
    OPD_NVRTC_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
  }
  if (!api->absence.empty()) return api;
  try {
    read_version(*api);
  } catch (const Exception &e) { api->absence = e.error()->message; }
  api->identity = file_identity(library_file(*api));
  find_headers(*api);
  return api;
}

}  // namespace

const Nvrtc &Nvrtc::get(int32_t driver_version) {
  static const Nvrtc *const api = open(driver_version);
  return *api;
}

void Nvrtc::check(int32_t status, const char *function) const {
  if (status) [[unlikely]]
    fail(OPD_CALL_FAILED, function, " returned ", nvrtcGetErrorString(status), " (", status, ")");
}

// ---- compilation

namespace {

// The headers of NVIDIA's C++ library that TVM's kernels include, for machines without the toolkit. Kernels without
// half precision then need only NVRTC.
constexpr const char *kNames[] = {"cuda/std/cstdint", "cuda/std/type_traits"};
constexpr const char *kHeaders[] = {R"(#pragma once
namespace cuda { namespace std {
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
} }
)",
                                    R"(#pragma once
namespace cuda { namespace std {
template <bool v> struct opdyno_truth { static constexpr bool value = v; };
template <class A, class B> struct is_same : opdyno_truth<false> {};
template <class A> struct is_same<A, A> : opdyno_truth<true> {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <class T> struct is_floating_point
    : opdyno_truth<is_same_v<T, float> || is_same_v<T, double>> {};
template <class T> struct is_integral
    : opdyno_truth<is_same_v<T, bool> || is_same_v<T, char> || is_same_v<T, signed char> ||
                   is_same_v<T, unsigned char> || is_same_v<T, short> || is_same_v<T, unsigned short> ||
                   is_same_v<T, int> || is_same_v<T, unsigned> || is_same_v<T, long> || is_same_v<T, unsigned long> ||
                   is_same_v<T, long long> || is_same_v<T, unsigned long long>> {};
template <class T> struct is_unsigned : opdyno_truth<is_integral<T>::value && (T(0) < T(-1))> {};
template <class T> struct is_signed
    : opdyno_truth<is_floating_point<T>::value || (is_integral<T>::value && !(T(0) < T(-1)))> {};
template <bool b, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool b, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
} }
)"};
static_assert(std::size(kNames) == std::size(kHeaders));

// TVM before 0.26 expects these from the program that compiles its sources. NVRTC lacks the C library's headers.
constexpr std::string_view kPreamble = R"(#include <cuda/std/cstdint>
using cuda::std::int8_t;
using cuda::std::int16_t;
using cuda::std::int32_t;
using cuda::std::int64_t;
using cuda::std::uint8_t;
using cuda::std::uint16_t;
using cuda::std::uint32_t;
using cuda::std::uint64_t;
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#line 1
)";

class Compilation {
 public:
  Compilation(const Nvrtc &nvrtc, const std::string &source) : nvrtc_(nvrtc) {
    const int headers = nvrtc_.has_standard_headers ? 0 : static_cast<int>(std::size(kNames));
    nvrtc_.check(nvrtc_.nvrtcCreateProgram(&program_, source.c_str(), "kernels.cu", headers, kHeaders, kNames),
                 "nvrtcCreateProgram");
  }
  ~Compilation() { nvrtc_.nvrtcDestroyProgram(&program_); }
  Compilation(const Compilation &) = delete;

  int32_t run(const std::vector<std::string> &options) {
    std::vector<const char *> texts;
    for (const std::string &option : options) texts.push_back(option.c_str());
    return nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(texts.size()), texts.data());
  }

  using Size = int32_t (*)(SourceProgram *, size_t *);
  using Read = int32_t (*)(SourceProgram *, char *);
  std::string result(Size size_of, Read read, const char *name) const {
    size_t size = 0;
    nvrtc_.check(size_of(program_, &size), name);
    std::string bytes(size, '\0');
    nvrtc_.check(read(program_, bytes.data()), name);
    return bytes;
  }
  std::string log() const {
    return result(nvrtc_.nvrtcGetProgramLogSize, nvrtc_.nvrtcGetProgramLog, "nvrtcGetProgramLog").c_str();
  }

 private:
  const Nvrtc &nvrtc_;
  SourceProgram *program_ = nullptr;
};

// A source to compile, and the compute version of its device.
class Job {
 public:
  Job(const Nvrtc &nvrtc, int32_t compute_version, std::string_view source, std::string_view origin)
      : nvrtc_(nvrtc), origin_(origin) {
    if (const size_t nul = source.find('\0'); nul != source.npos)
      fail(OPD_BAD_FORMAT, "the CUDA source of ", origin, " must be text, but has a NUL byte at offset ", nul);
    if (!nvrtc.absence.empty())
      fail(OPD_UNSUPPORTED, "the kernels of ", origin, " are CUDA source, which needs NVRTC: ", nvrtc.absence);
    const auto &known = nvrtc.architectures;
    const auto next = std::upper_bound(known.begin(), known.end(), compute_version);
    if (next == known.begin())
      fail(OPD_UNSUPPORTED, nvrtc.name, " cannot compile the kernels of ", origin, " for a device of compute version ",
           compute_version / 10, ".", compute_version % 10, "; another release of NVRTC can");
    const int architecture = *(next - 1);
    is_exact_ = architecture == compute_version;
    text_ = concat(kPreamble, source);
    options_ = {concat("--gpu-architecture=", is_exact_ ? "sm_" : "compute_", architecture), "--std=c++17",
                "-default-device", "--disable-warnings"};
    for (const std::string &directory : nvrtc.include_directories) options_.push_back("--include-path=" + directory);
  }

  std::string compile() const {
    const KeptSignalHandlers kept;
    Compilation compilation(nvrtc_, text_);
    if (const int32_t status = compilation.run(options_))
      fail(OPD_CALL_FAILED, nvrtc_.name, " cannot compile the kernels of ", origin_, ": ",
           nvrtc_.nvrtcGetErrorString(status), " (", status, ")",
           nvrtc_.include_directories.empty() ? "; the headers of the CUDA toolkit were not found, CUDA_HOME says where"
                                              : "",
           "\n", compilation.log());
    if (is_exact_) return compilation.result(nvrtc_.nvrtcGetCUBINSize, nvrtc_.nvrtcGetCUBIN, "nvrtcGetCUBIN");
    return compilation.result(nvrtc_.nvrtcGetPTXSize, nvrtc_.nvrtcGetPTX, "nvrtcGetPTX");
  }

  // The hash of everything that determines the code; nullopt if that cannot be determined.
  std::optional<ContentHash> inputs() const {
    ContentHash hash;
    hash.add("cuda 1").add(nvrtc_.name).add(nvrtc_.identity).add(text_);
    for (const std::string &option : options_) hash.add(option);
    if (!nvrtc_.has_standard_headers)
      for (const char *header : kHeaders) hash.add(header);
    if (!add_included_files(hash, text_, nvrtc_.include_directories)) return std::nullopt;
    return hash;
  }

  // A kept file has only a hash as its seal, which anybody can compute. So the code is checked, because the driver
  // trusts its tables.
  bool may_be_result(const std::string &code) const {
    try {
      checked_image({is_exact_ ? "cubin" : "ptx", code, origin_});
      return true;
    } catch (const Exception &) { return false; }
  }

 private:
  const Nvrtc &nvrtc_;
  const std::string_view origin_;
  bool is_exact_ = false;
  std::string text_;
  std::vector<std::string> options_;
};

}  // namespace

std::string compile_source(const Nvrtc &nvrtc, int32_t compute_version, std::string_view source,
                           std::string_view origin) {
  return Job(nvrtc, compute_version, source, origin).compile();
}

std::string kept_or_compiled(const Nvrtc &nvrtc, int32_t compute_version, std::string_view source,
                             std::string_view origin, std::string_view cache_directory) {
  const Job job(nvrtc, compute_version, source, origin);
  const auto inputs = job.inputs();
  if (!inputs) return job.compile();
  const KeptProgram kept(cache_directory, *inputs);
  if (auto code = kept.read(); code && job.may_be_result(*code)) return std::move(*code);
  std::string code = job.compile();
  kept.keep(code);
  return code;
}

}  // namespace opd::cuda
