// Checks of the machine: the processor's counters, PAPI, energy, the settings (clock, governor, quota), and the names
// of its container and hypervisor.
#include <link.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/bench/machine_quality.h"
#include "cli/doctor/doctor.h"
#include "cli/load/devices.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::string shown(const std::string &line) { return shortened(printable(line), 64); }

// The error of perf_event_open(2) for an event; 0: it can be opened.
int error_of_event(uint32_t type, uint64_t config, bool in_kernel) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = type;
  attr.config = config;
  attr.exclude_kernel = !in_kernel;
  attr.exclude_hv = 1;
  attr.disabled = 1;
  const long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return errno;
  close(static_cast<int>(fd));
  return 0;
}

struct Reason {
  std::string cause, remedy = {};
};

// The reason for an error. `most`: the highest level of perf_event_paranoid at which users may count the event.
Reason reason_of(int error, const CounterFacts &facts, int most) {
  const std::optional<int64_t> level = read_int(facts.paranoid);
  const std::string place = facts.container.empty() ? "" : cat(" (", facts.container, ")");
  const std::string shown = facts.paranoid.empty() ? "" : cat("kernel.perf_event_paranoid is ", facts.paranoid);
  switch (error) {
    case EACCES:
    case EPERM:
      if (level && *level > most)
        return {cat(shown, ", and users may count this up to ", most,
                    facts.container.empty() ? "" : "; the container's host must change it"),
                cat("sudo sysctl kernel.perf_event_paranoid=", most)};
      if (!facts.container.empty())
        return {cat("the container", place, " forbids perf_event_open", shown.empty() ? "" : cat("; ", shown)),
                "docker run --cap-add PERFMON IMAGE"};
      return {cat(facts.has_seccomp ? "a seccomp filter" : "a security module", " forbids perf_event_open",
                  shown.empty() ? "" : cat("; ", shown))};
    case ENOSYS:
      return {"the kernel has no perf_event_open, or a sandbox hides it"};
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      if (!facts.hypervisor.empty())
        return {cat("this virtual machine (", facts.hypervisor,
                    ") has no PMU: its host must pass the processor's counters on (QEMU/KVM: -cpu host,pmu=on; in a "
                    "cloud: a bare-metal instance)")};
      return {"the kernel knows no PMU of this processor"};
    case EMFILE:
      return {"too many files are open", "ulimit -n 4096"};
    default:
      return {std::strerror(error)};
  }
}

bool has_papi() {  // whether the library is in this process
  return dl_iterate_phdr(
             [](dl_phdr_info *info, size_t, void *) {
               return static_cast<int>(std::string_view(info->dlpi_name).find("/libpapi.so") != std::string_view::npos);
             },
             nullptr) != 0;
}

}  // namespace

std::string container_name() {
  if (has_system_file("/.dockerenv")) return "Docker";
  if (has_system_file("/run/.containerenv")) return "Podman";
  const std::string groups = system_text("/proc/1/cgroup");
  for (const char *name : {"kubepods", "docker", "containerd", "lxc"})
    if (groups.find(name) != groups.npos) return std::string_view(name) == "kubepods" ? "Kubernetes" : name;
  return shown(system_line("/run/systemd/container"));
}

std::string hypervisor_name() {
  const std::string processor = system_text("/proc/cpuinfo");
  const bool has_flag = processor.find(" hypervisor") != processor.npos;
  const std::string type = system_line("/sys/hypervisor/type");
  const std::string vendor = system_line("/sys/class/dmi/id/sys_vendor");
  const std::string product = system_line("/sys/class/dmi/id/product_name");
  // The vendor is checked, too, because only x86 processors have the flag.
  const bool is_known = std::ranges::any_of(
      std::initializer_list<std::string_view>{"QEMU", "VMware, Inc.", "innotek GmbH", "Xen", "Google"},
      [&](std::string_view name) { return vendor == name; });
  if (!has_flag && type.empty() && !is_known && !has_system_file("/proc/device-tree/hypervisor")) return "";
  if (!type.empty()) return shown(type);
  return vendor.empty() ? "an unnamed hypervisor" : shown(product.empty() ? vendor : cat(vendor, " ", product));
}

Check check_clock() {
  const std::string directory = "/sys/devices/system/clocksource/clocksource0/";
  const std::string source = system_line(directory + "current_clocksource"), name = shown(source);
  const std::string others = system_line(directory + "available_clocksource");
  if (source.empty()) return {"clock", State::limited, cat("the kernel does not report its clock source")};
  const std::string processor = system_text("/proc/cpuinfo");
  const bool is_x86 =
      processor.find("GenuineIntel") != processor.npos || processor.find("AuthenticAMD") != processor.npos;
  const bool is_invariant = processor.find(" nonstop_tsc") != processor.npos;
  constexpr std::string_view slow[] = {"hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies"};
  if (std::ranges::count(slow, source)) {
    const bool has_tsc = std::ranges::count(split(others, ' '), "tsc") > 0;
    return {"clock", State::limited,
            cat("the kernel's clock source is ", name, ", whose reading takes a microsecond or more, because the ",
                has_tsc ? "processor's counter was not chosen" : "kernel does not trust the processor's counter"),
            has_tsc ? cat("echo tsc | sudo tee ", directory, "current_clocksource") : ""};
  }
  if (is_x86 && !is_invariant)
    return {"clock", State::limited,
            cat("the processor's time-stamp counter is not invariant, so each time stamp asks the kernel (", name,
                ") and takes longer")};
  return {"clock", State::ok, cat("the kernel's clock source is ", name)};
}

Check check_governor() {
  const MachineQuality::Entry governor = MachineQuality::governor();
  if (governor.value == "unknown") {
    const std::string hypervisor = hypervisor_name();
    return {"governor", State::missing,
            hypervisor.empty()
                ? "the kernel does not control the processors' clock: there is no cpufreq"
                : cat("the host of this virtual machine (", hypervisor, ") controls the processors' clock")};
  }
  if (!governor.is_doubtful) return {"governor", State::ok, "the governor of the processors' clock is performance"};
  return {"governor", State::limited,
          cat("the governor of the processors' clock is ", shown(governor.value), ": times vary with the load before"),
          "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"};
}

Check check_quota() {
  const MachineQuality::Entry quota = MachineQuality::quota();
  if (quota.value == "unknown") return {"quota", State::ok, "the kernel tells of no quota of processor time"};
  if (quota.value == "none") return {"quota", State::ok, "processor time is not limited"};
  if (!quota.is_doubtful)
    return {"quota", State::ok, cat("the quota of ", quota.value, " covers those that this process may use")};
  const std::string container = container_name();
  return {"quota", State::limited,
          cat("the control group allows ", quota.value,
              ", fewer than this process may use: all threads stop for the rest of each period"),
          container.empty()           ? "sudo systemctl set-property UNIT CPUQuota="
          : container == "Kubernetes" ? "kubectl set resources deployment NAME --limits=cpu=$(nproc)"
                                      : "docker update --cpus=$(nproc) CONTAINER"};
}

CounterFacts counter_facts() {
  CounterFacts facts;
  facts.hardware_error = error_of_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
  facts.software_error = error_of_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false);
  facts.kernel_error = error_of_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true);
  const std::vector<std::string> names = Collector::list_events(OPD_COLLECTOR_PERF);
  for (const char *name : {"cycles", "instructions", "cache-references", "cache-misses", "branch-misses"})
    if (!std::ranges::count(names, name)) facts.left_out.emplace_back(name);
  facts.paranoid = shortened(printable(system_line("/proc/sys/kernel/perf_event_paranoid")), 16);
  facts.container = container_name();
  facts.hypervisor = hypervisor_name();
  const std::string status = system_text("/proc/self/status");
  if (const size_t at = status.find("\nSeccomp:"); at != status.npos)
    facts.has_seccomp = trim(std::string_view(status).substr(at + 9).substr(0, 4)).substr(0, 1) != "0";
  return facts;
}

Checks judge_counters(const CounterFacts &facts) {
  const auto check = [&](const char *name, State state, const char *what, int error, int most) {
    const Reason reason = reason_of(error, facts, most);
    return Check{name, state, cat(what, ": ", reason.cause), reason.remedy};
  };
  Check hardware{"counters", State::ok, "cycles, instructions, cache and branch misses can be counted"};
  if (facts.software_error)
    hardware = check("counters", State::missing, "nothing can be counted", facts.software_error, 2);
  else if (facts.hardware_error)
    hardware = check("counters", State::limited, "only task-clock and page-faults can be counted, no cycles",
                     facts.hardware_error, 2);
  else if (!facts.left_out.empty())
    hardware = {"counters", State::limited,
                cat("the processor's counters work, but not those of ", join(facts.left_out, ", "))};
  Check kernel{"kernel-events", State::ok, "context switches and migrations can be counted"};
  if (facts.kernel_error)
    kernel = check("kernel-events", State::missing, "context-switches and cpu-migrations cannot be counted",
                   facts.kernel_error, 1);
  return {std::move(hardware), std::move(kernel)};
}

EnergyFacts energy_facts() {
  return {collector_problem("energy"), has_system_file("/sys/class/powercap/intel-rapl:0/energy_uj"),
          hypervisor_name()};
}

Check judge_energy(const EnergyFacts &facts) {
  if (facts.problem.empty()) return {"energy", State::ok, "the energy of the processor's packages can be read"};
  if (facts.has_domain)
    return {"energy", State::missing, facts.problem, "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"};
  if (!facts.hypervisor.empty())
    return {"energy", State::missing,
            cat("virtual machines (here: ", facts.hypervisor, ") are not told the energy of their processor")};
  return {"energy", State::missing, facts.problem, "sudo modprobe intel_rapl_msr"};
}

Check check_papi() {
  const std::string problem = collector_problem("papi");
  if (problem.empty()) return {"papi", State::ok, "PAPI counts TVM's five events"};
  if (!has_papi()) {
    // Without the processor's counters, the library would count no more than the collector perf does.
    const bool helps = error_of_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false) == 0;
    return {"papi", State::missing,
            helps ? problem : cat(problem, "; it would help little, because there are no cycles"),
            helps ? "sudo apt install libpapi-dev" : ""};
  }
  try {
    make_collector("papi:perf::PAGE-FAULTS");
  } catch (const std::exception &) { return {"papi", State::missing, problem}; }
  return {"papi", State::limited, cat("PAPI counts the kernel's events only, as perf::PAGE-FAULTS: ", problem)};
}

}  // namespace opd::cli
