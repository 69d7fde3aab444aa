#include "device/cuda/nvrtc_api.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/fork_mutex.h"
#include "base/signal_handlers.h"
#include "device/cuda/toolkits.h"
#include "value/value.h"

namespace opd::cuda {
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
  for (const std::string &name : names_for(driver_version)) {
    if (void *const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    for (const std::string &toolkit : toolkits())
      for (const char *folder : {"/lib64/", "/lib/"})
        if (void *const library = ::dlopen((toolkit + folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
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
    void *const library = open_library(driver_version);
    if (!library) {
      api->absence =
          "there is no libnvrtc.so, NVIDIA's compiler for it, where the loader looks, in CUDA_HOME, CUDA_PATH or "
          "/usr/local/cuda (it comes with the CUDA toolkit, and with the Python package nvidia-cuda-nvrtc)";
      return api;
    }
#define OPD_FIND(name, result, parameters)                                    \
  api->name = reinterpret_cast<decltype(api->name)>(::dlsym(library, #name)); \
  if (!api->name && api->absence.empty()) api->absence = "its library, libnvrtc.so, has no " #name;
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
    fail(OPD_CALL_FAILED, function, " gave ", nvrtcGetErrorString(status), " (", status, ")");
}

}  // namespace opd::cuda
