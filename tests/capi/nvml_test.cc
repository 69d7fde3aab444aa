// The collector of NVIDIA's GPUs, on an NVML of the test's own (support/nvml) and the recording CUDA driver.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/collector_test.h"
#include "support/nvml/values.h"

using namespace opdyno_test;

namespace {

NvmlValues &nvml() {
  static NvmlValues *const values = [] {
    void *const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    return reinterpret_cast<NvmlValues *(*)()>(dlsym(library, "nvml_values"))();
  }();
  return *values;
}
Collector nvml_collector() { return Collector::builtin(OPD_COLLECTOR_NVML); }

// main(x) calls shape_of once, on the CPU.
Vm vm_of_one_call(DLDevice device = {kDLCPU, 0}) {
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = &device;
  options.num_devices = 1;
  return Vm(Executable::assemble(".func main(x) {\n  %s = call vm.builtin.shape_of(%x)\n  ret %s\n}\n").to_module(),
            &options);
}
// A reading is as old as a millisecond.
void wait_for_fresh_values() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

std::string message_in_child(const char *variable) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (variable) setenv(variable, "1", 1);
    Collector made;
    opd_error *const error = opd_collector_create_builtin(OPD_COLLECTOR_NVML, nullptr, made.out());
    const std::string text = error ? opd_error_message(error) : "made";
    _exit(write(ends[1], text.data(), text.size()) < 0);
  }
  close(ends[1]);
  std::string text(500, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(read(ends[0], text.data(), text.size()), 0)));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

}  // namespace

// First, while this process has not opened NVML.
TEST(Nvml, IsRefusedWithTheReason) {
  EXPECT_EQ(message_in_child("NVML_WITHOUT_DRIVER"),
            "GPUs cannot be observed by NVML: libnvidia-ml.so.1 is here, but nvmlInit returned Driver Not Loaded (9)");
  EXPECT_EQ(message_in_child("NVML_WITHOUT_GPU"),
            "GPUs cannot be observed by NVML: NVIDIA's driver is here, but it has no GPU");
  EXPECT_EQ(message_in_child(nullptr), "made");
}

TEST(Nvml, ReportsAllGpusInARunWithoutCuda) {
  const Vm vm = vm_of_one_call();
  const MainProfile profile(vm, {nvml_collector()}, floats({1}));
  EXPECT_EQ(profile.number(0, "Power draw of GPU 0 (W)"), 71.5);
  EXPECT_EQ(profile.number(0, "Temperature of GPU 0 (C)"), 41);
  EXPECT_EQ(profile.number(0, "SM clock of GPU 0 (MHz)"), 1410);
  EXPECT_EQ(profile.number(0, "Memory clock of GPU 0 (MHz)"), 1593);
  EXPECT_EQ(profile.number(0, "Utilization of GPU 0 (%)"), 12);
  EXPECT_EQ(profile.number(0, "Memory utilization of GPU 0 (%)"), 3);
  EXPECT_EQ(profile.count(0, "Energy of GPU 0 (uJ)"), 0);
  EXPECT_EQ(profile.number(0, "Power draw of GPU 1 (W)"), 250.25);
  EXPECT_EQ(profile.device_number("cpu0", "SM clock of GPU 1 (MHz)"), 1980) << "also of the whole run";
  EXPECT_FALSE(profile.has_configuration("Collector note: nvml"));
}

// CUDA's device 0 is NVML's GPU 1: their places on the bus are in the opposite order.
TEST(Nvml, ReportsTheGpuOfACudaDevice) {
  const Vm vm = vm_of_one_call({kDLCUDA, 0});
  const MainProfile profile(vm, {nvml_collector()}, floats({1}));
  EXPECT_EQ(profile.device_number("cuda0", "Power draw of GPU 1 (W)"), 250.25);
  EXPECT_EQ(profile.columns().count("Power draw of GPU 0 (W)"), 0u);
}

TEST(Nvml, ServesOneRunAfterAnother) {
  const Collector collector = nvml_collector();
  const Vm on_gpu = vm_of_one_call({kDLCUDA, 0}), on_cpu = vm_of_one_call();
  EXPECT_EQ(MainProfile(on_gpu, {collector}, floats({1})).columns().count("Power draw of GPU 0 (W)"), 0u);
  const MainProfile profile(on_cpu, {collector}, floats({1}));
  EXPECT_EQ(profile.number(0, "Power draw of GPU 0 (W)"), 71.5) << "of a run without CUDA";
  EXPECT_EQ(profile.number(0, "Power draw of GPU 1 (W)"), 250.25);
}

TEST(Nvml, AddsTheEnergyThatWasUsed) {
  const Collector collector = nvml_collector();
  std::vector<opd_collector *> handles{collector.get()};
  const Function spend = Function::of([](const opd_value *, int32_t) {
    wait_for_fresh_values();
    nvml().gpus[0].energy_mj += 25;
    wait_for_fresh_values();
  });
  Function measured;
  check(opd_function_profile(spend.get(), {kDLCPU, 0}, handles.data(), 1, 0, measured.out()));
  const Value metrics = measured();
  const std::string text = opdyno::to_string(metrics.view());
  EXPECT_NE(text.find("\"Energy of GPU 0 (uJ)\": [1, 25000]"), std::string::npos) << text;
  EXPECT_NE(text.find("\"Energy of GPU 1 (uJ)\": [1, 0]"), std::string::npos) << text;
}

TEST(Nvml, LeavesOutValuesThatAGpuDoesNotReport) {
  const uint32_t before = nvml().gpus[1].power_mw.exchange(NvmlValues::kNotSupported);
  const uint32_t degrees = nvml().gpus[0].degrees.exchange(NvmlValues::kNotSupported);
  const uint64_t energy = nvml().gpus[0].energy_mj.exchange(NvmlValues::kNotSupported);
  const Vm vm = vm_of_one_call();
  const Collector collector = nvml_collector();
  { const MainProfile another(vm, {collector}, floats({1})); }
  const MainProfile profile(vm, {collector}, floats({1}));
  nvml().gpus[1].power_mw = before;
  nvml().gpus[0].degrees = degrees;
  nvml().gpus[0].energy_mj = energy;
  EXPECT_EQ(profile.columns().count("Power draw of GPU 1 (W)"), 0u);
  EXPECT_EQ(profile.columns().count("Temperature of GPU 1 (C)"), 1u);
  EXPECT_EQ(profile.columns().count("Temperature of GPU 0 (C)"), 0u);
  EXPECT_EQ(profile.columns().count("Energy of GPU 0 (uJ)"), 0u);
  EXPECT_EQ(profile.configured("Collector note: nvml"),
            "NVML does not report on this machine: Temperature of GPU 0 (C), Energy of GPU 0 (uJ), Power draw of GPU 1 "
            "(W)");
}

TEST(Nvml, IsAnErrorOfTheCollectorIfAGpuIsLost) {
  const Vm vm = vm_of_one_call();
  const Collector collector = nvml_collector();
  start_profile(vm, {collector});
  wait_for_fresh_values();
  nvml().failure = 15;
  vm.call("main", floats({1}));
  nvml().failure = 0;
  Report report;
  check(opd_vm_profile_stop(vm.get(), report.out(), nullptr));
  EXPECT_EQ(text_value(configuration_value(report, "Collector error: nvml")),
            "Power draw of GPU 0 (W) can no longer be read: NVML returned GPU is lost (15)");
}

TEST(Nvml, IsAskedOnceAMillisecondAtMost) {
  std::string program = ".func main(x) {\n";
  for (int i = 0; i < 500; ++i) program += "  %s = call vm.builtin.shape_of(%x)\n";
  const Vm vm(Executable::assemble(program + "  ret %s\n}\n").to_module());
  const int before = nvml().readings;
  const auto began = std::chrono::steady_clock::now();
  const MainProfile profile(vm, {nvml_collector()}, floats({1}));
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  EXPECT_EQ(profile.rows(), 500u);
  // Two GPUs give seven values by eight readings each.
  EXPECT_LE(nvml().readings - before, (static_cast<int>(ms.count()) + 2) * 16);
}

TEST(Nvml, HasCountersInTraces) {
  const Vm vm = vm_of_one_call();
  const opdyno::Profiler profiler;
  profiler.start();
  nvml().gpus[1].sm_mhz = 345;
  start_profile(vm, {nvml_collector()});
  wait_for_fresh_values();
  vm.call("main", floats({1}));
  Report report;
  check(opd_vm_profile_stop(vm.get(), report.out(), nullptr));
  nvml().gpus[1].sm_mhz = 1980;
  const opdyno::Trace trace = profiler.stop();
  const std::string chrome = trace.chrome();
  for (const char *counter : {R"#("ph":"C","name":"Power draw of GPU 0 (W)")#", R"#("args":{"value":71.5}})#",
                              R"#("ph":"C","name":"SM clock of GPU 1 (MHz)")#", R"#("args":{"value":345}})#"})
    EXPECT_NE(chrome.find(counter), std::string::npos) << counter << "\n" << chrome;
  EXPECT_EQ(chrome.find("Energy of GPU"), std::string::npos) << "a sum that began before the recording";
  EXPECT_NE(trace.write(OPD_TRACE_PERFETTO).find("Memory utilization of GPU 1 (%)"), std::string::npos);
}

TEST(Nvml, TakesNoEvents) {
  auto options = opdyno::defaults(opd_counter_options_init);
  const char *const events[] = {"power"};
  options.events = events, options.num_events = 1;
  Collector made;
  expect_error(opd_collector_create_builtin(OPD_COLLECTOR_NVML, &options, made.out()), OPD_INVALID_ARGUMENT,
               "the collector nvml takes no events");
}

TEST(Nvml, DoesNotWorkInAChildOfFork) {
  const Collector collector = nvml_collector();
  const Vm vm = vm_of_one_call();
  const pid_t child = fork();
  if (child == 0) {
    Report report;
    const std::vector<opd_collector *> handles{collector.get()};
    const opd_profile_options options = profile_options(handles);
    const Tensor x = floats({1});
    const opd_value argument = arg(x);
    if (opd_vm_profile(vm.get(), "main", &argument, 1, nullptr, &options, report.out(), nullptr)) _exit(2);
    const std::string text = text_value(configuration_value(report, "Collector error: nvml"));
    _exit(text.find("NVML cannot be used in a child of fork()") == std::string::npos);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}
