// What `opdyno doctor` says of machines that are not at hand: it decides by facts alone.
#include "../../src/cli/doctor.h"

#include <gtest/gtest.h>

#include <cerrno>

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

}  // namespace
}  // namespace opd::cli
