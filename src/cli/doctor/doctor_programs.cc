// Checks of the needs of programs: the cache directory, the compiler, devices and their drivers, and the active Python
// with TVM and tvm-ffi, whose artifacts may load here.
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "cli/doctor/doctor.h"
#include "cli/load/devices.h"
#include "cli/support/failure.h"
#include "cli/support/file.h"
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

// A temporary directory. If its process ended before it removed the directory, the next process removes it.
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

// Reads the names of installed packages. It does not import TVM, because that takes seconds. It imports only modules
// that Python loads at its start, because the current directory may have a file with the name of another.
constexpr const char *kScript = R"(
import sys, os
def tell(*words): sys.stdout.write('\t'.join(words).replace('\n', ' ') + '\n')
tell('python', '.'.join(map(str, sys.version_info[:3])))
wanted = ('apache_tvm', 'apache_tvm_ffi', 'tvm', 'tvm_ffi')
places = []
for place in sys.path:
    try: names = sorted(os.listdir(place))
    except OSError: continue
    for name in names:
        kind = name.rsplit('.', 1)[-1]
        if kind not in ('dist-info', 'egg-info'): continue
        package, _, version = name[:-len(kind) - 1].partition('-')
        package = package.lower().replace('-', '_').replace('.', '_')
        if package in wanted or package.startswith('mlc_ai'):
            tell('package', package, version.split('-')[0])
    for module in ('tvm', 'tvm_ffi'):
        if module in names and os.path.isfile(os.path.join(place, module, '__init__.py')): tell('module', module, place)
tell('end')
)";

constexpr std::string_view kTestedFfi = "0.1.15";  // docs/tvm-ffi.md

// Quotes a word for a shell's command line.
std::string quoted(const std::string &word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%=";
  if (word.find_first_not_of(plain) == word.npos) return word;
  return shell_quoted(word);
}

struct Packages {
  std::string python;                           // Python's version
  std::map<std::string, std::string> versions;  // by package
  std::map<std::string, std::string> places;    // by module
};

std::optional<Packages> parse(const std::string &text) {
  Packages found;
  bool has_end = false;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const auto words = mapped(split(std::string_view(text).substr(begin, end - begin), '\t', "", ""),
                              [](std::string_view word) { return shortened(printable(word), 100); });
    if (has_end) return std::nullopt;
    if (words[0] == "python" && words.size() == 2) found.python = words[1];
    else if (words[0] == "package" && words.size() == 3) found.versions.emplace(words[1], words[2]);
    else if (words[0] == "module" && words.size() == 3) found.places.emplace(words[1], words[2]);
    else if (words[0] == "end" && words.size() == 1) has_end = true;
    else return std::nullopt;
  }
  if (!has_end || found.python.empty()) return std::nullopt;
  return found;
}

// "0.27" for "0.27.1.dev3"; "" if the version does not begin with two numbers.
std::string release_of(std::string_view version) {
  const size_t dot = version.find('.'),
               end = std::min(version.find_first_not_of("0123456789", dot + 1), version.size());
  if (dot == 0 || dot == version.npos || end == dot + 1 || version.find_first_not_of("0123456789") != dot) return "";
  return std::string(version.substr(0, end));
}

// Whether release a is older than b.
bool is_older(const std::string &a, const std::string &b) {
  const auto number = [](const std::string &release, bool second) {
    const size_t dot = release.find('.');
    return read_int(second ? release.substr(dot + 1) : release.substr(0, dot)).value_or(INT64_MAX);
  };
  return std::pair(number(a, false), number(a, true)) < std::pair(number(b, false), number(b, true));
}

Check judge_tvm(const std::string &python, const Packages &found, const std::vector<std::string> &loaded,
                const std::vector<std::string> &tested) {
  std::string package, version;
  for (const auto &[name, number] : found.versions)
    if (name == "apache_tvm" || name == "tvm" || name.starts_with("mlc_ai")) package = name, version = number;
  const std::string range = loaded.empty() ? "none" : cat(loaded.front(), " to ", loaded.back());
  const std::string install = cat(quoted(python), " -m pip install ");
  const std::string fitting = tested.empty() ? "" : cat(install, quoted(cat("apache-tvm==", tested.back(), ".*")));
  if (package.empty()) {
    if (const auto place = found.places.find("tvm"); place != found.places.end())
      return {"tvm", State::limited,
              cat("TVM in ", place->second, " does not state its version; artifacts of ", range, " load here")};
    return {"tvm", State::missing,
            cat("Python ", found.python, " (", python, ") has no TVM; running its artifacts needs none"), fitting};
  }
  std::ranges::replace(package, '_', '-');
  const std::string what = cat(package, " ", version, " in ", python), release = release_of(version);
  if (package.starts_with("mlc-ai") || release.empty())
    return {"tvm", State::limited,
            cat("which release of TVM ", what, " is cannot be told; artifacts of ", range, " load here"), fitting};
  if (std::ranges::count(tested, release)) return {"tvm", State::ok, cat("artifacts of ", what, " load here")};
  if (std::ranges::count(loaded, release))
    return {"tvm", State::limited,
            cat("artifacts of ", what, " load here, but are not tested; those of ", join(tested, ", "), " are")};
  if (!loaded.empty() && is_older(release, loaded.front()))
    return {"tvm", State::missing, cat("artifacts of ", what, " are refused here; those of ", range, " load"), fitting};
  return {
      "tvm", State::limited,
      cat(what, " is newer than this opdyno, so it is not known whether its artifacts load; those of ", range, " do"),
      fitting};
}

Check judge_ffi(const std::string &python, const Packages &found) {
  auto package = found.versions.find("apache_tvm_ffi");
  if (package == found.versions.end()) package = found.versions.find("tvm_ffi");
  const std::string install = cat(quoted(python), " -m pip install apache-tvm-ffi==", kTestedFfi);
  if (package == found.versions.end())
    return {"tvm-ffi", State::missing,
            cat("Python ", found.python, " (", python, ") has no apache-tvm-ffi; running its kernels needs none"),
            install};
  const std::string what = cat("apache-tvm-ffi ", package->second, " in ", python);
  if (package->second == kTestedFfi)
    return {"tvm-ffi", State::ok, cat("kernels of ", what, " load here, and libopdyno_tvmffi can replace its library")};
  if (release_of(package->second) == "0.1")
    return {"tvm-ffi", State::limited,
            cat("kernels of ", what, " have the C interface of ", kTestedFfi, ", but only that release is tested"),
            install};
  return {"tvm-ffi", State::limited, cat("it is not known whether kernels of ", what, " load; those of 0.1 do"),
          install};
}

bool is_program(const std::string &path) { return access(path.c_str(), X_OK) == 0; }

}  // namespace

// The library opens the directory before it starts the compiler. Errors of the compiler have other codes.
Check check_cache(std::chrono::milliseconds limit) {
  try {
    compile(nullptr, limit);
  } catch (const opdyno::Error &error) {
    if (error.code() == OPD_IO)
      return {"cache", State::missing, message_of(error), "export OPDYNO_CACHE_DIR=$(mktemp -d)"};
  }
  return {"cache", State::ok, cat("compiled files are kept in ", printable(cache_place()))};
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
  } catch (const Failure &failure) { return {"compiler", State::missing, printable(failure.what())}; }
  return {"compiler", State::ok, cat(printable(given.empty() ? "cc" : given), " compiles C sources and links objects")};
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
    return {facts.kind, State::ok, cat(join(shown, "; "), rest)};
  }
  std::string remedy;
  if (facts.kind == "opencl") remedy = "sudo apt install ocl-icd-libopencl1 pocl-opencl-icd";
  if (facts.kind == "vulkan") remedy = "sudo apt install libvulkan1 mesa-vulkan-drivers";
  if (facts.kind == "cuda") {
    if (!facts.has_nvidia_gpu)
      return {"cuda", State::missing, cat("this machine shows no GPU of NVIDIA's: ", facts.absence)};
    remedy = !facts.container.empty()         ? "docker run --gpus all IMAGE"
             : facts.distribution == "ubuntu" ? "sudo ubuntu-drivers install"
                                              : "sudo apt install nvidia-driver";
  }
  return {facts.kind, State::missing, facts.absence, remedy};
}

Check check_nvml() {
  const std::string problem = collector_problem("nvml");
  if (problem.empty()) return {"nvml", State::ok, "power, temperature and clocks of NVIDIA's GPUs can be read"};
  if (!has_nvidia_gpu()) return {"nvml", State::missing, cat("this machine shows no GPU of NVIDIA's: ", problem)};
  return {"nvml", State::missing, problem,
          container_name().empty() ? "sudo apt install libnvidia-ml1"
                                   : "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE"};
}

Check check_tls() {
  const std::string problem = tls_absence();
  if (problem.empty()) return {"tls", State::ok, "connections with other machines can go through TLS"};
  return {"tls", State::missing, problem, "sudo apt install libssl3"};
}

std::string active_python() {
  const char *environment = std::getenv("VIRTUAL_ENV"), *path = std::getenv("PATH");
  if (environment && *environment && is_program(cat(environment, "/bin/python")))
    return cat(environment, "/bin/python");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string place = cat(rest.substr(0, end), "/python3");
    if (end > 0 && rest[0] == '/' && is_program(place)) return place;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

Probe ask_python(const std::string &python) { return Probe::of_program({python, "-c", kScript}); }

Checks judge_python(const std::string &python, const Probe::Answer &answer, const std::vector<std::string> &loaded,
                    const std::vector<std::string> &tested) {
  const std::string shown = printable(python);
  const auto all = [](State state, const std::string &cause, const std::string &remedy) {
    return Checks{{"python", state, cause, remedy}, {"tvm", state, cause}, {"tvm-ffi", state, cause}};
  };
  if (python.empty()) return all(State::missing, "there is no python3 in PATH", "sudo apt install python3");
  if (!answer.is_whole) return all(State::limited, cat(shown, " ", answer.why), remedy_of(answer));
  const std::optional<Packages> found = parse(answer.text);
  if (!found) return all(State::limited, cat(shown, " does not answer as Python does"), "");
  return {{"python", State::ok, cat("Python ", found->python, " is ", shown), ""},
          judge_tvm(shown, *found, loaded, tested),
          judge_ffi(shown, *found)};
}

}  // namespace opd::cli
