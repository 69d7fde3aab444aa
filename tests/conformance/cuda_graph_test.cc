// CUDA graphs on the recording driver, which keeps what a stream is given while it is captured, and does it at each
// launch of the graph.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "conformance/memory_table.h"
#include "conformance/recorded_cuda.h"
#include "support/occurrences.h"
#include "support/report_test.h"

using namespace opdyno_test;
using cuda_driver::Recording;
using Floats = std::vector<float>;

namespace {

const std::string kStorage = "call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), \"global\")\n";
const std::string kTensor = ", 0, shape(4), dtype(float32))\n";

// body(x, storage): what `lines` do, from the tensors x and a, the latter in the storage.
std::string body(const std::string &lines, const std::string &result = "%a") {
  return ".func body(x, s) {\n  %a = call vm.builtin.alloc_tensor(%s" + kTensor + lines +
         "  %r = call vm.builtin.make_tuple(" + result + ")\n  ret %r\n}\n";
}
const std::string kTwice = "  call scale(%x, %a, 3, 2, 1, 4)\n  call scale(%a, %a, 3, 2, 1, 4)\n";

// main(x): copies x, runs the body by a graph, and gives a copy of what is in its tensor. After TVM's pass, programs
// look like this.
const std::string kMain = R"(
.func memory() {
  %s = )" + kStorage +
                          "  %t = " + kStorage + R"(  %r = call vm.builtin.make_tuple(%s, %t)
  ret %r
}
.func main(x) {
  %m = call vm.builtin.cuda_graph.get_cached_alloc(%vm, @memory, 0)
  %s = call vm.builtin.tuple_getitem(%m, 0)
  %t = call vm.builtin.tuple_getitem(%m, 1)
  %in = call vm.builtin.alloc_tensor(%s)" +
                          kTensor + R"(  call scale(%x, %in, 1, 0, 1, 4)
  %args = call vm.builtin.make_tuple(%in, %t)
  %r = call vm.builtin.cuda_graph.run_or_capture(%vm, @body, %args, 0)
  %y = call vm.builtin.tuple_getitem(%r, 0)
  %o = )" + kStorage + "  %out = call vm.builtin.alloc_tensor(%o" +
                          kTensor + R"(  call scale(%y, %out, 1, 0, 1, 4)
  ret %out
}
)";

Vm program(const std::string &text, const Module &kernels) {
  const Module module = Executable::assemble(text).to_module();
  module.add_import(kernels);
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = &kDevice;
  options.num_devices = 1;
  return Vm(module, &options);
}

class CudaGraph : public OnRecordedCuda {
 protected:
  static const Module &kernels() {
    static auto *const made = new Module(kernels_or_none("graphs"));  // the driver ends before a static one would
    return *made;
  }
  static Floats call(const Vm &vm, const Floats &x) { return read(Tensor::of(vm.call("main", on(kDevice, x)))); }
  static std::string log_of(const Vm &vm, const Tensor &x) {
    Recording::log();
    vm.call("main", x);
    return Recording::log();
  }
};

// The names of streams rise, so they are taken out.
std::string without_numbers(std::string log) {
  for (size_t at = 0; (at = log.find("stream ", at)) != log.npos;) {
    at += 7;
    while (at < log.size() && std::isdigit(log[at])) log.erase(at, 1);
  }
  return log;
}

TEST_F(CudaGraph, IsCapturedByTheFirstCallAndLaunchedByOthers) {
  const Vm vm = program(body(kTwice) + kMain, kernels());
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  const std::string first = without_numbers(log_of(vm, x)), one = "launch scale 1x1x1 4x1x1 0 in ";
  const std::string once = one + "default\n", captured = one + "stream \n";
  EXPECT_EQ(first.substr(first.find(once)),
            once + once + once +  // the copy, and the call that is done
                "cuStreamCreate 1\ncuStreamBeginCapture 2 in stream \n"
                "cuStreamSynchronize default\n" +  // of the run's memory
                captured +
                captured +
                "cuStreamEndCapture stream \ncuGraphInstantiate 0 with 2\ncuGraphDestroy\n"
                "cuStreamSynchronize stream \ncuStreamDestroy stream \n"
                "cuMemAllocAsync 64 in stream \ncuStreamSynchronize stream \n" +
                once);
  EXPECT_EQ(log_of(vm, x), once + "cuGraphLaunch 2 in default\n" + once);
}

TEST_F(CudaGraph, GivesTheAnswersOfItsKernels) {
  const Vm vm = program(body(kTwice) + kMain, kernels());
  EXPECT_EQ(call(vm, {1, 2, 3, 4}), (Floats{17, 26, 35, 44}));
  EXPECT_EQ(call(vm, {1, 2, 3, 4}), (Floats{17, 26, 35, 44}));
  EXPECT_EQ(call(vm, {2, 2, 2, 0}), (Floats{26, 26, 26, 8}));
}

TEST_F(CudaGraph, DoesTheWorkOfEachCallOnce) {
  const Vm vm = program(
      ".func body(x) {\n  call scale(%x, %x, 2, 0, 1, 4)\n  %r = call vm.builtin.make_tuple(%x)\n"
      "  ret %r\n}\n.func main(x) {\n  %args = call vm.builtin.make_tuple(%x)\n"
      "  %r = call vm.builtin.cuda_graph.run_or_capture(%vm, @body, %args, 0)\n  ret %r\n}\n",
      kernels());
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  for (const float factor : {2.f, 4.f, 8.f}) {
    vm.call("main", x);
    EXPECT_EQ(read(x), (Floats{factor, 2 * factor, 3 * factor, 4 * factor}));
  }
}

TEST_F(CudaGraph, IsCapturedAgainForOtherArguments) {
  const Vm vm = program(
      ".func body(x, y) {\n  call scale(%x, %y, 2, 0, 1, 4)\n  %r = call vm.builtin.make_tuple(%y)\n"
      "  ret %r\n}\n.func main(x, y) {\n  %args = call vm.builtin.make_tuple(%x, %y)\n"
      "  %r = call vm.builtin.cuda_graph.run_or_capture(%vm, @body, %args, 0)\n  ret %r\n}\n",
      kernels());
  const Tensor y = on(kDevice, {0, 0, 0, 0});
  const auto counts = Recording::counts();
  for (int i = 1; i < 4; ++i) {
    const auto value = static_cast<float>(i);
    const Tensor x = on(kDevice, {value, value, value, value});
    Recording::log();
    for (int j = 0; j < 3; ++j) {
      vm.call("main", x, y);
      EXPECT_EQ(read(y), Floats(4, 2 * value));
    }
    const std::string log = Recording::log();
    EXPECT_EQ(occurrences(log, "BeginCapture"), 1u);
    EXPECT_EQ(occurrences(log, "cuGraphLaunch"), 2u);
  }
  EXPECT_EQ(Recording::counts()[5], counts[5] + 1) << "the others are gone";
}

TEST_F(CudaGraph, IsCapturedOncePerIndexAndShape) {
  const auto run = [](const std::string &key) {
    return "  %r = call vm.builtin.cuda_graph.run_or_capture(%vm, @body, %args, " + key + ")\n";
  };
  const Vm vm = program(
      ".func body(x) {\n  call scale(%x, %x, 1, 1, 1, 4)\n  %r = call vm.builtin.make_tuple(%x)\n"
      "  ret %r\n}\n.func main(x) {\n  %args = call vm.builtin.make_tuple(%x)\n" +
          run("0") + run("1") + run("0, shape(1)") + run("0, shape(2)") + run("0, shape(1)") + run("0") +
          "  ret %r\n}\n",
      kernels());
  const Tensor x = on(kDevice, {0, 0, 0, 0});
  const std::string log = log_of(vm, x);
  EXPECT_EQ(occurrences(log, "BeginCapture"), 4u);
  EXPECT_EQ(occurrences(log, "cuGraphLaunch"), 2u);
  EXPECT_EQ(read(x), Floats(4, 6));
}

TEST_F(CudaGraph, IsFreedWithItsVm) {
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  opdyno::trim_memory(kDevice);
  const auto counts = Recording::counts();
  {
    const Vm vm = program(body(kTwice) + kMain, kernels());
    vm.call("main", x);
    vm.call("main", x);
    EXPECT_EQ(Recording::counts()[5], counts[5] + 1);
  }
  opdyno::trim_memory(kDevice);
  EXPECT_EQ(Recording::counts(), counts);
}

TEST_F(CudaGraph, IsFreedByTrimmingItsVm) {
  const Vm vm = program(body(kTwice) + kMain, kernels());
  const size_t graphs = Recording::counts()[5];
  EXPECT_EQ(call(vm, {1, 2, 3, 4}), (Floats{17, 26, 35, 44}));
  check(opd_vm_trim(vm.get()));
  EXPECT_EQ(Recording::counts()[5], graphs);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call(vm, {1, 2, 3, 4}), (Floats{17, 26, 35, 44}));
  EXPECT_EQ(Recording::counts()[5], graphs + 1);
}

TEST_F(CudaGraph, IsNotLaunchedInAChildOfFork) {
  const Vm vm = program(body(kTwice) + kMain, kernels());
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  const Vm without_copies = program(
      ".func body() {\n  %r = call vm.builtin.make_tuple()\n  ret %r\n}\n.func main() {\n"
      "  %args = call vm.builtin.make_tuple()\n"
      "  %r = call vm.builtin.cuda_graph.run_or_capture(%vm, @body, %args, 0)\n  ret %r\n}\n",
      kernels());
  without_copies.call("main");
  opdyno::sync(kDevice);
  Recording::log();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    try {
      without_copies.call("main");
    } catch (const Error &e) {
      const bool is_told = e.message().find("child of fork()") != std::string::npos;
      _exit(!is_told ? 1 : Recording::log().empty() ? 0 : 2);
    }
    _exit(3);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "exit code 1: another error; 2: the child called the driver; 3: it was not refused";
}

TEST_F(CudaGraph, IsLaunchedInTheCurrentStream) {
  const Vm vm = program(body(kTwice) + kMain, kernels());
  EXPECT_EQ(call(vm, {1, 2, 3, 4}), (Floats{17, 26, 35, 44}));
  const opdyno::Stream stream(kDevice);
  const std::string made = Recording::log();
  const CurrentStream current(kDevice, stream.get());
  const Tensor x = on(kDevice, {1, 1, 1, 1});
  const std::string log = log_of(vm, x), launch = "cuGraphLaunch 2 in ";
  EXPECT_NE(log.find(launch + "stream "), log.npos) << log;
  EXPECT_EQ(call(vm, {1, 1, 1, 1}), Floats(4, 17));
}

// A body with memory of its own.
const std::string kWithMemory =
    ".func body(x, s) {\n  %t = " + kStorage + "  %b = call vm.builtin.alloc_tensor(%t" + kTensor +
    "  call scale(%x, %b, 3, 2, 1, 4)\n  %a = call vm.builtin.alloc_tensor(%s" + kTensor +
    "  call scale(%b, %a, 3, 2, 1, 4)\n  %r = call vm.builtin.make_tuple(%a)\n  ret %r\n}\n";

// Memory that the captured call gave back is used by each launch, so nobody else may get it.
TEST_F(CudaGraph, KeepsTheMemoryOfItsFunction) {
  const std::string copies = ".func copy(x) {\n  %t = " + kStorage + "  %b = call vm.builtin.alloc_tensor(%t" +
                             kTensor +
                             "  call scale(%x, %b, 1, 0, 1, 4)\n  ret %b\n}\n.func nested(x) {\n"
                             "  %r = call vm.builtin.invoke_closure(%vm, @copy, %x)\n  ret %r\n}\n";
  const Vm vm = program(kWithMemory + kMain + copies, kernels());
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  std::vector<Tensor> live = {Tensor::of(vm.call("main", x))};
  for (int i = 0; i < 8; ++i) live.push_back(Tensor::of(vm.call(i % 2 ? "copy" : "nested", live[0])));
  for (int i = 0; i < 8; ++i) live.push_back(on(kDevice, {17, 26, 35, 44}));
  EXPECT_EQ(call(vm, {0, 0, 0, 0}), Floats(4, 8));
  for (const Tensor &each : live) EXPECT_EQ(read(each), (Floats{17, 26, 35, 44})) << &each - live.data();
}

TEST_F(CudaGraph, GivesItsMemoryBack) {
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  opdyno::trim_memory(kDevice);
  const auto counts = Recording::counts();
  {
    const Vm vm = program(kWithMemory + kMain, kernels());
    vm.call("main", x);
    vm.trim();  // also the graph
    opdyno::trim_memory(kDevice);
    EXPECT_EQ(Recording::counts()[0], counts[0]);
    vm.call("main", x);
    opdyno::trim_memory(kDevice);
    vm.call("main", x);
    opdyno::sync(kDevice);  // tells if a launch used memory that is free
  }
  opdyno::trim_memory(kDevice);
  EXPECT_EQ(Recording::counts(), counts);
}

// The result of a function that allocates it itself is filled by each launch.
TEST_F(CudaGraph, FillsAResultThatItsFunctionMakes) {
  const Vm vm = program(body("  %t = " + kStorage + "  %b = call vm.builtin.alloc_tensor(%t" + kTensor +
                                 "  call scale(%x, %b, 5, 0, 1, 4)\n",
                             "%b") +
                            kMain,
                        kernels());
  for (const float value : {1.f, 2.f, 3.f}) EXPECT_EQ(call(vm, Floats(4, value)), Floats(4, 5 * value));
}

TEST_F(CudaGraph, IsSeparateForEachCallingThread) {
  std::atomic<int> inside{0};
  define("test.meet", [&](const opd_value *, int32_t, opd_value *) {
    ++inside;  // both threads are in their first call until both have come
    while (inside < 2) std::this_thread::yield();
  });
  const Vm vm = program(body(kTwice + "  call test.meet()\n") + kMain, kernels());
  std::array<Floats, 2> answers;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 20; ++j) answers[i] = call(vm, Floats(4, static_cast<float>(i + 1)));
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(answers[0], Floats(4, 17));
  EXPECT_EQ(answers[1], Floats(4, 26));
}

// Each is refused with a sentence, and the VM works afterwards.
TEST_F(CudaGraph, RefusesActionsThatCannotBeCaptured) {
  define("test.wait", [](const opd_value *, int32_t, opd_value *) { opdyno::sync(kDevice); });
  define("test.wait_stream", [](const opd_value *, int32_t, opd_value *) {
    void *const stream = opdyno::set_stream(kDevice, nullptr);
    opdyno::set_stream(kDevice, stream);
    if (stream) check(opd_stream_sync(kDevice, stream));
  });
  define("test.read", [](const opd_value *args, int32_t, opd_value *) { read(Tensor::of(Value::retain(args[0]))); });
  define("test.other_stream", [](const opd_value *, int32_t, opd_value *) { opdyno::set_stream(kDevice, nullptr); });
  const std::string head = "function body cannot be captured as a graph of cuda:0: ";
  const std::string meanwhile = " at the same time: a graph has only kernels and copies of one device in one stream";
  const auto refused = [&](const std::string &line, const std::string &why) {
    const Vm vm = program(body(kTwice + line) + kMain, kernels());
    const Tensor x = on(kDevice, {1, 2, 3, 4});
    for (int i = 0; i < 2; ++i) {
      Recording::log();
      expect_throws([&] { vm.call("main", x); }, OPD_FAILED_PRECONDITION, head);
      expect_throws([&] { vm.call("main", x); }, OPD_FAILED_PRECONDITION, why);
      const std::string log = Recording::log();
      EXPECT_EQ(occurrences(log, "BeginCapture"), 2u) << log;
      EXPECT_EQ(occurrences(log, "EndCapture"), 2u) << log;
      EXPECT_EQ(occurrences(log, "cuGraphLaunch"), 0u) << log;
    }
    EXPECT_EQ(opdyno::set_stream(kDevice, nullptr), nullptr) << line;
    EXPECT_EQ(read(x), (Floats{1, 2, 3, 4}));
  };
  const auto counts = Recording::counts();
  refused("  call test.wait()\n",
          "the calling thread captures a graph of cuda:0 and cannot wait for all work" + meanwhile);
  refused("  call test.wait_stream()\n", "cannot wait for the captured stream" + meanwhile);
  refused("  call test.read(%a)\n", "cannot copy to or from other memory" + meanwhile);
  refused("  call test.other_stream()\n  call scale(%a, %a, 3, 2, 1, 4)\n",
          "cannot give work to another stream" + meanwhile);
  EXPECT_EQ(Recording::counts()[5], counts[5]);
  EXPECT_EQ(Recording::counts()[4], counts[4]) << "streams";
}

TEST_F(CudaGraph, RefusesWorkOfAnotherDevice) {
  const DLDevice other = SimulatedDevice::get().device();
  const Tensor there = on(other, {1, 1, 1, 1});
  define("test.other", [&](const opd_value *, int32_t, opd_value *) { there.copy_from(there); });
  const Vm vm = program(body(kTwice + "  call test.other()\n") + kMain, kernels());
  expect_throws(
      [&] {
        call(vm, {1, 2, 3, 4});
      },
      OPD_FAILED_PRECONDITION,
      opdyno::to_string(other) +
          " cannot do work while the calling thread captures a graph of cuda:0: the work would be missing");
}

// Each kind has handles of its own, and they may be the same.
TEST_F(CudaGraph, RefusesWorkOfAnotherDeviceWithAnEqualStreamHandle) {
  static void *handle = nullptr;
  opd_device_table table = memory_table();
  table.create_stream = [](void *, int32_t, void **out) -> opd_error * { return *out = handle, nullptr; };
  table.free_stream = [](void *, int32_t, void *) {};
  const DLDevice twin = {opdyno::register_device("twin", table), 0};
  const Tensor there({4}, "float32", twin);
  define("test.twin", [&](const opd_value *, int32_t, opd_value *) {
    handle = opdyno::set_stream(kDevice, nullptr);
    opdyno::set_stream(kDevice, handle);
    if (!handle) return;  // the first call is no capture
    const opdyno::Stream stream(twin);
    const CurrentStream current(twin, stream.get());
    there.copy_from(there);
  });
  const Vm vm = program(body(kTwice + "  call test.twin()\n") + kMain, kernels());
  expect_throws(
      [&] {
        call(vm, {1, 2, 3, 4});
      },
      OPD_FAILED_PRECONDITION,
      "twin:0 cannot do work while the calling thread captures a graph of cuda:0: the work would be missing");
}

TEST_F(CudaGraph, KeepsNoFunctions) {
  const Vm vm = program(
      ".func body() {\n  %r = call vm.builtin.make_tuple(@body)\n  ret %r\n}\n"
      ".func main() {\n  %args = call vm.builtin.make_tuple()\n"
      "  %r = call vm.builtin.cuda_graph.run_or_capture(%vm, @body, %args, 0)\n  ret %r\n}\n"
      ".func memory() {\n  %r = call vm.builtin.cuda_graph.get_cached_alloc(%vm, @body, 0)\n  ret %r\n}\n",
      kernels());
  for (const char *name : {"main", "memory"})
    expect_throws([&] { vm.call(name); }, OPD_INVALID_ARGUMENT,
                  "the function's result is kept, so there must be no function in it");
}

// Another thread waits for the device and frees memory of it while a graph is captured; neither spoils it.
TEST_F(CudaGraph, IsNotSpoiltByOtherThreads) {
  std::jthread waiting;
  auto block = std::make_unique<Tensor>(on(kDevice, Floats(64, 0)));
  opdyno::trim_memory(kDevice);
  int calls = 0;
  define("test.elsewhere", [&](const opd_value *, int32_t, opd_value *) {
    if (++calls != 2) return;  // the first call is no capture
    std::thread([&] {
      block.reset();
      opdyno::trim_memory(kDevice);
    }).join();
    waiting = std::jthread([] { opdyno::sync(kDevice); });
  });
  const size_t blocks = Recording::counts()[0];
  const Vm vm = program(body(kTwice + "  call test.elsewhere()\n") + kMain, kernels());
  EXPECT_EQ(call(vm, {1, 2, 3, 4}), (Floats{17, 26, 35, 44}));
  waiting.join();
  EXPECT_EQ(call(vm, {1, 2, 3, 4}), (Floats{17, 26, 35, 44}));
  EXPECT_EQ(calls, 2);
  EXPECT_GT(blocks, 0u);
}

// The work of devices by its name.
std::map<std::string, double> work_in(const opdyno::Trace &trace) {
  const Report averages = trace.averages();
  std::map<std::string, double> counts;
  for (size_t row = 0; row < averages.count(OPD_REPORT_CALLS); ++row)
    if (text_value(call_value(averages, row, "Kind")) == "device")
      counts[text_value(call_value(averages, row, "Name"))] += number_of(call_value(averages, row, "Count"));
  return counts;
}

TEST_F(CudaGraph, IsOnePieceOfWorkInRecordings) {
  const Vm vm = program(body(kTwice) + kMain, kernels());
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  using Counts = std::map<std::string, double>;
  for (const Counts &expected : {Counts{{"scale", 4}}, Counts{{"scale", 2}, {"body", 1}}}) {
    const opdyno::Profiler profiler;
    profiler.start();
    const Value result = vm.call("main", x);
    EXPECT_EQ(work_in(profiler.stop()), expected) << "what was captured was not done";
    EXPECT_EQ(read(Tensor::of(result)), (Floats{17, 26, 35, 44}));
  }
}

TEST_F(CudaGraph, HasADurationInProfiles) {
  const Vm vm = program(body(kTwice) + kMain, kernels());
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  auto options = opdyno::defaults(opd_profile_options_init);
  options.builtins = OPD_BUILTINS_ALL;
  for (int i = 0; i < 2; ++i) {
    const auto [report, trace] = vm.profile("main", {arg(x)}, &options);
    double graphs = 0;
    for (size_t row = 0; row < report.count(OPD_REPORT_CALLS); ++row)
      if (text_value(call_value(report, row, "Name")) == "vm.builtin.cuda_graph.run_or_capture") {
        graphs += number_of(call_value(report, row, "Count"));
        EXPECT_GT(number_of(call_value(report, row, "Device Duration (us)")), 0);
      }
    EXPECT_EQ(graphs, 1);
    EXPECT_EQ(work_in(trace)["body"], 1);
  }
  EXPECT_EQ(call(vm, {1, 2, 3, 4}), (Floats{17, 26, 35, 44}));
}

// Each call of the driver fails in turn, those of the capture among them.
TEST_F(CudaGraph, GivesAnErrorAndLosesNothing) {
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  const auto use = [&] {
    const Vm vm = program(body(kTwice) + kMain, kernels());
    for (int i = 0; i < 2; ++i) EXPECT_EQ(read(Tensor::of(vm.call("main", x))), (Floats{17, 26, 35, 44}));
    return Recording::calls();
  };
  use();
  opdyno::trim_memory(kDevice);
  const auto before = Recording::counts();
  Recording::fail_from(0);
  const int64_t told = use(), calls = Recording::calls();
  ASSERT_GT(told, 12);
  std::string messages;
  for (int64_t nth = 1; nth <= told; ++nth) {
    Recording::fail_from(nth);
    try {
      use();
      ADD_FAILURE() << "call " << nth << " of " << told;
    } catch (const Error &e) { messages += e.message() + "\n"; }
    Recording::fail_from(0);
    EXPECT_EQ(opdyno::set_stream(kDevice, nullptr), nullptr) << "after call " << nth;
    opdyno::trim_memory(kDevice);
    EXPECT_EQ(Recording::counts(), before) << "after call " << nth << " of " << calls;
  }
  for (const char *function : {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"})
    EXPECT_NE(
        messages.find("function body cannot be captured as a graph of cuda:0: " + std::string(function) + " returned"),
        messages.npos)
        << messages;
  EXPECT_NE(messages.find("vm.builtin.cuda_graph.run_or_capture: cuGraphLaunch returned"), messages.npos) << messages;
  use();
}

}  // namespace
