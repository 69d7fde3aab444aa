// Checks of the needs of programs: the cache directory, the compiler, devices and their drivers.
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "cli/doctor/doctor.h"
#include "cli/load/collectors.h"
#include "cli/load/devices.h"
#include "cli/support/failure.h"
#include "cli/support/system_files.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

// The library's directory for compiled code: the first one that it can use.
std::string cache_place() {
  if (const std::string chosen = environment("OPDYNO_CACHE_DIR"); !chosen.empty()) return chosen;
  std::vector<std::string> places;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); xdg.starts_with('/')) places.push_back(xdg + "/opdyno");
  std::string home = environment("HOME");
  if (const passwd *user = getpwuid(geteuid()); !home.starts_with('/') && user) home = user->pw_dir;
  if (!home.empty()) places.push_back(home + "/.cache/opdyno");
  for (const std::string &place : places)
    if (struct stat status{}; stat(place.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                              status.st_uid == geteuid() && access(place.c_str(), W_OK | X_OK) == 0)
      return place;
  return cat("/tmp/opdyno-", geteuid());
}

// Compiles and links a C source as the library does, unless `cache_dir` has the result.
void compile(const char *cache_dir, std::chrono::milliseconds limit) {
  auto options = opdyno::defaults(opd_module_options_init);
  options.format = "c";
  options.cache_dir = cache_dir;
  options.build_timeout_ms = static_cast<int32_t>(std::clamp<int64_t>(limit.count(), 1, INT32_MAX));
  Module::load_bytes("int opdyno_doctor(void) { return 42; }\n", &options, "doctor.c");
}

// A directory that exists for a moment. If its process was ended before it could remove the directory, the next one
// removes it.
class ShortLived {
 public:
  ShortLived() : name_(environment("TMPDIR").empty() ? "/tmp" : environment("TMPDIR")) {
    remove_abandoned(name_);
    name_ += cat("/", start_, getpid(), "-XXXXXX");
    if (!mkdtemp(name_.data())) fail_errno("make the directory", name_, errno);
  }
  ~ShortLived() {
    std::error_code ignored;
    std::filesystem::remove_all(name_, ignored);
  }
  const char *name() const { return name_.c_str(); }

 private:
  static constexpr std::string_view start_ = "opdyno-doctor-";

  static void remove_abandoned(const std::string &parent) {
    std::error_code ignored;
    for (const auto &entry : std::filesystem::directory_iterator(parent, ignored)) {
      const std::string name = entry.path().filename().string();
      struct stat status {};
      const bool is_own = name.starts_with(start_) && lstat(entry.path().c_str(), &status) == 0 &&
                          S_ISDIR(status.st_mode) && status.st_uid == geteuid();
      const int process = is_own ? std::atoi(name.c_str() + start_.size()) : 0;
      if (process > 0 && kill(process, 0) != 0 && errno == ESRCH) std::filesystem::remove_all(entry.path(), ignored);
    }
  }

  std::string name_;
};

bool has_nvidia_gpu() {
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(system_path("/sys/bus/pci/devices"), ignored)) {
    const std::string device = cat("/sys/bus/pci/devices/", entry.path().filename().string());
    if (system_line(device + "/vendor") == "0x10de" && system_line(device + "/class").starts_with("0x03")) return true;
  }
  return has_system_file("/proc/driver/nvidia/version");
}

std::string distribution() {
  const std::string text = system_text("/etc/os-release");
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with("ID=")) return std::string(line.substr(3));
  return "";
}

std::string text_of(DLDevice device) {
  std::string text = opdyno::to_string(device);
  if (const Value name = attribute_of(device, OPD_ATTR_DEVICE_NAME); name.type() != OPD_NONE)
    text += cat(" ", printable(name.string()));
  if (const Value driver = attribute_of(device, OPD_ATTR_DRIVER_VERSION); driver.type() != OPD_NONE)
    text += cat(", driver ", printable(driver.string()));
  return text;
}

}  // namespace

// The library opens the directory before it starts the compiler. Errors of the compiler have other codes.
Check check_cache(std::chrono::milliseconds limit) {
  try {
    compile(nullptr, limit);
  } catch (const opdyno::Error &error) {
    if (error.code() == OPD_IO)
      return {"cache", State::missing, message_of(error), "export OPDYNO_CACHE_DIR=$(mktemp -d)"};
  }
  return {"cache", State::ok, cat("compiled files are kept in ", printable(cache_place())), ""};
}

// Compiles in a new directory, so that there is no earlier result.
Check check_compiler(std::chrono::milliseconds limit) {
  const std::string given = environment("CC");
  const std::string remedy = given.empty() ? "sudo apt install gcc libc6-dev" : "unset CC";
  try {
    const ShortLived directory;
    compile(directory.name(), limit);
  } catch (const opdyno::Error &error) {
    return {"compiler", State::missing, shortened(printable(message_of(error)), 400), remedy};
  } catch (const Failure &failure) { return {"compiler", State::missing, printable(failure.what()), ""}; }
  return {"compiler", State::ok, cat(printable(given.empty() ? "cc" : given), " compiles C sources and links objects"),
          ""};
}

Check check_device(const std::string &kind) {
  const DLDeviceType type = opdyno::device_of(kind + ":0").device_type;
  DeviceFacts facts;
  facts.kind = kind;
  for (const DLDevice device : devices_of(type)) facts.devices.push_back(text_of(device));
  facts.absence = absence_of(type);
  facts.has_nvidia_gpu = has_nvidia_gpu();
  facts.container = container_name();
  facts.distribution = distribution();
  return judge_device(facts);
}

Check judge_device(const DeviceFacts &facts) {
  if (!facts.devices.empty()) {
    constexpr size_t most = 8;
    const std::vector<std::string> shown(facts.devices.begin(),
                                         facts.devices.begin() + std::min<ptrdiff_t>(most, std::ssize(facts.devices)));
    const std::string rest = facts.devices.size() > most ? cat("; and ", facts.devices.size() - most, " more") : "";
    return {facts.kind, State::ok, cat(join(shown, "; "), rest), ""};
  }
  std::string remedy;
  if (facts.kind == "opencl") remedy = "sudo apt install ocl-icd-libopencl1 pocl-opencl-icd";
  if (facts.kind == "vulkan") remedy = "sudo apt install libvulkan1 mesa-vulkan-drivers";
  if (facts.kind == "cuda") {
    if (!facts.has_nvidia_gpu)
      return {"cuda", State::missing, cat("this machine shows no GPU of NVIDIA's: ", facts.absence), ""};
    remedy = !facts.container.empty()         ? "docker run --gpus all IMAGE"
             : facts.distribution == "ubuntu" ? "sudo ubuntu-drivers install"
                                              : "sudo apt install nvidia-driver";
  }
  return {facts.kind, State::missing, facts.absence, remedy};
}

Check check_nvml() {
  const std::string problem = collector_problem("nvml");
  if (problem.empty()) return {"nvml", State::ok, "power, temperature and clocks of NVIDIA's GPUs can be read", ""};
  if (!has_nvidia_gpu()) return {"nvml", State::missing, cat("this machine shows no GPU of NVIDIA's: ", problem), ""};
  return {"nvml", State::missing, problem,
          container_name().empty() ? "sudo apt install libnvidia-ml1"
                                   : "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE"};
}

Check check_tls() {
  const std::string problem = tls_absence();
  if (problem.empty()) return {"tls", State::ok, "connections with other machines can go through TLS", ""};
  return {"tls", State::missing, problem, "sudo apt install libssl3"};
}

}  // namespace opd::cli
