// What a client has of another machine. The server is this library's, on a thread.
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <opdyno/profiler.hpp>
#include <opdyno/rpc.hpp>
#include <sstream>

#include "support/add_one.h"
#include "support/rpc_servers.h"

namespace opdyno_test {
namespace {

using Floats = std::vector<float>;

// A function "test.rpc.waits" of the server, which ends when the gate opens. The server may be in it when a test is
// over.
class Gate {
 public:
  Gate() {
    define("test.rpc.waits", [open = open_](const opd_value *, int32_t, opd_value *) {
      while (!*open) std::this_thread::yield();
    });
  }
  ~Gate() { open(); }
  void open() const { *open_ = true; }

 private:
  std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
};

std::string bytes_of(const std::string &file) {
  std::stringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  return bytes.str();
}

Module load_there(const RpcSession &session, const std::string &assembly) {
  const std::string file = testing::TempDir() + "/rpc_client.vmexec";
  Executable::assemble(assembly).to_module().save(file);
  session.upload("p.vmexec", bytes_of(file));
  return session.load_module("p.vmexec");
}

Tensor copied_to(DLDevice device, const Tensor &tensor) {
  const Tensor copy(tensor.shape(), tensor.dtype(), device);
  copy.copy_from(tensor);
  return copy;
}
Floats floats_in(const Tensor &tensor) {
  const Tensor copy = copied_to({kDLCPU, 0}, tensor);
  return {copy.data<float>(), copy.data<float>() + copy.size()};
}
Floats floats_in(const Value &value) { return floats_in(Tensor::of(value)); }

struct AClient : testing::Test {
  Listener server{[](int connection) { serve_with(connection, nullptr); }};
  RpcSession session = RpcSession::connect(server.address());
  DLDevice device = session.device();
  Tensor make(const Floats &values) const { return copied_to(device, floats(values)); }
  Vm vm_of(const std::string &assembly) const {
    define_add_one();
    opd_vm_options on = defaults(opd_vm_options_init);
    on.devices = &device, on.num_devices = 1;
    return Vm(load_there(session, assembly), &on);
  }
};

TEST_F(AClient, HasTheServersDevices) {
  EXPECT_EQ(device.device_type % 128, kDLCPU);
  EXPECT_GE(device.device_type, 128);
  const std::string name = to_string(opd_device_value(device));
  EXPECT_EQ(name, "remote[" + std::to_string(device.device_type / 128 - 1) + "]:cpu:0");
  DLDevice read{};
  check(opd_device_from_string(name.c_str(), &read));
  EXPECT_EQ(read.device_type, device.device_type);
  const auto attr = [](DLDevice of, opd_device_attr which) {
    Value value;
    check(opd_device_get_attr(of, which, value.out()));
    return value;
  };
  for (const auto which : {OPD_ATTR_EXIST, OPD_ATTR_DEVICE_NAME, OPD_ATTR_MULTI_PROCESSOR_COUNT, OPD_ATTR_WARP_SIZE,
                           OPD_ATTR_TOTAL_GLOBAL_MEMORY, OPD_ATTR_MAX_THREAD_DIMENSIONS})
    EXPECT_EQ(attr(device, which).to_string(), attr({kDLCPU, 0}, which).to_string()) << which;
  const DLDevice absent = session.device({kDLMetal, 0});
  EXPECT_EQ(attr(absent, OPD_ATTR_EXIST).to_string(), "false");
  expect_throws([&] { attr(absent, OPD_ATTR_WARP_SIZE); }, OPD_UNSUPPORTED, "has no metal:0");
  expect_throws([&] { session.device(device); }, OPD_UNSUPPORTED, "of a session there");
  expect_throws([&] { copied_to(absent, floats({1})); }, OPD_UNSUPPORTED, "metal");
}

TEST_F(AClient, HasTensorsThere) {
  const Tensor tensor = make({1, 2, 3, 4});
  EXPECT_EQ(floats_in(tensor), (Floats{1, 2, 3, 4}));
  // A copy on the other side, a view of a part, another shape.
  const Tensor copy({4}, "float32", device);
  copy.copy_from(tensor);
  EXPECT_EQ(floats_in(copy), (Floats{1, 2, 3, 4}));
  DLTensor part = tensor.view();
  int64_t two = 2;
  part.shape = &two, part.strides = nullptr, part.byte_offset = 8;
  const Tensor end({2}, "float32", device);
  end.copy_from(part);
  EXPECT_EQ(floats_in(end), (Floats{3, 4}));
  EXPECT_EQ(floats_in(tensor.reshape({2, 2})), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(floats_in(Tensor({0}, "float32", device)), Floats{});
  Floats many(20'000'000);  // more than one packet
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
  EXPECT_EQ(floats_in(make(many)), many);
}

TEST_F(AClient, CallsGlobalFunctions) {
  define("test.rpc.describe_all", [](const opd_value *args, int32_t count, opd_value *out) {
    std::string text;
    for (int32_t i = 0; i < count; ++i) text += (i ? ", " : "") + to_string(args[i]);
    check(opd_string_create(text.data(), text.size(), out));
  });
  const Function describe = session.function("test.rpc.describe_all");
  EXPECT_EQ(describe(nullptr, -7, true, 0.5, DLDataType{kDLInt, 8, 1}, device, "a text that is long").string(),
            "None, -7, true, 0.5, int8, cpu:0, \"a text that is long\"");
  define("test.rpc.return",
         [](const opd_value *args, int32_t, opd_value *out) { check(opd_value_retain(&args[0], out)); });
  const Function same = session.function("test.rpc.return");
  EXPECT_EQ(same(42).view().u.int64, 42);
  EXPECT_EQ(same(0.25).view().u.float64, 0.25);
  EXPECT_EQ(same(std::string("0\0 1", 4)).string(), std::string("0\0 1", 4));
  EXPECT_EQ(same(std::string(100'000, 'x')).string(), std::string(100'000, 'x'));
  EXPECT_EQ(same(device).to_string(), to_string(opd_device_value(device)));
  EXPECT_EQ(floats_in(same(make({5, 6}))), (Floats{5, 6}));
  EXPECT_EQ(Function::of(same(same))(7).view().u.int64, 7);  // functions are values
}

TEST_F(AClient, GetsTuplesItemByItem) {
  define("test.rpc.tuple", [](const opd_value *args, int32_t count, opd_value *out) {
    opd_array *made = nullptr;
    check(opd_array_create(args, static_cast<size_t>(count), &made));
    *out = opd_value_of_object(made);
  });
  const Function tuple = session.function("test.rpc.tuple");
  const Value found = tuple(1, "two", make({3}));
  const Array items = Array::of(found);
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].view().u.int64, 1);
  EXPECT_EQ(items[1].string(), "two");
  EXPECT_EQ(floats_in(items[2]), Floats{3});
  EXPECT_EQ(Array::of(tuple()).size(), 0u);
}

TEST_F(AClient, RefusesArgumentsThatAreNotThere) {
  define_add_one();
  const Function add = session.function("test.add_one");
  expect_throws(
      [&] {
        add(floats({1, 2, 3, 4}), make({1, 2, 3, 4}));
      },
      OPD_INVALID_ARGUMENT, "argument 0 of test.add_one must lie on a device of the session with " + server.address());
  expect_throws([&] { add(DLDevice{kDLCPU, 0}); }, OPD_INVALID_ARGUMENT, "cpu:0 is not a device of the session");
  expect_throws([&] { add(make_function([](auto...) {})); }, OPD_INVALID_ARGUMENT, "a function of this process");
  expect_throws([&] { add(Executable::assemble(kAddOne).to_module()); }, OPD_INVALID_ARGUMENT, "upload its file");
  const RpcSession other = RpcSession::connect(server.address());
  expect_throws([&] { add(other.function("test.add_one")); }, OPD_INVALID_ARGUMENT, "of another session");
  expect_throws([&] { add(copied_to(other.device(), floats({1}))); }, OPD_INVALID_ARGUMENT, "must lie on a device");
  int anything = 0;
  expect_throws([&] { add(opd_pointer(&anything)); }, OPD_UNSUPPORTED, "cannot be sent");
  expect_throws([&] { session.function("test.rpc.nobody"); }, OPD_NOT_FOUND, "test.rpc.nobody");
  EXPECT_EQ(floats_in(make({1})), Floats{1}) << "the session goes on";
}

TEST_F(AClient, GetsErrorsWithKindAndMessage) {
  define("test.rpc.fails_there",
         [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("as it must"); });
  try {
    session.function("test.rpc.fails_there")();
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), OPD_CALL_FAILED);
    EXPECT_EQ(e.kind(), "RuntimeError");
    EXPECT_EQ(e.message(), "as it must (on " + server.address() + ")");
  }
  expect_throws([&] { session.load_module("absent.so"); }, OPD_CALL_FAILED, "absent.so");
  expect_throws([&] { session.upload("../x", "x"); }, OPD_INVALID_ARGUMENT, "cannot be the name of a session's file");
}

TEST_F(AClient, UploadsAndDownloadsFiles) {
  session.upload("a", "");
  session.upload("b", std::string(3'000'000, 'b'));
  EXPECT_EQ(session.download("a"), "");
  EXPECT_EQ(session.download("b"), std::string(3'000'000, 'b'));
  EXPECT_EQ(session.function("tvm.rpc.server.listdir")(".").string(), "a,b");
}

TEST_F(AClient, RunsAVmThere) {
  const Vm vm = vm_of(kAddOne);
  const Tensor x = make({1, 2, 3, 4});
  const Value y = vm.call("main", x);
  EXPECT_EQ(Tensor::of(y).view().device.device_type, device.device_type);
  EXPECT_EQ(floats_in(y), (Floats{2, 3, 4, 5}));
  EXPECT_EQ(floats_in(vm.function("main")(y)), (Floats{3, 4, 5, 6}));
  // Memory that is only lent is copied there, a tensor of this process is not.
  const Tensor here = floats({5, 6, 7, 8});
  EXPECT_EQ(floats_in(vm.call("main", &here.view())), (Floats{6, 7, 8, 9}));
  expect_throws([&] { vm.call("main", here); }, OPD_INVALID_ARGUMENT, "must lie on a device of the session");
  // In steps; inputs may come from here.
  vm.set_input("main", {arg(here)});
  vm.invoke_stateful("main");
  EXPECT_EQ(floats_in(vm.outputs("main")), (Floats{6, 7, 8, 9}));
  vm.save_function("main", "saved", {arg(x)}, false);
  EXPECT_EQ(vm.call("saved").type(), OPD_NONE);
  vm.save_function("main", "saved", {arg(x)}, true);
  EXPECT_EQ(floats_in(vm.call("saved")), (Floats{2, 3, 4, 5})) << "the name stands for the later one";
  EXPECT_EQ(vm.functions(), std::vector<std::string>{"main"});
  EXPECT_EQ(vm.params("main"), std::vector<std::string>{"x"});
  EXPECT_TRUE(vm.has_function("main"));
  EXPECT_FALSE(vm.has_function("nobody"));
  vm.trim();

  opd_call_options named = defaults(opd_call_options_init);
  const char *const names[] = {"x"};
  named.names = names;
  EXPECT_EQ(floats_in(vm.call_with(named, "main", {arg(x)})), (Floats{2, 3, 4, 5}));
  const char *const wrong[] = {"y"};
  named.names = wrong;
  expect_throws([&] { vm.call_with(named, "main", {arg(x)}); }, OPD_INVALID_ARGUMENT, "has no parameter \"y\"");
  // Results into tensors of this process.
  opd_call_options into = defaults(opd_call_options_init);
  const Tensor result({4}, "float32");
  opd_tensor *const outputs[] = {result.get()};
  into.outputs = outputs, into.num_outputs = 1;
  vm.call_with(into, "main", {arg(x)});
  EXPECT_EQ(floats_in(result), (Floats{2, 3, 4, 5}));

  expect_throws([&] { vm.call("nobody"); }, OPD_NOT_FOUND, "nobody");
  expect_throws([&] { vm.call("main", x, x); }, OPD_INVALID_ARGUMENT, "takes 1 argument");
  opd_vm_options limited = defaults(opd_vm_options_init);
  limited.memory_limit_bytes = 1000;
  expect_throws([&] { Vm(session.load_module("p.vmexec"), &limited); }, OPD_UNSUPPORTED, "memory_limit_bytes");
  const DLDevice cuda_here{kDLCUDA, 0};
  opd_vm_options elsewhere = defaults(opd_vm_options_init);
  elsewhere.devices = &cuda_here, elsewhere.num_devices = 1;
  expect_throws([&] { Vm(session.load_module("p.vmexec"), &elsewhere); }, OPD_INVALID_ARGUMENT,
                "not a device of the session");
  EXPECT_EQ(floats_in(Vm(session.load_module("p.vmexec")).call("main", x)), (Floats{2, 3, 4, 5})) << "on its CPU";
  session.upload("k.c", "int nothing(void) { return 0; }");
  expect_throws([&] { Vm(session.load_module("k.c")); }, OPD_INVALID_ARGUMENT, "has no program of a VM");
  expect_throws([&] { Vm(session.load_module("p.vmexec")).record_next_call("there.opdrec"); }, OPD_UNSUPPORTED,
                "only calls of this process can be recorded");
}

TEST_F(AClient, HasModulesThere) {
  const Module module = load_there(session, kAddOne);
  EXPECT_STREQ(module.kind(), "rpc");
  EXPECT_EQ(module.functions(), std::vector<std::string>{"main"});
  EXPECT_TRUE(module.has_function("vm_load_executable"));
  EXPECT_FALSE(module.has_function("nobody"));
  const Module imported = session.load_module("p.vmexec");
  module.add_import(imported);
  expect_throws([&] { imported.add_import(module); }, OPD_INVALID_ARGUMENT, "imports it already");
  expect_throws([&] { module.add_import(Executable::assemble(kAddOne).to_module()); }, OPD_INVALID_ARGUMENT, "upload");
}

TEST_F(AClient, MeasuresOnTheServer) {
  std::atomic<int> calls{0};
  define("test.rpc.counted", [&](const opd_value *, int32_t, opd_value *) { ++calls; });
  const Function counted = session.function("test.rpc.counted");
  opd_evaluator_options options = defaults(opd_evaluator_options_init);
  options.device = device, options.number = 10, options.repeat = 3;
  const Benchmark times = Evaluator(counted, &options)();
  EXPECT_EQ(calls, 1 + 10 * 3) << "one warm-up, then 3 repeats of 10";
  EXPECT_EQ(times.seconds().size(), 3u);
  EXPECT_EQ(times.stats().number, 10);
  EXPECT_GT(times.stats().calls_per_second, 0);
  // What TVM's servers have not: the warm-up, threads, and a function of the server before each repeat.
  std::atomic<int> begins{0};
  define("test.rpc.begins", [&](const opd_value *, int32_t, opd_value *) { ++begins; });
  const Function before = session.function("test.rpc.begins");
  calls = 0, options.concurrency = 2, options.warmup = 5, options.preprocess = before.get();
  const Benchmark more = Evaluator(counted, &options)();
  EXPECT_EQ(calls, 2 * (5 + 10 * 3));
  EXPECT_EQ(begins, 3);
  EXPECT_EQ(more.seconds().size(), 2u * 3u);
  EXPECT_EQ(more.stats().warmup_count, 2 * 5);
  const Function here = Function::of([](const opd_value *, int32_t) {});
  options.preprocess = here.get();
  expect_throws([&] { Evaluator(counted, &options); }, OPD_INVALID_ARGUMENT, "a preprocess of that machine");
  options.preprocess = nullptr, options.concurrency = 2000;
  expect_throws([&] { Evaluator(counted, &options); }, OPD_INVALID_ARGUMENT, "concurrency must be 1 to 1024");
  options.concurrency = 1, options.steady_ms = 60'000, options.warmup = 0;
  EXPECT_GT(Evaluator(counted, &options)().stats().warmup_count, 0);
  options.steady_ms = 0, options.warmup = 1;
  // A function of a program, which was saved with its arguments.
  const Vm vm = vm_of(kAddOne);
  const Tensor kept = make({1, 2, 3, 4});
  vm.save_function("main", "timed", {arg(kept)}, false);
  options.concurrency = 1, options.repeat = 2;
  EXPECT_EQ(Evaluator(vm.function("timed"), &options)().seconds().size(), 2u);
}

// A packed function that counts how many of it are alive.
Value counted(std::atomic<int> &alive) {
  ++alive;
  opd_function *made = nullptr;
  check(opd_function_create([](void *, const opd_value *, int32_t, opd_value *) -> opd_error * { return nullptr; },
                            &alive, [](void *its) { --*static_cast<std::atomic<int> *>(its); }, &made));
  Value value;
  *value.out() = opd_value_of_object(made);
  return value;
}

TEST_F(AClient, IsProfiledThere) {
  const Vm vm = vm_of(kAddOne);
  const Tensor x = make({1, 2, 3, 4});
  opd_profile_options often = defaults(opd_profile_options_init);
  const Collector memory = Collector::builtin(OPD_COLLECTOR_MEMORY), time = Collector::builtin(OPD_COLLECTOR_TIME);
  opd_collector *const collectors[] = {memory.get(), time.get()};
  often.warmup = 2, often.repeat = 3, often.details = 1;
  often.collectors = collectors, often.num_collectors = 2;
  const Profile profile = vm.profile("main", {arg(x)}, &often);
  const std::string table = profile.report.json();
  for (const char *part : {"test.add_one", "float32[4]", "\"Run\"", "Allocated", "cpu0", "Collector cost: memory (us)"})
    EXPECT_NE(table.find(part), std::string::npos) << part << " is not in " << table;
  // The trace has the runs on the clock of this process, and says where they were.
  const std::string json = profile.trace.chrome();
  EXPECT_EQ(profile.trace.size() % 3, 0u) << "the warm-up is not in it";
  EXPECT_GE(profile.trace.size(), 3u);
  EXPECT_NE(json.find(server.address()), std::string::npos) << json.substr(0, 1000);
  // A saved function, one with inputs, and without a trace.
  vm.save_function("main", "saved", {arg(x)});
  EXPECT_NE(vm.profile("saved", {}).report.json().find("test.add_one"), std::string::npos);
  vm.set_input("main", {arg(x)});
  opd_report *only = nullptr;
  check(opd_vm_profile(vm.get(), "main", nullptr, 0, nullptr, nullptr, &only, nullptr));
  EXPECT_NE(Report(only).json().find("test.add_one"), std::string::npos);
  EXPECT_EQ(session.function("tvm.rpc.server.listdir")(".").string(), "p.vmexec") << "the trace is not left there";
  // The calls of the warm-up are made, though they are not in it.
  std::atomic<int> calls{0};
  define("test.rpc.kernel", [&](const opd_value *, int32_t, opd_value *) { ++calls; });
  vm_of(".func main(x) {\n  call test.rpc.kernel(%x)\n  ret %void\n}").profile("main", {arg(x)}, &often);
  EXPECT_EQ(calls, 2 + 3);
  // Only the server looks whether it has the events of a collector for other machines.
  const char *const unknown[] = {"no-such-event"};
  opd_counter_options there = defaults(opd_counter_options_init);
  there.events = unknown, there.num_events = 1, there.elsewhere = 1;
  const Collector of_there = Collector::builtin(OPD_COLLECTOR_PERF, &there);
  opd_collector *const theirs[] = {of_there.get()};
  often.collectors = theirs, often.num_collectors = 1;
  expect_throws([&] { vm.profile("main", {arg(x)}, &often); }, OPD_CALL_FAILED, "no-such-event");
  // What cannot be: collectors of this program, functions that are not there, a server of another kind.
  struct Own {
    void *start(DLDevice) { return this; }
    void stop(void *, const Metrics &) {}
  };
  const Collector own = Collector::of("own", Own());
  opd_collector *const mine[] = {own.get()};
  often.collectors = mine, often.num_collectors = 1;
  expect_throws([&] { vm.profile("main", {arg(x)}, &often); }, OPD_UNSUPPORTED, "own is this program's own");
  expect_throws([&] { vm.profile("nobody", {}); }, OPD_CALL_FAILED, "nobody");
  define("test.rpc.breaks", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("it breaks"); });
  const Vm broken = vm_of(".func main(x) {\n  call test.rpc.breaks(%x)\n  ret %void\n}");
  often.collectors = nullptr, often.num_collectors = 0, often.warmup = 0;
  expect_throws([&] { broken.profile("main", {arg(x)}, &often); }, OPD_CALL_FAILED, "it breaks");
  EXPECT_EQ(session.function("tvm.rpc.server.listdir")(".").string(), "p.vmexec") << "nor after a failure";
  often.collectors = nullptr, often.num_collectors = 0, often.repeat = 0;
  expect_throws([&] { vm.profile("main", {arg(x)}, &often); }, OPD_INVALID_ARGUMENT, "repeat");
}

TEST_F(AClient, IsRecordedThereFromAStartToAStop) {
  const Vm vm = vm_of(kAddOne), other = vm_of(kAddOne);
  const Tensor x = make({1, 2, 3, 4});
  expect_throws([&] { vm.profile_stop(); }, OPD_CALL_FAILED, "the VM is not being profiled");
  opd_profile_options how = defaults(opd_profile_options_init);
  const Collector memory = Collector::builtin(OPD_COLLECTOR_MEMORY);
  opd_collector *const collectors[] = {memory.get()};
  how.collectors = collectors, how.num_collectors = 1, how.sample_interval = 2;
  vm.call("main", x);
  vm.profile_start(&how);
  other.profile_start();
  expect_throws([&] { vm.profile_start(); }, OPD_CALL_FAILED, "the VM is being profiled already");
  for (int i = 0; i < 6; ++i) vm.call("main", x);
  other.call("main", x);
  const Profile profile = vm.profile_stop();
  const std::string table = profile.report.json();
  for (const char *part : {"test.add_one", "float32[4]", "Allocated", "Collector note: memory"})
    EXPECT_NE(table.find(part), std::string::npos) << part << " is not in " << table;
  EXPECT_EQ(profile.trace.size() % 3, 0u) << "of 6 calls, 3 are recorded";
  EXPECT_GE(profile.trace.size(), 3u);
  EXPECT_NE(profile.trace.chrome().find(server.address()), std::string::npos);
  opd_report *only = nullptr;
  check(opd_vm_profile_stop(other.get(), &only, nullptr));
  EXPECT_NE(Report(only).json().find("test.add_one"), std::string::npos);
  EXPECT_EQ(session.function("tvm.rpc.server.listdir")(".").string(), "p.vmexec") << "the files are not left there";
}

TEST_F(AClient, RequestsAreRangesOfARecording) {
  const Vm vm = vm_of(kAddOne);
  const opdyno::Profiler profiler;
  profiler.start();
  const Tensor x = make({1, 2, 3, 4});
  floats_in(vm.call("main", x));
  session.upload("f", "content");
  const std::string json = profiler.stop().chrome();
  for (const char *range : {"rpc call main", "rpc copy to", "rpc copy from", "rpc upload f"})
    EXPECT_NE(json.find(range), std::string::npos) << range << " is not in " << json.substr(0, 3000);
}

TEST_F(AClient, FreesObjectsOfTheServer) {
  std::atomic<int> alive{0};
  define("test.rpc.make", [&](const opd_value *, int32_t, opd_value *out) {
    const Value made = counted(alive);
    check(opd_value_retain(&made.view(), out));
  });
  const Function maker = session.function("test.rpc.make");
  for (int i = 0; i < 1000; ++i) maker();           // the result is dropped each time
  session.function("tvm.rpc.server.listdir")(".");  // behind the last one in the queue
  EXPECT_EQ(alive, 0);
  {
    const Value kept = maker();
    EXPECT_EQ(alive, 1);
    session.close();
  }
  while (server.open > 0) std::this_thread::yield();
  EXPECT_EQ(alive, 0) << "the server frees what the session had";
}

TEST_F(AClient, DropsObjectsWhileTheServerIsBusy) {
  std::atomic<int> alive{0};
  define("test.rpc.make", [&](const opd_value *, int32_t, opd_value *out) {
    const Value made = counted(alive);
    check(opd_value_retain(&made.view(), out));
  });
  const Gate gate;
  const Function maker = session.function("test.rpc.make"), waits = session.function("test.rpc.waits");
  std::vector<Value> many;
  for (int i = 0; i < 1000; ++i) many.push_back(maker());
  const CancelToken token = CancelToken::create();
  token.set_default();
  token.cancel();
  expect_throws([&] { waits(); }, OPD_CANCELLED, "in test.rpc.waits");
  many.clear();  // the server answers none of these requests before the gate opens
  EXPECT_EQ(alive, 1000);
  token.reset();
  CancelToken().set_default();
  gate.open();
  session.function("tvm.rpc.server.listdir")(".");
  EXPECT_EQ(alive, 0);
}

TEST_F(AClient, IsUsedByManyThreads) {
  define_add_one();
  const Vm vm = vm_of(kAddOne);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto first = static_cast<float>(100 * t + i);
        EXPECT_EQ(floats_in(vm.call("main", make({first, 0, 0, 0})))[0], first + 1);
      }
    });
  for (std::thread &thread : threads) thread.join();
}

TEST_F(AClient, IsKeptOpenByItsTensors) {
  const Tensor tensor = make({1, 2});
  session = RpcSession();
  EXPECT_EQ(floats_in(tensor), (Floats{1, 2}));
  EXPECT_EQ(server.open, 1);
}

TEST_F(AClient, DoesNothingAfterItsEnd) {
  const Tensor tensor = make({1, 2});
  const Function function = session.function("tvm.rpc.server.listdir");
  const Vm vm = vm_of(kAddOne);
  session.close();
  session.close();
  expect_throws([&] { function("."); }, OPD_IO, "has ended: it was closed");
  expect_throws([&] { floats_in(tensor); }, OPD_UNSUPPORTED, "has ended: it was closed");
  expect_throws([&] { vm.call("main", tensor); }, OPD_IO, "it was closed");
  EXPECT_NE(session.describe().find("\"absence\":\"the session with"), std::string::npos) << session.describe();
}

TEST_F(AClient, EndsWithItsWait) {
  const Gate gate;
  const Function waits = session.function("test.rpc.waits");
  std::thread closing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    session.close();
  });
  expect_throws([&] { waits(); }, OPD_IO, "in test.rpc.waits");
  closing.join();
}

TEST_F(AClient, MayEndWhileOthersUseIt) {
  for (int round = 0; round < 20; ++round) {
    const RpcSession shared = RpcSession::connect(server.address());
    const Function list = shared.function("tvm.rpc.server.listdir");
    std::atomic<int> running{4};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        try {
          --running;
          for (;;) list(".");
        } catch (const Error &e) { EXPECT_EQ(e.code(), OPD_IO) << e.what(); }
      });
    while (running > 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
    shared.close();
    for (std::thread &thread : threads) thread.join();
  }
}

TEST_F(AClient, CanBeCancelledAndGoesOn) {
  const Gate gate;
  std::atomic<int> alive{0};
  define("test.rpc.waits_and_makes", [&](const opd_value *, int32_t, opd_value *out) {
    Function::global("test.rpc.waits")();
    const Value made = counted(alive);
    check(opd_value_retain(&made.view(), out));
  });
  const Function waits = session.function("test.rpc.waits_and_makes");
  const CancelToken token = CancelToken::create();
  token.set_default();
  std::thread cancelling([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    token.cancel();
  });
  expect_throws([&] { waits(); }, OPD_CANCELLED, "in test.rpc.waits_and_makes");
  cancelling.join();
  token.reset();
  CancelToken().set_default();
  gate.open();
  EXPECT_EQ(floats_in(make({1, 2})), (Floats{1, 2})) << "the next request waits for the end of the last";
  EXPECT_EQ(floats_in(make({1, 2})), (Floats{1, 2}));
  EXPECT_EQ(alive, 0) << "what nobody waited for is freed";
}

TEST_F(AClient, HasDeadlines) {
  {
    const Gate gate;
    const Vm vm = vm_of(".func main() {\n  call test.rpc.waits()\n  ret %void\n}");
    opd_call_options soon = defaults(opd_call_options_init);
    soon.timeout_ns = 20'000'000;
    expect_throws([&] { vm.call_with(soon, "main", {}); }, OPD_DEADLINE_EXCEEDED, "in main");
    const CancelToken token = CancelToken::create();
    token.cancel();
    opd_call_options cancelled = defaults(opd_call_options_init);
    cancelled.cancel = token.get();
    expect_throws([&] { vm.call_with(cancelled, "main", {}); }, OPD_CANCELLED, "in main");
    gate.open();
    vm.call("main");
  }
  const Gate gate;
  opd_rpc_connect_options hasty = how();
  hasty.answer_timeout_ns = 20'000'000;
  const RpcSession other = RpcSession::connect(server.address(), &hasty);
  expect_throws([&] { other.function("test.rpc.waits")(); }, OPD_DEADLINE_EXCEEDED, "in test.rpc.waits");
}

TEST_F(AClient, CannotBeUsedInAForkedChild) {
  const Tensor tensor = make({1, 2});
  const Function function = session.function("tvm.rpc.server.listdir");
  const pid_t child = fork();
  if (child == 0) {
    opd_value result = opd_none();
    opd_value dot = opd_cstring(".");
    opd_error *error = opd_function_call(function.get(), &dot, 1, &result);
    const bool is_right = error && opd_error_code(error) == OPD_IO &&
                          std::string(opd_error_message(error)).find("called fork()") != std::string::npos;
    opd_error_release(error);
    { const Tensor also = tensor; }
    opd_rpc_session_close(session.get());
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(floats_in(tensor), (Floats{1, 2})) << "the child left the connection alone";
}

TEST_F(AClient, CanOpen255Sessions) {
  for (int round = 0; round < 3; ++round) {
    std::vector<RpcSession> many;
    for (int i = 0; i < 255; ++i) many.push_back(RpcSession::connect(server.address()));
    EXPECT_EQ(floats_in(copied_to(many.back().device(), floats({1, 2}))), (Floats{1, 2}));
    expect_throws([&] { RpcSession::connect(server.address()); }, OPD_OUT_OF_RANGE, "256 sessions");
  }
  EXPECT_EQ(floats_in(copied_to(RpcSession::connect(server.address()).device(), floats({3}))), Floats{3})
      << "numbers of sessions that ended are given again";
}

}  // namespace
}  // namespace opdyno_test
