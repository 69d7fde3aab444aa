// What is read of a machine and of what runs on it: its files of /proc and /sys, its events, its Python, programs.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "cli/bench/machine_quality.h"
#include "cli/support/file.h"
#include "doctor_machine.h"

namespace opd::cli {
namespace {

const std::string kCpu = "/sys/devices/system/cpu/", kClock = "/sys/devices/system/clocksource/clocksource0/";
const std::string kDmi = "/sys/class/dmi/id/", kGroups = "/sys/fs/cgroup/";

// "load 1.00 on 4 processors (!)"
std::string shown_entry(const MachineQuality::Entry &entry) {
  return cat(entry.name, " ", entry.value, entry.is_doubtful ? " (!)" : "");
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
    const CopiedMachine machine(files);
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
    const CopiedMachine machine(files);
    EXPECT_EQ(hypervisor_name(), name);
  }
}

TEST(DoctorOfAMachine, ClocksHaveTheirCauses) {
  const std::string current = kClock + "current_clocksource", others = kClock + "available_clocksource";
  const std::string intel = "vendor_id : GenuineIntel\nflags : tsc", amd = "vendor_id : AuthenticAMD\nflags : tsc";
  const std::string slow = ", whose reading takes a microsecond or more, because the ";
  const std::string unsteady =
      "clock limited: the processor's time-stamp counter is not invariant, so each time stamp asks the "
      "kernel (tsc) and takes longer []";
  const std::pair<Files, std::string> machines[] = {
      {{}, "clock limited: the kernel does not report its clock source []"},
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
    const CopiedMachine machine(files);
    EXPECT_EQ(shown(check_clock()), text);
  }
}

TEST(DoctorOfAMachine, GovernorsAreReadInTheOrderOfTheProcessors) {
  const auto governor_of = [](const std::string &processor) { return kCpu + processor + "/cpufreq/scaling_governor"; };
  const std::string mend = "[echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor]";
  {
    const CopiedMachine machine(Files{{governor_of("cpu10"), "schedutil\n"},
                                      {governor_of("cpu9"), "powersave\n"},
                                      {governor_of("cpu11"), "powersave\n"},
                                      {governor_of("cpux"), "other\n"}});
    EXPECT_EQ(shown(check_governor()),
              "governor limited: the governor of the processors' clock is powersave, schedutil: times "
              "vary with the load before " +
                  mend);
    EXPECT_EQ(shown_entry(MachineQuality::governor()), "governor powersave, schedutil (!)");
  }
  {
    const CopiedMachine machine(Files{{governor_of("cpu0"), "performance\n"}});
    EXPECT_EQ(shown(check_governor()), "governor ok: the governor of the processors' clock is performance []");
    EXPECT_EQ(shown_entry(MachineQuality::governor()), "governor performance");
  }
  {
    const CopiedMachine machine;
    EXPECT_EQ(shown(check_governor()),
              "governor missing: the kernel does not control the processors' clock: there is no cpufreq []");
    EXPECT_EQ(shown_entry(MachineQuality::governor()), "governor unknown");
  }
  const CopiedMachine machine(Files{{kDmi + "sys_vendor", "Xen\n"}});
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
    const CopiedMachine machine(Files{{kGroups + "cpu.max", line}});
    return shown_entry(MachineQuality::quota());
  };
  EXPECT_EQ(quota_of(cat(count * 1000, " 1000\n")), cat("quota ", count, count == 1 ? " processor" : " processors"));
  EXPECT_EQ(quota_of("1500 3000\n"), "quota 0.5 processors (!)");
  EXPECT_EQ(quota_of("0 3000\n"), "quota 0 processors (!)");
  EXPECT_EQ(quota_of("max 3000\n"), "quota none");
  for (const char *wrong : {"", "1500\n", "1500 0\n", "-1 3000\n", "1500 3000 1\n", "x 3000\n", "1500 x\n"})
    EXPECT_EQ(quota_of(wrong), "quota unknown") << wrong;
  {
    const CopiedMachine machine(Files{{kGroups + "cpu.max", cat(count * 1000, " 1000\n")}});
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
    const CopiedMachine machine(files);
    EXPECT_EQ(shown(check_quota()),
              cat("quota limited: the control group allows 0.5 processors, fewer than this process may use: all "
                  "threads stop for the rest of each period [",
                  remedy, "]"));
  }
}

TEST(QualityOfAMachine, TurboAndLoadAreJudged) {
  const auto entry_of = [](size_t place, const Files &files) {
    const CopiedMachine machine(files);
    return shown_entry(MachineQuality().entries()[place]);
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
    const CopiedMachine machine(Files{{"/proc/stat", begin}});
    const MachineQuality quality;
    machine.write("/proc/stat", end);
    return shown_entry(quality.entries()[3]);
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
  const CopiedMachine machine(Files{{index(0, "level"), "1\n"},
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
            "other programs were running while the peak was measured (tries differ by 10 %), so 'Of peak' may be too "
            "high");
}

TEST(DoctorOfAMachine, ReadsCounterFactsFromSystemFiles) {
  const auto with_seccomp = [](const std::string &status) {
    const CopiedMachine machine(Files{{"/proc/self/status", status}});
    return counter_facts().has_seccomp;
  };
  EXPECT_FALSE(with_seccomp("Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t1\n"));
  EXPECT_TRUE(with_seccomp("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
  EXPECT_TRUE(with_seccomp("Name:\tx\nSeccomp:\t1\n"));
  EXPECT_FALSE(with_seccomp("Name:\tx\nSeccomp_filters:\t1\n"));
  const CopiedMachine machine(
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
int perf_event_error(uint32_t type, uint64_t config, bool in_kernel) {
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
  EXPECT_EQ(facts.hardware_error, perf_event_error(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false));
  EXPECT_EQ(facts.software_error, perf_event_error(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false));
  EXPECT_EQ(facts.kernel_error, perf_event_error(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true));
}

TEST(SystemFiles, AreReadUpToALimit) {
  const CopiedMachine machine(Files{{"/long", std::string(70000, 'x')},
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

TEST(DoctorOfAMachine, TheActivePythonIsTheEnvironmentsOrTheFirstInPath) {
  const CopiedMachine places;
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

TEST(AProbe, ReturnsItsTextOrTheReasonOfItsEnd) {
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
