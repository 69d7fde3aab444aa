// Programs that use the tested device together with other ones: the host, other kinds, those of another machine. And
// that who measures a device waits for it.
#include <opdyno/rpc.hpp>
#include <optional>

#include "conformance/faults.h"
#include "conformance/tested_device.h"
#include "support/collector_test.h"
#include "support/report_test.h"
#include "support/rpc_servers.h"

using namespace opdyno_test;

namespace {

constexpr auto kLatency = std::chrono::milliseconds(5);

// The work of the simulated device lasts that long while this lives. Others take the time that they need.
class SlowDevice {
 public:
  SlowDevice() { set(kLatency); }
  ~SlowDevice() { set({}); }

 private:
  static void set(std::chrono::microseconds latency) {
    if (is_simulated()) SimulatedDevice::get().set_latency(latency);
  }
};

Vm vm_on_all(const std::vector<DLDevice> &devices, const std::string &program, const Module &kernels) {
  const Module module = Executable::assemble(program).to_module();
  module.add_import(kernels);
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = devices.data();
  options.num_devices = static_cast<int32_t>(devices.size());
  return Vm(module, &options);
}

// main(x) = ((x * 3 + 2) + 1) * 2 + 1. The addition of 1 is the host's, all else the device's. `there` and `here` are
// their numbers among the VM's devices.
std::string program_on(DLDevice device, int there, int here) {
  const auto tensor_of = [](const std::string &name, int index) {
    return "  %s" + name + " = call vm.builtin.alloc_storage(%vm, shape(16), " + std::to_string(index) +
           ", dtype(uint8), \"global\")\n  %" + name + " = call vm.builtin.alloc_tensor(%s" + name +
           ", 0, shape(4), dtype(float32))\n";
  };
  return ".func main(x) {\n" + tensor_of("a", there) + "  call scale(%x, %a, 3, 2, 1, 4)\n" +
         "  %b = call vm.builtin.to_device(%a, 1, 0)\n" + tensor_of("c", here) +
         "  call test.several.add_one(%b, %c)\n  %d = call vm.builtin.to_device(%c, " +
         std::to_string(device.device_type) + ", 0)\n" + tensor_of("e", there) +
         "  call scale(%d, %e, 2, 1, 1, 4)\n  ret %e\n}\n";
}

}  // namespace

TEST_F(ADevice, ComputesWithTheHostInOneProgram) {
  const Module kernels = kernels_or_none("several");
  if (!kernels) return end_without_kernels();
  define("test.several.add_one", [](const opd_value *args, int32_t, opd_value *) {
    const auto numbers = [](const opd_value &value) {
      const DLTensor *tensor = opd_tensor_view(reinterpret_cast<opd_tensor *>(value.u.object));
      if (tensor->device.device_type != kDLCPU) throw std::runtime_error("a tensor is not on the host");
      return static_cast<float *>(tensor->data);
    };
    for (int i = 0; i < 4; ++i) numbers(args[1])[i] = numbers(args[0])[i] + 1;
  });
  const SlowDevice slow;  // the copy to the host has to wait
  const Tensor x = on(device(), {1, 2, 3, 4});
  for (const bool device_is_first : {true, false}) {
    const std::vector<DLDevice> devices =
        device_is_first ? std::vector<DLDevice>{device(), {kDLCPU, 0}} : std::vector<DLDevice>{{kDLCPU, 0}, device()};
    const Vm vm = vm_on_all(devices, program_on(device(), device_is_first ? 0 : 1, device_is_first ? 1 : 0), kernels);
    for (int round = 0; round < 3; ++round) {
      const Tensor result = Tensor::of(vm.call("main", x));
      EXPECT_EQ(result.view().device.device_type, device().device_type);
      EXPECT_EQ(read(result), (std::vector<float>{13, 19, 25, 31})) << "((x * 3 + 2) + 1) * 2 + 1";
    }
  }
}

TEST_F(ADevice, CopiesToAllOtherKindsThatAreHere) {
  const Function to_device = Function::global("vm.builtin.to_device");
  std::vector<DLDevice> others = {{kDLCPU, 1}, SimulatedDevice::get().device(1)};
  for (const DLDeviceType kind : {kDLOpenCL, kDLVulkan, kDLCUDA})
    if (opdyno::device_attr({kind, 0}, OPD_ATTR_EXIST).view().u.int64) others.push_back({kind, 0});
  const Tensor first = on(device(), counted(1000));
  for (const DLDevice other : others) {
    const Tensor there = Tensor::of(to_device(first, int{other.device_type}, other.device_id));
    EXPECT_EQ(there.view().device.device_type, other.device_type);
    EXPECT_EQ(there.view().device.device_id, other.device_id);
    const Tensor back = Tensor::of(to_device(there, int{device().device_type}, device().device_id));
    EXPECT_EQ(back.view().device.device_type, device().device_type);
    EXPECT_EQ(read(back), counted(1000)) << "over " << opdyno::to_string(other);
    EXPECT_EQ(read(there), counted(1000)) << opdyno::to_string(other);
  }
}

TEST_F(ADevice, IsWaitedForByTheEvaluator) {
  const Module kernels = kernels_or_none("evaluator");
  if (!kernels) return end_without_kernels();
  const Vm vm = vm_on(device(), kernels);
  const Tensor x = on(device(), {1, 2, 3, 4});
  auto options = opdyno::defaults(opd_evaluator_options_init);
  options.device = device(), options.number = 3, options.repeat = 2;
  const SlowDevice slow;
  for (const int64_t concurrency : {1, 2}) {
    options.concurrency = concurrency;
    const opdyno::Benchmark times = opdyno::Evaluator(vm.function("main"), &options)(x);
    ASSERT_EQ(times.seconds().size(), static_cast<size_t>(2 * concurrency));
    const double least = is_simulated() ? 2 * std::chrono::duration<double>(kLatency).count() : 0;  // of two kernels
    for (const double seconds : times.seconds()) EXPECT_GE(seconds, least);
    EXPECT_EQ(times.stats().is_device_time, has_streams()) << "all devices but the CPU have times";
  }
}

// On both clocks, work that waits cannot take less than the wait, nor more than the whole measurement. The clocks may
// differ by a hundredth.
TEST_F(ADevice, IsTimedByItsOwnClockInTheEvaluator) {
  const Module kernels = kernels_or_none("timed");
  if (!kernels) return end_without_kernels();
  const Vm vm = vm_on(device(), kernels);
  const Function main = vm.function("main");
  constexpr std::chrono::milliseconds kWait{20};
  const Function waits = make_function([&](const opd_value *args, int32_t, opd_value *) {
    opdyno::sync(device());  // the timer has begun
    std::this_thread::sleep_for(kWait);
    main(Tensor::of(args[0]));
  });
  const Tensor x = on(device(), {1, 2, 3, 4});
  auto options = opdyno::defaults(opd_evaluator_options_init);
  options.device = device(), options.number = 2, options.repeat = 2;
  std::optional<opdyno::Stream> stream;
  if (has_streams()) stream.emplace(device());
  for (void *const current : {static_cast<void *>(nullptr), stream ? stream->get() : nullptr}) {
    const CurrentStream here(device(), current);
    const auto begin = std::chrono::steady_clock::now();
    const opdyno::Benchmark times = opdyno::Evaluator(waits, &options)(x);
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
    double sum = 0;
    for (const double seconds : times.seconds()) {
      EXPECT_GE(seconds, 0.99 * std::chrono::duration<double>(kWait).count());
      sum += 2 * seconds;
    }
    EXPECT_LE(sum, 1.01 * whole.count());
  }
}

// A launch of the kernel has one block of four threads.
TEST_F(ADevice, CountsTheThreadsOfItsKernelsOrSaysWhyNot) {
  const Module kernels = kernels_or_none("counted");
  if (!kernels) return end_without_kernels();
  Collector collector;
  if (opd_error *const error = opd_collector_create_builtin(OPD_COLLECTOR_DEVICE, nullptr, collector.out())) {
    expect_error(error, OPD_UNSUPPORTED, "no device here has counters that opdyno reads; vulkan: ");
    GTEST_SKIP() << "there is no device with counters";
  }
  const MainProfile profile(vm_on(device(), kernels), {collector}, on(device(), {1, 2, 3, 4}));
  const bool counts = device().device_type == kDLVulkan;
  EXPECT_EQ(profile.columns().contains("Compute shader invocations"), counts);
  EXPECT_EQ(profile.has_configuration("Collector note: device"), !counts);
  if (!counts) return;
  size_t launches = 0;
  for (size_t row = 0; row < profile.rows(); ++row)
    if (profile.text(row, "Name") == "scale") {
      ++launches;
      EXPECT_EQ(profile.count(row, "Compute shader invocations"), 4);
    }
  EXPECT_EQ(launches, 2u);
  EXPECT_EQ(profile.device("vulkan0", "Compute shader invocations"), 8);
}

// By CUPTI, which needs NVIDIA's driver and a GPU (tools/gpu-check). conformance.recorded_cupti has it without them.
TEST_F(ADevice, HasItsWorkFromCupti) {
  if (device().device_type != kDLCUDA) return;
  if (!std::getenv("OPDYNO_TEST_REAL_CUDA")) GTEST_SKIP() << "OPDYNO_TEST_REAL_CUDA is not set: no GPU is tested";
  const Vm vm = vm_on(device(), kernels_or_none("cupti"));
  const Tensor x = on(device(), {1, 2, 3, 4});
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.device_work = 2;
  const opdyno::Profiler profiler(&options);
  profiler.start();
  vm.call("main", x);
  const Report averages = profiler.stop().averages();
  double kernels_seen = 0;
  for (size_t row = 0; row < averages.count(OPD_REPORT_CALLS); ++row)
    if (text_value(call_value(averages, row, "Kind")) == "device" &&
        text_value(call_value(averages, row, "Name")) == "scale")
      kernels_seen += number_of(call_value(averages, row, "Count"));
  EXPECT_EQ(kernels_seen, 2) << averages.write(OPD_REPORT_CSV);
}

// By a server of this library, on a thread.
TEST_F(ADevice, IsUsedFromAnotherMachine) {
  const Module kernels = kernels_or_none("remote");
  if (!kernels) return end_without_kernels();
  const Module program = Executable::assemble(R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call scale(%x, %a, 3, 2, 1, 4)
  ret %a
})")
                             .to_module();
  program.add_import(kernels);
  const std::string file = testing::TempDir() + "/remote_device_" + opdyno::to_string(device()) + ".so";
  program.export_to(file);
  std::stringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();

  Listener server([](int connection) { serve_with(connection, nullptr); });
  const opdyno::RpcSession session = opdyno::RpcSession::connect(server.address());
  const DLDevice there = session.device(device());
  EXPECT_EQ(opdyno::device_attr(there, OPD_ATTR_DEVICE_NAME).string(),
            opdyno::device_attr(device(), OPD_ATTR_DEVICE_NAME).string());
  session.upload("p.so", bytes.str());
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = &there, options.num_devices = 1;
  const Vm vm(session.load_module("p.so"), &options);
  const Tensor x = on(there, {1, 2, 3, 4});
  const std::vector<float> expected = {5, 8, 11, 14};  // x * 3 + 2
  const SlowDevice slow;
  EXPECT_EQ(read(Tensor::of(vm.call("main", x))), expected);
  const Tensor out({4}, "float32", there);
  session.load_module("p.so").function("scale", 1)(x, out, 3.0, 2, 1, 4);
  EXPECT_EQ(read(out), expected) << "the kernel as a packed function";

  auto measured = opdyno::defaults(opd_evaluator_options_init);
  measured.device = there, measured.number = 2, measured.repeat = 2;
  vm.save_function("main", "timed", {arg(x)}, false);
  const opdyno::Benchmark times = opdyno::Evaluator(vm.function("timed"), &measured)();
  for (const double seconds : times.seconds())
    EXPECT_GE(seconds, is_simulated() ? std::chrono::duration<double>(kLatency).count() : 0);
  EXPECT_EQ(times.stats().is_device_time, has_streams());
  const Report report = vm.profile("main", {arg(x)}).report;
  const std::string name = opdyno::to_string(device());
  size_t kernel_rows = 0;
  for (size_t row = 0; row < report.count(OPD_REPORT_CALLS); ++row)
    if (text_value(call_value(report, row, "Name")) == "scale") {
      ++kernel_rows;
      EXPECT_EQ(text_value(call_value(report, row, "Device")), name.substr(0, name.find(':')) + "0");
    }
  EXPECT_EQ(kernel_rows, 1u) << report.write(OPD_REPORT_CSV);
}
