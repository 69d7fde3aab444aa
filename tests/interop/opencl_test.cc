// Programs that TVM built for OpenCL, in both modes of execution, on an OpenCL device. The answers are those of the
// same programs that TVM built for the CPU (build_gpu.py).
#include <opdyno/replay.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "interop/gpu_programs.h"
#include "support/c_artifact.h"
#include "support/embedded_modules.h"
#include "support/recorded_calls.h"
#include "support/report_test.h"

using namespace opdyno_test;

namespace {

constexpr DLDevice kDevice = {kDLOpenCL, 0};

// Set before main(), and so before anything asks for a device.
constexpr int kHandled[] = {SIGINT, SIGTERM, SIGUSR2, SIGQUIT, SIGHUP};
void note_signal(int) {}
const bool kHasHandlers = [] {
  for (const int signal : kHandled) std::signal(signal, &note_signal);
  return true;
}();

class AProgramForOpenCl : public testing::Test {
 protected:
  void SetUp() override {
    const Value reason = opdyno::device_attr(kDevice, OPD_ATTR_ABSENCE);
    if (reason.type() != OPD_NONE) GTEST_SKIP() << reason.string();
  }
};

// main(x) = 3 * x + 2 (or - 2), with a kernel for OpenCL or for the CPU. It is exact: both give the same bits.
Module scale_program(bool is_opencl, const std::string &sign = "+") {
  const Module program = Executable::assemble(R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call scale(%x, %a, 3, 2, 1, 4)
  ret %a
})")
                             .to_module();
  const DLDataType handle{kDLOpaqueHandle, 64, 1}, f32{kDLFloat, 32, 1}, i32{kDLInt, 32, 1};
  const std::string params = number(4) + raw(handle) + raw(handle) + raw(f32) + raw(i32);
  const std::string code = R"(
__kernel void scale(__global const float *from, __global float *to, float factor, int offset) {
  to[get_global_id(0)] = factor * from[get_global_id(0)] )" +
                           sign + " offset;\n}";
  const std::string bytes = text("cl") + number(1) + text("scale") + text("scale") + params +
                            list({"blockIdx.x", "threadIdx.x"}) + number(0) + text(code);
  Module kernels;
  if (is_opencl) kernels = with_root("scale_opencl", "opencl", bytes);
  else
    check(load_source(R"(
#include <stdint.h>
typedef struct { float *data; } Tensor;
typedef struct { int32_t type; uint32_t zero; union { char *object; int64_t number; } u; } Value;
static float *elements(const Value *v) { return ((Tensor *)(v->u.object + 24))->data; }
int __tvm_ffi_scale(void *self, const Value *args, int32_t num_args, Value *result) {
  for (int i = 0; i < 4; ++i) elements(&args[1])[i] = elements(&args[0])[i] * args[2].u.number + args[3].u.number;
  return 0;
})",
                      nullptr, kernels.out()));
  program.add_import(kernels);
  return program;
}

Vm vm_of(const std::string &model, const std::string &mode) { return program(kDevice, model, mode); }

}  // namespace

// Not with PoCL, unless it is wanted: a process that exits while PoCL compiles such kernels may crash. This process
// does not exit so soon.
TEST_F(AProgramForOpenCl, HasItsBinariesKeptWhereThatIsWanted) {
  const std::string directory = fresh_directory("opencl_binaries");
  ::setenv("OPDYNO_CACHE_DIR", directory.c_str(), 1);
  const auto files = [&] {
    std::vector<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      if (entry.path().extension() == ".program") found.push_back(entry.path());
    return found;
  };
  const auto first = [](const std::string &sign) {
    auto options = opdyno::defaults(opd_vm_options_init);
    options.devices = &kDevice, options.num_devices = 1;
    const Vm vm(scale_program(true, sign), &options);
    const Tensor out = Tensor::of(vm.call("main", on_device(kDevice, {floats({1, 2, 3, 4})})[0]));
    float found[4];
    out.copy_to_bytes(found, sizeof found);
    return found[0];
  };
  EXPECT_EQ(first("+"), 5);
  ::setenv("OPDYNO_OPENCL_BINARIES", "0", 1);
  const size_t usual = files().size();
  const bool is_pocl = opdyno::device_attr(kDevice, OPD_ATTR_DEVICE_NAME).string().starts_with("pthread");
  if (is_pocl) { EXPECT_EQ(usual, 0u) << "unless it is wanted"; }
  EXPECT_EQ(first("-"), 1);
  EXPECT_EQ(files().size(), usual);
  ::setenv("OPDYNO_OPENCL_BINARIES", "1", 1);
  EXPECT_EQ(first("+"), 5);
  ASSERT_EQ(files().size(), 1u);
  const std::string plus = files()[0], bytes = read_bytes(plus);
  EXPECT_EQ(first("-"), 1);
  ASSERT_EQ(files().size(), 2u);
  const std::string minus = files()[0] == plus ? files()[1] : files()[0];
  EXPECT_EQ(first("+"), 5);
  EXPECT_EQ(read_bytes(plus), bytes) << "it is used again";
  std::filesystem::copy_file(minus, plus, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(first("+"), 1) << "the kept binary is what runs";
  std::ofstream(plus, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  EXPECT_EQ(first("+"), 5) << "what is damaged is made anew";
  EXPECT_EQ(read_bytes(plus).size(), bytes.size());
  {  // a sealed file that the driver does not take
    (void)scale_program(false);
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      if (entry.path().extension() == ".so")
        std::filesystem::copy_file(entry.path(), plus, std::filesystem::copy_options::overwrite_existing);
    EXPECT_NE(read_bytes(plus).substr(0, 100), bytes.substr(0, 100));
    EXPECT_EQ(first("+"), 5);
    EXPECT_EQ(read_bytes(plus).substr(0, 100), bytes.substr(0, 100));
  }
  ::unsetenv("OPDYNO_OPENCL_BINARIES");
  ::unsetenv("OPDYNO_CACHE_DIR");
}

// Drivers install handlers when they start and when they compile.
TEST_F(AProgramForOpenCl, LeavesTheHandlersOfSignalsToTheProgram) {
  ASSERT_TRUE(kHasHandlers);
  const Vm vm = vm_of("constants", "bytecode");
  vm.function("main").call(views_of(on_device(kDevice, recorded("constants", "in"))));
  opdyno::sync(kDevice);
  for (const int signal : kHandled) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    EXPECT_EQ(now.sa_handler, &note_signal) << strsignal(signal);
  }
}

TEST_F(AProgramForOpenCl, GivesTheAnswersOfTheCpu) {
  for (const std::string model : kModels)
    for (const std::string mode : kModes) {
      const Vm vm = vm_of(model, mode);
      const std::vector<Tensor> inputs = on_device(kDevice, recorded(model, "in"));
      ASSERT_FALSE(inputs.empty());
      const Function main = vm.function("main");
      for (int round = 0; round < 3; ++round)
        expect_answers(kDevice, model, main.call(views_of(inputs)),
                       model + " " + mode + ", call " + std::to_string(round));
    }
}

TEST_F(AProgramForOpenCl, IsCalledByManyThreadsInStreamsOfTheirOwn) {
  const Vm vm = vm_of("norms", "bytecode");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      const opdyno::Stream stream(kDevice);
      opdyno::set_stream(kDevice, stream.get());
      const std::vector<Tensor> inputs = on_device(kDevice, recorded("norms", "in"));
      for (int i = 0; i < 20; ++i)
        expect_answers(kDevice, "norms", vm.function("main").call(views_of(inputs)), "a thread");
      opdyno::set_stream(kDevice, nullptr);
    });
  for (std::thread &thread : threads) thread.join();
}

TEST_F(AProgramForOpenCl, HasRowsOfItsDeviceInAProfile) {
  for (const std::string mode : kModes) {
    const Vm vm = vm_of("mlp", mode);
    const std::vector<Tensor> inputs = on_device(kDevice, recorded("mlp", "in"));
    const Report report = vm.profile("main", views_of(inputs)).report;
    size_t kernels = 0;
    for (size_t row = 0; row < report.count(OPD_REPORT_CALLS); ++row)
      if (text_value(call_value(report, row, "Name")).starts_with("fused_matmul")) {
        EXPECT_EQ(text_value(call_value(report, row, "Device")), "opencl0");
        ++kernels;
      }
    EXPECT_GE(kernels, 1u) << mode;
  }
}

TEST_F(AProgramForOpenCl, DoesNotLendItsAddressesToOthers) {
  const Tensor there({4}, "float32", kDevice);
  expect_throws([&] { there.to_dlpack(); }, OPD_UNSUPPORTED, "copy it to the host");
  expect_throws([&] { there.to_dlpack_versioned(); }, OPD_UNSUPPORTED, "float32[4] on opencl:0");
}

// TVM's is the address of a struct of its runtime; a cl_mem belongs to another context than this library's.
TEST_F(AProgramForOpenCl, TakesNoHandlesOfOthers) {
  int64_t shape[] = {4};
  int handle = 0;
  for (const DLDevice device : {kDevice, DLDevice{kDLVulkan, 0}}) {
    DLManagedTensor managed{{&handle, device, 1, {kDLFloat, 32, 1}, shape, nullptr, 0}, nullptr, nullptr};
    opd_tensor *taken = nullptr;
    expect_error(
        opd_tensor_from_dlpack(&managed, &taken), OPD_UNSUPPORTED,
        "the tensor float32[4] on " + opdyno::to_string(device) + " cannot be imported by DLPack: copy it to the host");
    DLManagedTensorVersioned versioned{{DLPACK_MAJOR_VERSION, 0}, nullptr, nullptr, 0, managed.dl_tensor};
    expect_error(opd_tensor_from_dlpack_versioned(&versioned, &taken), OPD_UNSUPPORTED, "cannot be imported by DLPack");
  }
}

TEST_F(AProgramForOpenCl, IsRefusedInAChildOfFork) {
  const Vm vm = vm_of("constants", "bytecode");
  std::vector<Tensor> inputs = on_device(kDevice, recorded("constants", "in"));
  expect_answers(kDevice, "constants", vm.function("main").call(views_of(inputs)), "the parent");
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool is_refused = false;
    try {
      vm.function("main").call(views_of(inputs));
    } catch (const Error &e) {
      is_refused = e.code() == OPD_UNSUPPORTED && e.message().find("child of fork()") != std::string::npos;
    }
    inputs.clear();
    _exit(is_refused ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  expect_answers(kDevice, "constants", vm.function("main").call(views_of(inputs)), "the parent afterwards");
}

TEST_F(AProgramForOpenCl, IsReplayedFromTheRecordingOfACall) {
  for (const std::string mode : kModes) {
    const Vm vm = vm_of("mlp", mode);
    const std::vector<Tensor> inputs = on_device(kDevice, recorded("mlp", "in"));
    vm.record_next_call(recording_path());
    vm.function("main").call(views_of(inputs));
    vm.end_recording();
    const auto replayed = opdyno::replay(recording_path());
    EXPECT_TRUE(is_same(replayed)) << mode << ": " << verdict(replayed);
  }
}

// A build for each device has the other's recorded calls made again.
TEST_F(AProgramForOpenCl, IsReplayedOnAnotherDevice) {
  auto keeping = opdyno::defaults(opd_record_options_init);
  keeping.with_operators = 1;
  for (const bool is_opencl : {true, false}) {
    const DLDevice then = is_opencl ? kDevice : DLDevice{kDLCPU, 0}, now = is_opencl ? DLDevice{kDLCPU, 0} : kDevice;
    auto options = opdyno::defaults(opd_vm_options_init);
    options.devices = &then, options.num_devices = 1;
    const Vm vm(scale_program(is_opencl), &options);
    const auto path = record(vm, {arg(on_device(then, {floats({1, 2, 3, 4})})[0])}, &keeping);
    const Module other = scale_program(!is_opencl);
    auto how = opdyno::defaults(opd_replay_options_init);
    how.device = now, how.module = other.get();
    const auto replayed = opdyno::replay(path, &how, true);
    EXPECT_EQ(verdict(replayed), "the call returned what was recorded: 1 value is equal bit for bit");
    EXPECT_EQ(cell(replayed.report, 1, "Value"), "float32[4] on " + opdyno::to_string(now));
    bool has_row = false;
    for (size_t row = 0; row < replayed.profile.count(); ++row)
      has_row |= text_value(call_value(replayed.profile, row, "Name")) == "scale" &&
                 text_value(call_value(replayed.profile, row, "Device")) == (is_opencl ? "cpu0" : "opencl0");
    EXPECT_TRUE(has_row);
    how.module = nullptr;
    expect_throws([&] { opdyno::replay(path, &how); }, OPD_UNSUPPORTED,
                  "the program has no kernels for " + opdyno::to_string(now) + ": its kernels are for " +
                      (is_opencl ? "opencl;" : "the CPU;"));
  }
}

TEST_F(AProgramForOpenCl, RefusesTensorsOfTheHost) {
  for (const std::string mode : kModes) {
    const Vm vm = vm_of("mlp", mode);
    const std::vector<Tensor> inputs = recorded("mlp", "in");
    EXPECT_THROW(vm.function("main").call(views_of(inputs)), Error) << mode;
    vm.set_input("main", views_of(inputs));  // but this copies them
    vm.invoke_stateful("main");
    expect_answers(kDevice, "mlp", vm.outputs("main"), mode);
  }
}
