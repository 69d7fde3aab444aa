// What `opdyno doctor` says of machines that are not at hand: it decides by facts alone.
#include "../../src/cli/doctor.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>

#include "../../src/cli/machine_noise.h"
#include "../../src/cli/system_files.h"
#include "../../src/cli/text.h"

namespace opd::cli {
namespace {

using Files = std::map<std::string, std::string>;  // their contents

// A machine of which there are only these files.
class Machine {
 public:
  explicit Machine(const Files &files = {}) : root_(testing::TempDir() + "machine-XXXXXX") {
    if (!mkdtemp(root_.data())) throw std::runtime_error("no directory for " + root_);
    for (const auto &[path, content] : files) write(path, content);
    setenv("OPDYNO_SYSTEM_ROOT", root_.c_str(), 1);
  }
  ~Machine() {
    unsetenv("OPDYNO_SYSTEM_ROOT");
    std::filesystem::remove_all(root_);
  }
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;
  void write(const std::string &path, const std::string &content) const {
    const std::filesystem::path place = root_ + path;
    std::filesystem::create_directories(place.parent_path());
    std::ofstream(place) << content;
  }
  const std::string &root() const { return root_; }

 private:
  std::string root_;
};

const std::string kCpu = "/sys/devices/system/cpu/", kClock = "/sys/devices/system/clocksource/clocksource0/";
const std::string kDmi = "/sys/class/dmi/id/", kGroups = "/sys/fs/cgroup/";

// "limited: cause [remedy]"
std::string shown(const Check &check) {
  const char *const states[] = {"ok", "limited", "missing"};
  return cat(check.name, " ", states[static_cast<int>(check.state)], ": ", check.cause, " [", check.remedy, "]");
}

// "load 1.00 on 4 processors (!)"
std::string shown(const MachineQuality::Entry &entry) {
  return cat(entry.name, " ", entry.value, entry.is_doubtful ? " (!)" : "");
}

CounterFacts forbidden(int error, std::string paranoid) {
  CounterFacts facts;
  facts.hardware_error = facts.software_error = facts.kernel_error = error;
  facts.paranoid = std::move(paranoid);
  return facts;
}

Checks answered(const std::string &text) {
  return judge_python("/p/python3", {true, text, ""}, {"0.22", "0.23", "0.24", "0.25", "0.26", "0.27"},
                      {"0.26", "0.27"});
}

std::string installed(const std::string &packages) { return "python\t3.11.2\n" + packages + "end\n"; }

TEST(Doctor, ALevelThatForbidsCountingIsNamedWithTheOneThatAllowsIt) {
  const Checks checks = judge_counters(forbidden(EACCES, "4"));
  EXPECT_EQ(checks[0].state, State::missing);
  EXPECT_EQ(checks[0].cause,
            "nothing can be counted: kernel.perf_event_paranoid is 4, and users may count this up to 2");
  EXPECT_EQ(checks[0].remedy, "sudo sysctl kernel.perf_event_paranoid=2");
  EXPECT_EQ(checks[1].remedy, "sudo sysctl kernel.perf_event_paranoid=1");
}

TEST(Doctor, ALevelOfTwoForbidsEventsOfTheKernelOnly) {
  CounterFacts facts;
  facts.kernel_error = EACCES, facts.paranoid = "2";
  const Checks checks = judge_counters(facts);
  EXPECT_EQ(checks[0].state, State::ok);
  EXPECT_EQ(checks[1].state, State::missing);
  EXPECT_EQ(checks[1].remedy, "sudo sysctl kernel.perf_event_paranoid=1");
}

TEST(Doctor, AContainerThatForbidsTheCallIsToldToAllowIt) {
  CounterFacts facts = forbidden(EPERM, "2");
  facts.container = "Docker";
  EXPECT_EQ(judge_counters(facts)[0].cause,
            "nothing can be counted: the container (Docker) forbids perf_event_open; kernel.perf_event_paranoid is 2");
  EXPECT_EQ(judge_counters(facts)[0].remedy, "docker run --cap-add PERFMON IMAGE");
  facts.paranoid = "3";  // no container can change that
  EXPECT_EQ(judge_counters(facts)[0].remedy, "sudo sysctl kernel.perf_event_paranoid=2");
  EXPECT_NE(judge_counters(facts)[0].cause.find("the container's host must change it"), std::string::npos);
}

TEST(Doctor, OutsideOfContainersAFilterOrAModuleForbidsTheCall) {
  CounterFacts facts = forbidden(EPERM, "-1");
  EXPECT_NE(judge_counters(facts)[0].cause.find("a security module forbids perf_event_open"), std::string::npos);
  facts.has_seccomp = true;
  EXPECT_NE(judge_counters(facts)[0].cause.find("a seccomp filter forbids perf_event_open"), std::string::npos);
  EXPECT_EQ(judge_counters(facts)[0].remedy, "");
  EXPECT_NE(judge_counters(forbidden(ENOSYS, ""))[0].cause.find("no perf_event_open"), std::string::npos);
  EXPECT_EQ(judge_counters(forbidden(EMFILE, "2"))[0].remedy, "ulimit -n 4096");
}

TEST(Doctor, AVirtualMachineWithoutAPmuCountsEventsOfTheKernel) {
  CounterFacts facts;
  facts.hardware_error = ENOENT, facts.hypervisor = "QEMU";
  const Check check = judge_counters(facts)[0];
  EXPECT_EQ(check.state, State::limited);
  EXPECT_NE(check.cause.find("this virtual machine (QEMU) has no PMU"), std::string::npos);
  facts.hypervisor = "";
  EXPECT_NE(judge_counters(facts)[0].cause.find("the kernel knows no PMU of this processor"), std::string::npos);
}

TEST(Doctor, EventsThatTheProcessorLacksAreNamed) {
  CounterFacts facts;
  EXPECT_EQ(judge_counters(facts)[0].state, State::ok);
  facts.left_out = {"cache-misses", "branch-misses"};
  EXPECT_EQ(judge_counters(facts)[0].state, State::limited);
  EXPECT_EQ(judge_counters(facts)[0].cause,
            "the processor's counters work, but not those of cache-misses, branch-misses");
}

TEST(Doctor, EnergyThatOnlyRootMayReadIsOpened) {
  EXPECT_EQ(judge_energy({"", true, ""}).state, State::ok);
  EXPECT_EQ(judge_energy({"may not be read", true, "QEMU"}).remedy,
            "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj");
  EXPECT_EQ(judge_energy({"no counters", false, "QEMU"}).remedy, "");
  EXPECT_EQ(judge_energy({"no counters", false, ""}).remedy, "sudo modprobe intel_rapl_msr");
}

TEST(Doctor, ADriverIsMendedWhereThereIsAGpu) {
  DeviceFacts facts;
  facts.kind = "cuda", facts.absence = "there is no libcuda.so.1";
  EXPECT_EQ(judge_device(facts).remedy, "");
  EXPECT_EQ(judge_device(facts).cause, "this machine shows no GPU of NVIDIA's: there is no libcuda.so.1");
  facts.has_nvidia_gpu = true, facts.distribution = "debian";
  EXPECT_EQ(judge_device(facts).remedy, "sudo apt install nvidia-driver");
  facts.distribution = "ubuntu";
  EXPECT_EQ(judge_device(facts).remedy, "sudo ubuntu-drivers install");
  facts.container = "Docker";
  EXPECT_EQ(judge_device(facts).remedy, "docker run --gpus all IMAGE");
  facts.devices.assign(10, "cuda:0 NVIDIA H100");
  EXPECT_EQ(judge_device(facts).state, State::ok);
  EXPECT_TRUE(judge_device(facts).cause.ends_with("NVIDIA H100; and 2 more"));
}

TEST(Doctor, ReleasesOfTvmAreToldByWhatTheirArtifactsDoHere) {
  const auto tvm = [](const std::string &package, const std::string &version) {
    return answered(installed("package\t" + package + "\t" + version + "\n"))[1];
  };
  EXPECT_EQ(tvm("apache_tvm", "0.27.1").state, State::ok);
  EXPECT_EQ(tvm("apache_tvm", "0.27.1").cause, "artifacts of apache-tvm 0.27.1 in /p/python3 load here");
  EXPECT_EQ(tvm("tvm", "0.22.dev0").state, State::limited);
  EXPECT_NE(tvm("tvm", "0.22.dev0").cause.find("load here, but are not tested"), std::string::npos);
  EXPECT_EQ(tvm("apache_tvm", "0.9.0").state, State::missing);
  EXPECT_EQ(tvm("apache_tvm", "0.9.0").remedy, "/p/python3 -m pip install 'apache-tvm==0.27.*'");
  for (const char *version : {"0.28.0", "0.270.0", "1.0"}) {
    EXPECT_EQ(tvm("apache_tvm", version).state, State::limited) << version;
    EXPECT_NE(tvm("apache_tvm", version).cause.find("is newer than this opdyno"), std::string::npos) << version;
  }
  for (const char *version : {"", "x", "0", "0.", ".27", "0.x27"})
    EXPECT_NE(tvm("apache_tvm", version).cause.find("cannot be told"), std::string::npos) << version;
  EXPECT_NE(tvm("mlc_ai_nightly", "0.27.0").cause.find("which release of TVM mlc-ai-nightly 0.27.0"),
            std::string::npos);
  EXPECT_EQ(answered(installed(""))[1].state, State::missing);
  EXPECT_NE(answered(installed("module\ttvm\t/src/python\n"))[1].cause.find("TVM in /src/python"), std::string::npos);
}

TEST(Doctor, KernelsOfTvmFfiAreTestedForOneRelease) {
  const auto ffi = [](const std::string &version) {
    return answered(installed("package\tapache_tvm_ffi\t" + version + "\n"))[2];
  };
  EXPECT_EQ(ffi("0.1.15").state, State::ok);
  EXPECT_EQ(ffi("0.1.14").state, State::limited);
  EXPECT_NE(ffi("0.1.14").cause.find("only that release is tested"), std::string::npos);
  EXPECT_NE(ffi("0.2.0").cause.find("nobody knows"), std::string::npos);
  EXPECT_EQ(answered(installed(""))[2].state, State::missing);
}

TEST(Doctor, WhatIsNoAnswerOfPythonIsToldSo) {
  for (const std::string text :
       {"", "python\t3.11\n", "end\n", "hello\n", "python\t3.11\nend\nend\n", "python\t3\t1\nend\n"})
    for (const Check &check : answered(text)) {
      EXPECT_EQ(check.state, State::limited) << text;
      EXPECT_EQ(check.cause, "/p/python3 does not answer as Python does") << text;
    }
  EXPECT_EQ(judge_python("/p/python3", {false, "", "did not end in time"}, {}, {})[1].cause,
            "/p/python3 did not end in time");
  EXPECT_EQ(judge_python("", {}, {}, {})[0].state, State::missing);
}

TEST(DoctorOfAMachine, TheContainerIsNamedByItsFiles) {
  const std::pair<Files, const char *> machines[] = {
      {{}, ""},
      {{{"/.dockerenv", ""}, {"/run/.containerenv", ""}}, "Docker"},
      {{{"/run/.containerenv", ""}, {"/proc/1/cgroup", "0::/lxc/a\n"}}, "Podman"},
      {{{"/proc/1/cgroup", "0::/docker/kubepods/a\n"}}, "Kubernetes"},
      {{{"/proc/1/cgroup", "0::/docker/a\n"}}, "docker"},
      {{{"/proc/1/cgroup", "0::/containerd/a\n"}}, "containerd"},
      {{{"/proc/1/cgroup", "0::/lxc/a\n"}, {"/run/systemd/container", "other"}}, "lxc"},
      {{{"/proc/1/cgroup", "0::/init.scope\n"}, {"/run/systemd/container", "systemd-nspawn\n"}}, "systemd-nspawn"},
  };
  for (const auto &[files, name] : machines) {
    const Machine machine(files);
    EXPECT_EQ(container_name(), name);
  }
}

TEST(DoctorOfAMachine, TheHypervisorIsNamedByItsFirmware) {
  const std::string flag = "flags : fpu hypervisor\n", vendor = kDmi + "sys_vendor", product = kDmi + "product_name";
  const std::pair<Files, std::string> machines[] = {
      {{}, ""},
      {{{vendor, "Dell Inc.\n"}, {product, "PowerEdge\n"}}, ""},
      {{{"/proc/cpuinfo", flag}}, "an unnamed hypervisor"},
      {{{"/proc/cpuinfo", flag}, {vendor, "Acme\n"}}, "Acme"},
      {{{"/proc/cpuinfo", flag}, {vendor, "Acme\n"}, {product, "Box\n"}}, "Acme Box"},
      {{{"/proc/cpuinfo", flag}, {product, "Box\n"}}, "an unnamed hypervisor"},
      {{{vendor, "Google\n"}, {product, "Google Compute Engine\n"}}, "Google Google Compute Engine"},
      {{{vendor, "QEMU\n"}}, "QEMU"},
      {{{vendor, "VMware, Inc.\n"}}, "VMware, Inc."},
      {{{vendor, "innotek GmbH\n"}}, "innotek GmbH"},
      {{{vendor, "Xen\n"}, {"/sys/hypervisor/type", "xen\n"}}, "xen"},
      {{{"/proc/device-tree/hypervisor", ""}}, "an unnamed hypervisor"},
      {{{vendor, "QEMU\n"}, {product, std::string(80, 'p')}},
       "QEMU " + std::string(37, 'p') + "…" + std::string(21, 'p')},
  };
  for (const auto &[files, name] : machines) {
    const Machine machine(files);
    EXPECT_EQ(hypervisor_name(), name);
  }
}

TEST(DoctorOfAMachine, ClocksAreToldWhole) {
  const std::string current = kClock + "current_clocksource", others = kClock + "available_clocksource";
  const std::string intel = "vendor_id : GenuineIntel\nflags : tsc", amd = "vendor_id : AuthenticAMD\nflags : tsc";
  const std::string slow = ", whose reading takes a microsecond or more, because the ";
  const std::string unsteady =
      "clock limited: the processor's time-stamp counter is not invariant, so each time stamp asks the "
      "kernel (tsc) and takes longer []";
  const std::pair<Files, std::string> machines[] = {
      {{}, "clock limited: the kernel does not tell its clock source []"},
      {{{current, "tsc\n"}}, "clock ok: the kernel's clock source is tsc []"},
      {{{current, "tsc\n"}, {"/proc/cpuinfo", intel + " nonstop_tsc\n"}},
       "clock ok: the kernel's clock source is tsc []"},
      {{{current, "tsc\n"}, {"/proc/cpuinfo", intel + "\n"}}, unsteady},
      {{{current, "tsc\n"}, {"/proc/cpuinfo", amd + "\n"}}, unsteady},
      {{{current, "jiffies\n"}, {others, "jiffies tsc\n"}},
       "clock limited: the kernel's clock source is jiffies" + slow +
           "processor's counter was not chosen [echo tsc | sudo tee " + current + "]"},
      {{{current, "refined-jiffies\n"}, {others, "refined-jiffies\n"}},
       "clock limited: the kernel's clock source is refined-jiffies" + slow +
           "kernel does not trust the processor's counter []"},
  };
  for (const auto &[files, text] : machines) {
    const Machine machine(files);
    EXPECT_EQ(shown(check_clock()), text);
  }
}

TEST(DoctorOfAMachine, GovernorsAreReadInTheOrderOfTheProcessors) {
  const auto governor_of = [](const std::string &processor) { return kCpu + processor + "/cpufreq/scaling_governor"; };
  const std::string mend = "[echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor]";
  {
    const Machine machine(Files{{governor_of("cpu10"), "schedutil\n"},
                                {governor_of("cpu9"), "powersave\n"},
                                {governor_of("cpu11"), "powersave\n"},
                                {governor_of("cpux"), "other\n"}});
    EXPECT_EQ(shown(check_governor()),
              "governor limited: the governor of the processors' clock is powersave, schedutil: times "
              "vary with the load before " +
                  mend);
    EXPECT_EQ(shown(MachineQuality::governor()), "governor powersave, schedutil (!)");
  }
  {
    const Machine machine(Files{{governor_of("cpu0"), "performance\n"}});
    EXPECT_EQ(shown(check_governor()), "governor ok: the governor of the processors' clock is performance []");
    EXPECT_EQ(shown(MachineQuality::governor()), "governor performance");
  }
  {
    const Machine machine;
    EXPECT_EQ(shown(check_governor()),
              "governor missing: the kernel does not control the processors' clock: there is no cpufreq []");
    EXPECT_EQ(shown(MachineQuality::governor()), "governor unknown");
  }
  const Machine machine(Files{{kDmi + "sys_vendor", "Xen\n"}});
  EXPECT_EQ(shown(check_governor()),
            "governor missing: the host of this virtual machine (Xen) controls the processors' clock []");
}

int processors_of_this_process() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

TEST(DoctorOfAMachine, AQuotaCountsIfItIsBelowTheProcessors) {
  const int count = processors_of_this_process();
  const auto quota_of = [](const std::string &line) {
    const Machine machine(Files{{kGroups + "cpu.max", line}});
    return shown(MachineQuality::quota());
  };
  EXPECT_EQ(quota_of(cat(count * 1000, " 1000\n")), cat("quota ", count, count == 1 ? " processor" : " processors"));
  EXPECT_EQ(quota_of("1500 3000\n"), "quota 0.5 processors (!)");
  EXPECT_EQ(quota_of("0 3000\n"), "quota 0 processors (!)");
  EXPECT_EQ(quota_of("max 3000\n"), "quota none");
  for (const char *wrong : {"", "1500\n", "1500 0\n", "-1 3000\n", "1500 3000 1\n", "x 3000\n", "1500 x\n"})
    EXPECT_EQ(quota_of(wrong), "quota unknown") << wrong;
  {
    const Machine machine(Files{{kGroups + "cpu.max", cat(count * 1000, " 1000\n")}});
    EXPECT_EQ(shown(check_quota()), cat("quota ok: the quota of ", count, count == 1 ? " processor" : " processors",
                                        " covers those that this process may use []"));
  }
  const std::pair<Files, const char *> containers[] = {
      {{}, "sudo systemctl set-property UNIT CPUQuota="},
      {{{"/.dockerenv", ""}}, "docker update --cpus=$(nproc) CONTAINER"},
      {{{"/proc/1/cgroup", "0::/kubepods\n"}}, "kubectl set resources deployment NAME --limits=cpu=$(nproc)"},
  };
  for (auto [files, remedy] : containers) {
    files[kGroups + "cpu.max"] = "500 1000\n";
    const Machine machine(files);
    EXPECT_EQ(shown(check_quota()),
              cat("quota limited: the control group gives 0.5 processors, fewer than this process may use: all "
                  "threads stop for the rest of each period [",
                  remedy, "]"));
  }
}

TEST(QualityOfAMachine, TurboAndLoadAreJudged) {
  const auto entry_of = [](size_t place, const Files &files) {
    const Machine machine(files);
    return shown(MachineQuality().entries()[place]);
  };
  const std::string intel = kCpu + "intel_pstate/no_turbo", boost = kCpu + "cpufreq/boost";
  EXPECT_EQ(entry_of(1, {{intel, "0\n"}, {boost, "0\n"}}), "turbo on (!)");
  EXPECT_EQ(entry_of(1, {{intel, "1\n"}, {boost, "1\n"}}), "turbo off");
  EXPECT_EQ(entry_of(1, {{boost, "1\n"}}), "turbo on (!)");
  EXPECT_EQ(entry_of(1, {{boost, "0\n"}}), "turbo off");
  EXPECT_EQ(entry_of(1, {}), "turbo unknown");
  const int count = processors_of_this_process();
  EXPECT_EQ(entry_of(4, {{"/proc/loadavg", cat(count, ".00 9.00 9.00 1/2 3\n")}}),
            cat("load ", count, ".00 on ", count, " processors"));
  EXPECT_EQ(entry_of(4, {{"/proc/loadavg", cat(count, ".01 0.00 0.00 1/2 3\n")}}),
            cat("load ", count, ".01 on ", count, " processors (!)"));
  EXPECT_EQ(entry_of(4, {{"/proc/loadavg", "much\n"}}), "load unknown");
  EXPECT_EQ(entry_of(4, {}), "load unknown");
}

TEST(QualityOfAMachine, StolenTimeIsAShareOfTheTimeBetween) {
  const auto steal_between = [](const std::string &begin, const std::string &end) {
    const Machine machine(Files{{"/proc/stat", begin}});
    const MachineQuality quality;
    machine.write("/proc/stat", end);
    return shown(quality.entries()[3]);
  };
  // 1000 ticks more, counted in eight fields. The guests' are among those of user and nice.
  const std::string begin = "cpu  10 20 30 40 50 60 70 80 900 900\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
  EXPECT_EQ(steal_between(begin, "cpu  110 220 330 240 100 110 160 90 0 0\n"), "steal 1.0 %");
  EXPECT_EQ(steal_between(begin, "cpu  110 220 330 240 100 110 159 91 0 0\n"), "steal 1.1 % (!)");
  EXPECT_EQ(steal_between(begin, begin), "steal unknown");
  for (const char *wrong : {"", "cpu  1 2 3 4 5 6 7\n", "cpu  1 2 3 4 5 6 7 x\n", "cpu0 11 20 30 40 50 60 70 80\n"})
    EXPECT_EQ(steal_between(begin, wrong), "steal unknown") << wrong;
  EXPECT_EQ(steal_between("cpu  10 20 30 40 50 60 70 80\n", "cpu  10 20 30 40 50 60 70 81\n"), "steal 100.0 % (!)");
}

TEST(QualityOfAMachine, TheCacheOfTheHighestLevelIsTheLast) {
  const auto index = [](int number, const char *part) { return cat(kCpu, "cpu0/cache/index", number, "/", part); };
  const Machine machine(Files{{index(0, "level"), "1\n"},
                              {index(0, "size"), "48K\n"},
                              {index(1, "level"), "3\n"},
                              {index(1, "size"), "32768K\n"},
                              {index(2, "level"), "2\n"},
                              {index(2, "size"), "2M\n"},
                              {index(3, "level"), "3\n"},
                              {index(3, "size"), "1M\n"},
                              {index(4, "level"), "5\n"},
                              {index(5, "size"), "64M\n"}});
  EXPECT_EQ(last_level_cache_bytes(), uint64_t{32} << 20) << "the first of its level; others lack a level or a size";
  machine.write(index(15, "level"), "4\n"), machine.write(index(15, "size"), "64M\n");
  machine.write(index(16, "level"), "6\n"), machine.write(index(16, "size"), "1G\n");
  EXPECT_EQ(last_level_cache_bytes(), uint64_t{64} << 20) << "sixteen are looked at";
}

TEST(QualityOfAMachine, APeakIsDoubtfulFromATenthOn) {
  opd_machine_peak peak{};
  peak.spread = 0.0999;
  EXPECT_EQ(noise_of(peak), "");
  peak.spread = 0.1;
  EXPECT_EQ(noise_of(peak),
            "the machine's peak was measured while it was busy (tries differ by 10 %): it may be higher, and "
            "percentages of it lower");
}

TEST(DoctorOfAMachine, FactsOfCountersAreThoseOfTheFiles) {
  const auto with_seccomp = [](const std::string &status) {
    const Machine machine(Files{{"/proc/self/status", status}});
    return counter_facts().has_seccomp;
  };
  EXPECT_FALSE(with_seccomp("Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t1\n"));
  EXPECT_TRUE(with_seccomp("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
  EXPECT_TRUE(with_seccomp("Name:\tx\nSeccomp:\t1\n"));
  EXPECT_FALSE(with_seccomp("Name:\tx\nSeccomp_filters:\t1\n"));
  const Machine machine(
      Files{{"/proc/sys/kernel/perf_event_paranoid", "3\n"}, {"/.dockerenv", ""}, {kDmi + "sys_vendor", "Xen\n"}});
  const CounterFacts facts = counter_facts();
  EXPECT_EQ(cat(facts.paranoid, " ", facts.container, " ", facts.hypervisor), "3 Docker Xen");
  machine.write("/proc/sys/kernel/perf_event_paranoid", "01234567890123456\n");
  EXPECT_EQ(counter_facts().paranoid, "0123456789…23456") << "16 places";
  const EnergyFacts energy = energy_facts();
  EXPECT_FALSE(energy.has_domain);
  EXPECT_EQ(energy.hypervisor, "Xen");
  machine.write("/sys/class/powercap/intel-rapl:0/energy_uj", "1\n");
  EXPECT_TRUE(energy_facts().has_domain);
}

// The system is asked in the same way: which events are allowed differs between machines.
int error_of_event(uint32_t type, uint64_t config, bool in_kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes, attributes.type = type, attributes.config = config;
  attributes.exclude_kernel = !in_kernel, attributes.exclude_hv = 1, attributes.disabled = 1;
  const long made = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (made < 0) return errno;
  close(static_cast<int>(made));
  return 0;
}

TEST(DoctorOfAMachine, EventsAreTriedInTheKernelAndOutsideOfIt) {
  const CounterFacts facts = counter_facts();
  EXPECT_EQ(facts.hardware_error, error_of_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false));
  EXPECT_EQ(facts.software_error, error_of_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false));
  EXPECT_EQ(facts.kernel_error, error_of_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true));
}

TEST(SystemFiles, AreReadAsFarAsTheyMatter) {
  const Machine machine(Files{{"/long", std::string(70000, 'x')},
                              {"/line", " a\t\nb"},
                              {"/even/n2", ""},
                              {"/even/n10", ""},
                              {"/even/n-1", ""},
                              {"/even/nx", ""},
                              {"/even/m3", ""}});
  EXPECT_EQ(system_text("/long").size(), 65536U);
  EXPECT_EQ(system_line("/long").size(), 4096U);
  EXPECT_EQ(system_line("/line"), "a");
  EXPECT_EQ(system_text("/none") + system_line("/none"), "");
  EXPECT_EQ(join(numbered_names("/even", "n"), " "), "n2 n10");
  EXPECT_EQ(numbered_names("/none", "n").size(), 0U);
  EXPECT_TRUE(has_system_file("/line"));
  EXPECT_FALSE(has_system_file("/none"));
  EXPECT_EQ(system_path("/line"), machine.root() + "/line");
  setenv("OPDYNO_SYSTEM_ROOT", "", 1);
  EXPECT_EQ(system_path("/line"), "/line");
}

TEST(Doctor, EachErrorOfACounterIsToldWhole) {
  const auto cause = [](int error, const char *paranoid, const char *container, const char *hypervisor) {
    CounterFacts facts = forbidden(error, paranoid);
    facts.container = container, facts.hypervisor = hypervisor;
    const std::string text = shown(judge_counters(facts)[1]);
    constexpr std::string_view begin = "kernel-events missing: context-switches and cpu-migrations cannot be counted: ";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    return text.substr(begin.size());
  };
  const std::string level = "kernel.perf_event_paranoid is 2, and users may count this up to 1";
  EXPECT_EQ(cause(EACCES, "2", "", ""), level + " [sudo sysctl kernel.perf_event_paranoid=1]");
  EXPECT_EQ(cause(EPERM, "2", "lxc", ""),
            level + "; the container's host must change it [sudo sysctl kernel.perf_event_paranoid=1]");
  EXPECT_EQ(cause(EPERM, "1", "lxc", ""),
            "the container (lxc) forbids perf_event_open; kernel.perf_event_paranoid is 1 [docker run --cap-add "
            "PERFMON IMAGE]");
  EXPECT_EQ(cause(EPERM, "", "lxc", ""),
            "the container (lxc) forbids perf_event_open [docker run --cap-add PERFMON IMAGE]");
  EXPECT_EQ(cause(EACCES, "1", "", ""),
            "a security module forbids perf_event_open; kernel.perf_event_paranoid is 1 []");
  EXPECT_EQ(cause(EACCES, "", "", ""), "a security module forbids perf_event_open []");
  EXPECT_EQ(cause(ENOSYS, "1", "", ""), "the kernel has no perf_event_open, or a sandbox hides it []");
  const std::string virtual_machine =
      "this virtual machine (Xen) has no PMU: its host must pass the processor's counters on "
      "(QEMU/KVM: -cpu host,pmu=on; in a cloud: a bare-metal instance) []";
  for (const int error : {ENOENT, ENODEV, EOPNOTSUPP}) {
    EXPECT_EQ(cause(error, "1", "", "Xen"), virtual_machine);
    EXPECT_EQ(cause(error, "1", "", ""), "the kernel knows no PMU of this processor []");
  }
  EXPECT_EQ(cause(EMFILE, "1", "", ""), "too many files are open [ulimit -n 4096]");
  EXPECT_EQ(cause(EINVAL, "1", "", ""), "Invalid argument []");
}

TEST(Doctor, CountersThatWorkInPartAreToldWhole) {
  CounterFacts facts;
  EXPECT_EQ(shown(judge_counters(facts)[0]),
            "counters ok: cycles, instructions, cache and branch misses can be counted []");
  EXPECT_EQ(shown(judge_counters(facts)[1]), "kernel-events ok: context switches and migrations can be counted []");
  facts.hardware_error = ENOENT;
  EXPECT_EQ(shown(judge_counters(facts)[0]),
            "counters limited: only task-clock and page-faults can be counted, no cycles: the kernel "
            "knows no PMU of this processor []");
  facts.software_error = ENOSYS;
  EXPECT_EQ(shown(judge_counters(facts)[0]),
            "counters missing: nothing can be counted: the kernel has no perf_event_open, or a sandbox hides it []");
}

TEST(Doctor, EnergyAndDevicesAreToldWhole) {
  EXPECT_EQ(shown(judge_energy({"", false, "Xen"})),
            "energy ok: the energy of the processor's packages can be read []");
  EXPECT_EQ(shown(judge_energy({"none", true, "Xen"})),
            "energy missing: none [sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj]");
  EXPECT_EQ(shown(judge_energy({"none", false, "Xen"})),
            "energy missing: virtual machines (here: Xen) are not told the energy of their processor []");
  EXPECT_EQ(shown(judge_energy({"none", false, ""})), "energy missing: none [sudo modprobe intel_rapl_msr]");
  const auto device = [](const char *kind, size_t count, bool has_gpu = true) {
    DeviceFacts facts;
    facts.kind = kind, facts.absence = "no driver", facts.has_nvidia_gpu = has_gpu;
    facts.devices.assign(count, "d");
    return shown(judge_device(facts));
  };
  EXPECT_EQ(device("opencl", 0), "opencl missing: no driver [sudo apt install ocl-icd-libopencl1 pocl-opencl-icd]");
  EXPECT_EQ(device("vulkan", 0, false), "vulkan missing: no driver [sudo apt install libvulkan1 mesa-vulkan-drivers]");
  EXPECT_EQ(device("cuda", 0), "cuda missing: no driver [sudo apt install nvidia-driver]");
  EXPECT_EQ(device("cuda", 0, false), "cuda missing: this machine shows no GPU of NVIDIA's: no driver []");
  EXPECT_EQ(device("cuda", 1, false), "cuda ok: d []");
  EXPECT_EQ(device("vulkan", 8), "vulkan ok: d; d; d; d; d; d; d; d []");
  EXPECT_EQ(device("vulkan", 9), "vulkan ok: d; d; d; d; d; d; d; d; and 1 more []");
}

TEST(Doctor, WhatPythonHasIsToldWhole) {
  const auto of_tvm = [](const std::string &packages) { return shown(answered(installed(packages))[1]); };
  const std::string install = " [/p/python3 -m pip install 'apache-tvm==0.27.*']";
  EXPECT_EQ(shown(answered(installed(""))[0]), "python ok: Python 3.11.2 is /p/python3 []");
  EXPECT_EQ(of_tvm(""),
            "tvm missing: Python 3.11.2 (/p/python3) has no TVM; running its artifacts needs none" + install);
  EXPECT_EQ(of_tvm("module\ttvm\t/src\n"),
            "tvm limited: TVM in /src does not tell its version; artifacts of 0.22 to 0.27 load here []");
  EXPECT_EQ(of_tvm("package\tmlc_ai_cpu\t0.27.0\n"),
            "tvm limited: which release of TVM mlc-ai-cpu 0.27.0 in /p/python3 is cannot be told; artifacts of 0.22 to "
            "0.27 load here" +
                install);
  EXPECT_EQ(
      of_tvm("package\ttvm\t0.25.1\n"),
      "tvm limited: artifacts of tvm 0.25.1 in /p/python3 load here, but are not tested; those of 0.26, 0.27 are []");
  EXPECT_EQ(
      of_tvm("package\ttvm\t0.21.9\n"),
      "tvm missing: artifacts of tvm 0.21.9 in /p/python3 are refused here; those of 0.22 to 0.27 load" + install);
  EXPECT_EQ(of_tvm("package\ttvm\t0.28\n"),
            "tvm limited: tvm 0.28 in /p/python3 is newer than this opdyno, so nobody knows whether its "
            "artifacts load; those of 0.22 to 0.27 do" +
                install);
  const auto of_ffi = [](const std::string &packages) { return shown(answered(installed(packages))[2]); };
  const std::string ffi = " [/p/python3 -m pip install apache-tvm-ffi==0.1.15]";
  EXPECT_EQ(of_ffi(""),
            "tvm-ffi missing: Python 3.11.2 (/p/python3) has no apache-tvm-ffi; running its kernels needs none" + ffi);
  EXPECT_EQ(of_ffi("package\ttvm_ffi\t0.1.15\n"),
            "tvm-ffi ok: kernels of apache-tvm-ffi 0.1.15 in /p/python3 load here, and "
            "libopdyno_tvmffi can replace its library []");
  EXPECT_EQ(of_ffi("package\tapache_tvm_ffi\t0.1.3\npackage\ttvm_ffi\t0.1.15\n"),
            "tvm-ffi limited: kernels of apache-tvm-ffi 0.1.3 in /p/python3 have the C interface of 0.1.15, but only "
            "that release is "
            "tested" +
                ffi);
  EXPECT_EQ(
      of_ffi("package\ttvm_ffi\t1.1.0\n"),
      "tvm-ffi limited: nobody knows whether kernels of apache-tvm-ffi 1.1.0 in /p/python3 load; those of 0.1 do" +
          ffi);
  const Checks none = judge_python("/p/a b", {true, installed(""), ""}, {}, {});
  EXPECT_EQ(shown(none[1]), "tvm missing: Python 3.11.2 (/p/a b) has no TVM; running its artifacts needs none []");
  EXPECT_EQ(none[2].remedy, "'/p/a b' -m pip install apache-tvm-ffi==0.1.15");
  EXPECT_EQ(shown(judge_python("/p/python3", {true, installed("package\ttvm\t0.9\n"), ""}, {}, {})[1]),
            "tvm limited: tvm 0.9 in /p/python3 is newer than this opdyno, so nobody knows whether its artifacts load; "
            "those of none do []");
  for (const Check &check : judge_python("", {}, {}, {})) {
    EXPECT_EQ(check.state, State::missing);
    EXPECT_EQ(check.cause, "there is no python3 in PATH");
    EXPECT_EQ(check.remedy, check.name == "python" ? "sudo apt install python3" : "");
  }
}

TEST(Doctor, TheActivePythonIsTheEnvironmentsOrTheFirstInPath) {
  const Machine places;
  const auto add = [&](const std::string &path, mode_t mode) {
    places.write(path, "#!/bin/sh\n");
    chmod((places.root() + path).c_str(), mode);
  };
  add("/venv/bin/python", 0755), add("/none/bin/other", 0755), add("/plain/python3", 0644), add("/a/python3", 0755);
  add("/b/python3", 0755);
  const auto found = [&](const std::string &environment, const std::string &path) {
    const std::string before = getenv("PATH");
    if (environment.empty()) unsetenv("VIRTUAL_ENV");
    else setenv("VIRTUAL_ENV", (environment == "-" ? "" : places.root() + environment).c_str(), 1);
    setenv("PATH", path.c_str(), 1);
    const std::string python = active_python();
    setenv("PATH", before.c_str(), 1);
    unsetenv("VIRTUAL_ENV");
    return python.starts_with(places.root()) ? python.substr(places.root().size()) : python;
  };
  const std::string root = places.root();
  EXPECT_EQ(found("/venv", root + "/a"), "/venv/bin/python");
  EXPECT_EQ(found("/none", root + "/a:" + root + "/b"), "/a/python3");
  EXPECT_EQ(found("-", root + "/plain:" + root + "/b:" + root + "/a"), "/b/python3")
      << "a file that cannot be executed is none";
  EXPECT_EQ(found("", "::relative:" + root + "/c:" + root + "/b"), "/b/python3");
  EXPECT_EQ(found("", ""), "");
  EXPECT_EQ(found("", root + "/c:"), "");
}

TEST(AProbe, AnswersWithItsTextOrWithWhatEndedIt) {
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(60); };
  const auto answer = [&](Probe probe) {
    const Probe::Answer given = probe.wait(soon());
    return cat(given.is_whole ? "whole: " : "", given.text.size() > 100 ? cat(given.text.size()) : given.text,
               given.why);
  };
  const auto shell = [&](const char *script) { return answer(Probe::of_program({"/bin/sh", "-c", script})); };
  EXPECT_EQ(answer(Probe::of_function([] { return std::string("text"); })), "whole: text");
  EXPECT_EQ(answer(Probe::of_function([] { return std::string(65536, 'x'); })), "whole: 65536");
  EXPECT_TRUE(answer(Probe::of_function([] { return std::string(65537, 'x'); })).ends_with("wrote more than 64 KiB"));
  EXPECT_EQ(answer(Probe::of_function([]() -> std::string { throw std::runtime_error("x"); })),
            "ended with exit code 1");
  EXPECT_EQ(shell("echo one; echo no >&2; echo two"), "whole: one\ntwo\n");
  EXPECT_EQ(shell("printf text; exit 3"), "textended with exit code 3");
  EXPECT_EQ(shell("kill -KILL $$"), "ended by signal 9 (Killed)");
  EXPECT_EQ(shell("read line && echo read || echo end"), "whole: end\n") << "there is nothing to read";
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(answer(Probe::of_function([] {
              return std::string(write(STDOUT_FILENO, "out", 3) == 3 && write(STDERR_FILENO, "err", 3) == 3 ? "wrote"
                                                                                                            : "failed");
            })),
            "whole: wrote");
  EXPECT_EQ(shell("echo err >&2"), "whole: ");
  EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(answer(Probe::of_program({"/none/program"})), "ended with exit code 127");
  Probe late = Probe::of_program({"/bin/sh", "-c", "exec sleep 1000"});
  EXPECT_EQ(late.wait(std::chrono::steady_clock::now()).why, "did not end in time");
  Probe closed = Probe::of_program({"/bin/sh", "-c", "exec >&-; exec sleep 1000"});
  EXPECT_EQ(closed.wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(500)).why, "did not end in time");
}

}  // namespace
}  // namespace opd::cli
