// Checks of the machine's settings (clock, governor, quota), and the names of its container and hypervisor.
#include <algorithm>

#include "cli/bench/machine_quality.h"
#include "cli/doctor/doctor.h"
#include "cli/support/system_files.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::string shown(const std::string &line) { return shortened(printable(line), 64); }

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
  if (source.empty()) return {"clock", State::limited, cat("the kernel does not tell its clock source"), ""};
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
                ") and takes longer"),
            ""};
  return {"clock", State::ok, cat("the kernel's clock source is ", name), ""};
}

Check check_governor() {
  const MachineQuality::Entry governor = MachineQuality::governor();
  if (governor.value == "unknown") {
    const std::string hypervisor = hypervisor_name();
    return {"governor", State::missing,
            hypervisor.empty()
                ? "the kernel does not control the processors' clock: there is no cpufreq"
                : cat("the host of this virtual machine (", hypervisor, ") controls the processors' clock"),
            ""};
  }
  if (!governor.is_doubtful) return {"governor", State::ok, "the governor of the processors' clock is performance", ""};
  return {"governor", State::limited,
          cat("the governor of the processors' clock is ", shown(governor.value), ": times vary with the load before"),
          "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"};
}

Check check_quota() {
  const MachineQuality::Entry quota = MachineQuality::quota();
  if (quota.value == "unknown") return {"quota", State::ok, "the kernel tells of no quota of processor time", ""};
  if (quota.value == "none") return {"quota", State::ok, "processor time is not limited", ""};
  if (!quota.is_doubtful)
    return {"quota", State::ok, cat("the quota of ", quota.value, " covers those that this process may use"), ""};
  const std::string container = container_name();
  return {"quota", State::limited,
          cat("the control group gives ", quota.value,
              ", fewer than this process may use: all threads stop for the rest of each period"),
          container.empty()           ? "sudo systemctl set-property UNIT CPUQuota="
          : container == "Kubernetes" ? "kubectl set resources deployment NAME --limits=cpu=$(nproc)"
                                      : "docker update --cpus=$(nproc) CONTAINER"};
}

}  // namespace opd::cli
