// What `opdyno doctor` says of machines that are not at hand: it decides by facts alone.
#include <gtest/gtest.h>

#include <cerrno>

#include "doctor_machine.h"

namespace opd::cli {
namespace {

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

TEST(Doctor, NamesTheParanoidLevelThatAllowsCounting) {
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

TEST(Doctor, AForbiddingContainerGetsARemedy) {
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

TEST(Doctor, AMissingDriverHasARemedyIfThereIsAGpu) {
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

TEST(Doctor, ReleasesOfTvmAreJudgedByWhetherTheirArtifactsLoad) {
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
  EXPECT_NE(ffi("0.2.0").cause.find("it is not known"), std::string::npos);
  EXPECT_EQ(answered(installed(""))[2].state, State::missing);
}

TEST(Doctor, ReportsMalformedAnswersOfPython) {
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

TEST(Doctor, EachErrorOfACounterHasItsCauseAndRemedy) {
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

TEST(Doctor, PartlyWorkingCountersAreDescribed) {
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

TEST(Doctor, EnergyAndDevicesHaveCausesAndRemedies) {
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

TEST(Doctor, ReportsTheTvmPackagesOfPython) {
  const auto of_tvm = [](const std::string &packages) { return shown(answered(installed(packages))[1]); };
  const std::string install = " [/p/python3 -m pip install 'apache-tvm==0.27.*']";
  EXPECT_EQ(shown(answered(installed(""))[0]), "python ok: Python 3.11.2 is /p/python3 []");
  EXPECT_EQ(of_tvm(""),
            "tvm missing: Python 3.11.2 (/p/python3) has no TVM; running its artifacts needs none" + install);
  EXPECT_EQ(of_tvm("module\ttvm\t/src\n"),
            "tvm limited: TVM in /src does not state its version; artifacts of 0.22 to 0.27 load here []");
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
            "tvm limited: tvm 0.28 in /p/python3 is newer than this opdyno, so it is not known whether its "
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
      "tvm-ffi limited: it is not known whether kernels of apache-tvm-ffi 1.1.0 in /p/python3 load; those of 0.1 do" +
          ffi);
  const Checks none = judge_python("/p/a b", {true, installed(""), ""}, {}, {});
  EXPECT_EQ(shown(none[1]), "tvm missing: Python 3.11.2 (/p/a b) has no TVM; running its artifacts needs none []");
  EXPECT_EQ(none[2].remedy, "'/p/a b' -m pip install apache-tvm-ffi==0.1.15");
  EXPECT_EQ(
      shown(judge_python("/p/python3", {true, installed("package\ttvm\t0.9\n"), ""}, {}, {})[1]),
      "tvm limited: tvm 0.9 in /p/python3 is newer than this opdyno, so it is not known whether its artifacts load; "
      "those of none do []");
  for (const Check &check : judge_python("", {}, {}, {})) {
    EXPECT_EQ(check.state, State::missing);
    EXPECT_EQ(check.cause, "there is no python3 in PATH");
    EXPECT_EQ(check.remedy, check.name == "python" ? "sudo apt install python3" : "");
  }
}

}  // namespace
}  // namespace opd::cli
