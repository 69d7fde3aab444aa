// What a server does for one client. The client is this test: its packets have the layout that TVM's own client sends.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/add_one.h"
#include "support/rpc_client.h"
#include "support/rpc_servers.h"
#include "support/simulated_device.h"

namespace opdyno_test {
namespace {

using Floats = std::vector<float>;

std::atomic<int> instrumented{0};  // calls that an instrument saw

struct ASession : testing::Test {
  RawSession session;
  void SetUp() override { session.begin(); }
  uint64_t upload_program(const std::string &assembly) {
    const std::string file = testing::TempDir() + "/rpc.vmexec";
    Executable::assemble(assembly).to_module().save(file);
    std::stringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    session.call("tvm.rpc.server.upload", 2, Packet().string("p.vmexec").bytes(bytes.str()));
    return session.call("tvm.rpc.server.load_module", 1, Packet().string("p.vmexec")).object(OPD_MODULE);
  }
  uint64_t function_of(uint64_t module, const std::string &name) {
    const uint64_t get = session.function("tvm.rpc.server.ModuleGetFunction");
    return session.call(get, 3, Packet().object(OPD_MODULE, module).string(name).raw<int32_t>(OPD_BOOL).raw<int64_t>(0))
        .object(OPD_FUNCTION);
  }
  // A VM of the program on the CPU.
  uint64_t vm_of(const std::string &assembly) {
    const uint64_t load = function_of(upload_program(assembly), "vm_load_executable");
    const uint64_t vm = session.call(load).object(OPD_MODULE);
    EXPECT_EQ(session.call(function_of(vm, "vm_initialization"), 3, Packet().integer(1).integer(0).integer(2)).type(),
              OPD_NONE);
    return vm;
  }
  // A tensor that a call returned: its data, after its shape was compared.
  uint64_t tensor_in(Reply reply, const std::vector<int64_t> &dims) {
    EXPECT_EQ(reply.type(3), OPD_TENSOR);
    EXPECT_EQ(reply.take<int32_t>(), OPD_DLTENSOR);
    const auto data = reply.take<uint64_t>();
    reply.take<DLDevice>();
    EXPECT_EQ(reply.take<int32_t>(), static_cast<int32_t>(dims.size()));
    reply.take<DLDataType>();
    for (const int64_t dim : dims) EXPECT_EQ(reply.take<int64_t>(), dim);
    EXPECT_EQ(reply.take<uint64_t>(), 0u) << "byte offset";
    EXPECT_EQ(reply.take<int32_t>(), OPD_POINTER);
    EXPECT_EQ(reply.take<uint64_t>(), data) << "by which the client frees it";
    return data;
  }
  void expect_refused(Reply reply, const std::string &part) {
    const std::string message = reply.message();
    EXPECT_NE(message.find(part), std::string::npos) << "\"" << part << "\" is not in: " << message;
  }
  void expect_alive() { EXPECT_EQ(session.read(session.make({1, 2}), 2), (Floats{1, 2})); }
};

TEST_F(ASession, HasTensorsOfTheClient) {
  const uint64_t data = session.make({1, 2, 3, 4});
  EXPECT_EQ(session.read(data, 4), (Floats{1, 2, 3, 4}));
  const uint64_t other = session.allocate({4});
  session.ask(kCopyAmongRemote, Packet().raw<int32_t>(3).tensor(data, {4}).tensor(other, {4}).handle(0)).expect_done();
  EXPECT_EQ(session.read(other, 4), (Floats{1, 2, 3, 4}));
  session.ask(kDevStreamSync, Packet().raw<int32_t>(2).device().handle(0)).expect_done();
  // A part of it, as a view with an offset.
  Reply part = session.ask(kCopyFromRemote, Packet().view(data, {2}, 8).raw<uint64_t>(8));
  EXPECT_EQ(part.rest(), Packet().raw(3.f).raw(4.f).str());
  session.ask(kDevFreeData, Packet().raw<int32_t>(2).device().handle(data)).expect_done();
  expect_refused(session.ask(kCopyFromRemote, Packet().view(data, {4}).raw<uint64_t>(16)), "no object number");
  expect_refused(session.ask(kDevFreeData, Packet().raw<int32_t>(2).device().handle(data)),
                 "no memory with the number");
}

TEST_F(ASession, HasLargeTensors) {
  Floats many(3'000'000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
  EXPECT_EQ(session.read(session.make(many), static_cast<int64_t>(many.size())), many);
}

TEST_F(ASession, KeepsATensorWithinItsMemory) {
  const uint64_t data = session.make({1, 2, 3, 4});
  const auto ask = [&](const Packet &view, uint64_t size) {
    return session.ask(kCopyFromRemote, Packet(view).raw<uint64_t>(size));
  };
  expect_refused(ask(Packet().view(data, {5}), 20), "does not lie in memory of 16 bytes");
  expect_refused(ask(Packet().view(data, {1}, 16), 4), "does not lie in memory of 16 bytes");
  expect_refused(ask(Packet().view(data, {1}, UINT64_MAX), 4), "does not lie in memory of 16 bytes");
  expect_refused(ask(Packet().view(data, {INT64_MAX, INT64_MAX}), 4), "cannot be expressed");
  expect_refused(ask(Packet().view(data, {4}), 8), "asks for 8 bytes of a tensor of 16");
  expect_refused(ask(Packet().view(data, {4}, 0, {kDLFloat, 32, 0}), 0), "elements of dtype");
  expect_refused(ask(Packet().view(data, {4}, 0, {kDLFloat, 32, 1}, {kDLOpenCL, 0}), 16),
                 "is on cpu:0, not on opencl:0");
  expect_refused(ask(Packet().view(data, {-4}), 16), "dimension");
  expect_refused(ask(Packet().view(0xDEADBEEF, {4}), 16), "no object number");
  expect_refused(ask(Packet().view(session.function("tvm.rpc.server.upload"), {4}), 16), "must be ffi.Tensor");
  expect_refused(session.ask(kCopyToRemote, Packet().view(data, {5}).text(std::string(20, 'x'))), "does not lie in");
  expect_refused(session.ask(kCopyToRemote, Packet().view(data, {3}).text(std::string(16, 'x'))), "sends 16 bytes");
  expect_refused(session.ask(kCopyToRemote, Packet().view(data, {4}).raw<uint64_t>(16).plain("short")),
                 "number of bytes");
  // All of a large one that is refused is read, so that the next request is understood.
  expect_refused(session.ask(kCopyToRemote, Packet().view(7777, {1000000}).text(std::string(4000000, 'x'))),
                 "no object number");
  EXPECT_EQ(session.read(data, 4), (Floats{1, 2, 3, 4}));
}

TEST_F(ASession, CallsGlobalFunctions) {
  define("test.rpc.describe", [](const opd_value *args, int32_t count, opd_value *out) {
    std::string text;
    for (int32_t i = 0; i < count; ++i) text += (i ? ", " : "") + to_string(args[i]);
    check(opd_string_create(text.data(), text.size(), out));
  });
  Packet values;
  values.none().integer(-7).raw<int32_t>(OPD_BOOL).raw<int64_t>(1).raw<int32_t>(OPD_FLOAT).raw(0.5);
  values.raw<int32_t>(OPD_DTYPE).raw(DLDataType{kDLInt, 8, 1}).raw<int32_t>(0).device({kDLCPU, 3}).string("a\0b");
  Reply reply = session.call("test.rpc.describe", 7, values);
  EXPECT_EQ(reply.type(), OPD_STRING);
  EXPECT_EQ(reply.take<int32_t>(), OPD_CSTRING);
  EXPECT_EQ(reply.take_text(), "None, -7, true, 0.5, int8, cpu:3, \"a\"");
  EXPECT_EQ(session.function("test.rpc.nobody"), 0u);
  define("test.rpc.fails", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("as it must"); });
  EXPECT_EQ(session.call("test.rpc.fails").message(), "RuntimeError: as it must");
  define("test.rpc.pointer",
         [](const opd_value *, int32_t, opd_value *out) { *out = opd_pointer(const_cast<char *>(kAddOne)); });
  expect_refused(session.call("test.rpc.pointer"), "cannot be sent");
  define("test.rpc.same",
         [](const opd_value *args, int32_t, opd_value *out) { check(opd_value_retain(&args[0], out)); });
  Reply bytes = session.call("test.rpc.same", 1, Packet().bytes(std::string("\0\1\2", 3)));
  EXPECT_EQ(bytes.type(), OPD_BYTES);
  EXPECT_EQ(bytes.take<int32_t>(), OPD_BYTES_VIEW);
  EXPECT_EQ(bytes.take_text(), std::string("\0\1\2", 3));
  expect_refused(session.call("test.rpc.same", 1, Packet().handle(0xDEAD)), "argument 0 is an address");
  expect_refused(session.call("test.rpc.same", 2, Packet().none().tensor(0, {2})),
                 "argument 1 is a tensor without data");
  EXPECT_EQ(session.call("test.rpc.same", 1, Packet().handle(0)).type(), OPD_NONE);
  // Functions are values, too.
  const uint64_t itself = session.function("test.rpc.same");
  session.call(itself, 1, Packet().object(OPD_FUNCTION, itself)).object(OPD_FUNCTION);
  EXPECT_EQ(session.read(tensor_in(session.call(itself, 1, Packet().tensor(session.make({5, 6}), {2})), {2}), 2),
            (Floats{5, 6}));
}

TEST_F(ASession, HasFilesOfTheClientUntilItEnds) {
  const auto text_of = [&](const std::string &name, int32_t count, const Packet &values) {
    Reply reply = session.call("tvm.rpc.server." + name, count, values);
    reply.type();
    reply.take<int32_t>();
    return reply.take_text();
  };
  EXPECT_EQ(session.call("tvm.rpc.server.upload", 2, Packet().string("b").bytes("content")).type(), OPD_NONE);
  EXPECT_EQ(session.call("tvm.rpc.server.upload", 2, Packet().string("a").bytes("")).type(), OPD_NONE);
  EXPECT_EQ(text_of("download", 1, Packet().string("b")), "content");
  EXPECT_EQ(text_of("listdir", 1, Packet().string(".")), "a,b");
  const std::string path = text_of("workpath", 1, Packet().string("b"));
  EXPECT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_EQ(session.call("tvm.rpc.server.remove", 1, Packet().string("a")).type(), OPD_NONE);
  EXPECT_EQ(text_of("listdir", 1, Packet().string(".")), "b");
  for (const std::string name : {"", "..", "../b", "/etc/passwd", ".hidden", "d/b", "a\nb"}) {
    expect_refused(session.call("tvm.rpc.server.upload", 2, Packet().string(name).bytes("x")),
                   "cannot be the name of a session's file");
    expect_refused(session.call("tvm.rpc.server.download", 1, Packet().string(name)),
                   "cannot be the name of a session's file");
  }
  expect_refused(session.call("tvm.rpc.server.load_module", 1, Packet().string("absent.so")), "absent.so");
  EXPECT_EQ(session.end(), nullptr);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path())) << path;
}

TEST_F(ASession, RunsAVm) {
  define_add_one();
  const uint64_t vm = vm_of(kAddOne);
  const uint64_t x = session.make({1, 2, 3, 4});
  const Packet tensor = Packet().tensor(x, {4});
  EXPECT_EQ(session.read(tensor_in(session.call(function_of(vm, "main"), 1, tensor), {4}), 4), (Floats{2, 3, 4, 5}));
  // With inputs that stay, and outputs that are fetched when they are wanted.
  const Packet main = Packet().string("main");
  EXPECT_EQ(session.call(function_of(vm, "set_input"), 2, Packet(main).plain(tensor.str())).type(), OPD_NONE);
  EXPECT_EQ(session.call(function_of(vm, "invoke_stateful"), 1, main).type(), OPD_NONE);
  Reply arity = session.call(function_of(vm, "get_output_arity"), 1, main);
  EXPECT_EQ(arity.type(), OPD_INT);
  arity.take<int32_t>();
  EXPECT_EQ(arity.take<int64_t>(), -1);
  EXPECT_EQ(session.read(tensor_in(session.call(function_of(vm, "get_output"), 1, main), {4}), 4),
            (Floats{2, 3, 4, 5}));
  Reply count = session.call(function_of(vm, "get_function_arity"), 1, main);
  EXPECT_EQ(count.type(), OPD_INT);
  count.take<int32_t>();
  EXPECT_EQ(count.take<int64_t>(), 1);
  Reply name = session.call(function_of(vm, "get_function_param_name"), 2, Packet(main).integer(0));
  EXPECT_EQ(name.type(), OPD_STRING);
  name.take<int32_t>();
  EXPECT_EQ(name.take_text(), "x");
  // Saved with its argument, so that nothing is sent when it is timed.
  Packet saved = Packet(main).string("saved").raw<int32_t>(OPD_BOOL).raw<int64_t>(0).plain(tensor.str());
  EXPECT_EQ(session.call(function_of(vm, "save_function"), 4, saved).type(), OPD_NONE);
  EXPECT_EQ(session.call(function_of(vm, "saved")).type(), OPD_NONE);
  expect_refused(session.call(function_of(vm, "get_function_param_name"), 2, Packet(main).integer(1)), "none at 1");
  expect_refused(session.call(function_of(vm, "invoke_stateful"), 1, Packet().string("nobody")), "nobody");
  expect_refused(session.call(function_of(vm, "set_input")), "is missing");
}

TEST_F(ASession, RefusesAVmWithoutDevices) {
  const uint64_t module = session.call(function_of(upload_program(kAddOne), "vm_load_executable")).object(OPD_MODULE);
  expect_refused(session.call(function_of(module, "invoke_stateful"), 1, Packet().string("main")), "no devices yet");
  const uint64_t initialize = function_of(module, "vm_initialization");
  expect_refused(session.call(initialize, 2, Packet().integer(1).integer(0)), "was given 2 arguments");
  expect_refused(session.call(initialize, 3, Packet().integer(1).integer(0).integer(9)), "allocator is 9");
  expect_refused(session.call(initialize, 3, Packet().integer(99).integer(0).integer(2)), "");
  expect_alive();
}

TEST_F(ASession, MeasuresFunctions) {
  int calls = 0;
  define("test.rpc.counts", [&](const opd_value *, int32_t, opd_value *) { ++calls; });
  Packet how = Packet().none().string("test.rpc.counts").integer(1).integer(0).integer(10).integer(3).integer(0);
  how.integer(100).integer(0).integer(1).integer(0).string("");
  const uint64_t evaluate = session.call("runtime.RPCTimeEvaluator", 12, how).object(OPD_FUNCTION);
  Reply found = session.call(evaluate);
  EXPECT_EQ(found.type(), OPD_BYTES);
  found.take<int32_t>();
  const std::string bytes = found.take_text();
  ASSERT_EQ(bytes.size(), 3 * sizeof(double));
  for (size_t i = 0; i < 3; ++i) {
    double seconds;
    std::memcpy(&seconds, bytes.data() + i * sizeof seconds, sizeof seconds);
    EXPECT_TRUE(seconds >= 0 && seconds < 10) << seconds;
  }
  EXPECT_EQ(calls, 1 + 10 * 3) << "one warm-up, then 3 repeats of 10";
  expect_refused(session.call("runtime.RPCTimeEvaluator", 1, Packet().none()), "takes 12 arguments");
}

TEST_F(ASession, HasStreamsOfItsOwn) {
  const auto now = [&] { return session.ask(kDevGetCurrentStream, Packet().raw<int32_t>(1).device()).handle(); };
  EXPECT_EQ(now(), 0u);
  expect_refused(session.ask(kDevSetStream, Packet().raw<int32_t>(2).device().handle(1)), "no stream of cpu:0");
  expect_refused(session.ask(kDevFreeStream, Packet().raw<int32_t>(2).device().handle(7)), "no stream of cpu:0");
  session.ask(kDevSetDevice, Packet().raw<int32_t>(1).device()).expect_done();
  Reply exists = session.ask(kDevGetAttr, Packet().raw<int32_t>(2).device().integer(OPD_ATTR_EXIST));
  EXPECT_EQ(exists.code, kReturn);
  Reply absent = session.ask(kDevGetAttr, Packet().raw<int32_t>(2).device({kDLMetal, 0}).integer(1));
  absent.expect_done();
}

// The streams and the memory of a device that is not the host.
TEST_F(ASession, HasDevicesWithStreams) {
  SimulatedDevice &simulated = SimulatedDevice::get();
  const DLDevice first = simulated.device(), second = simulated.device(1);
  const DLDataType float32 = {kDLFloat, 32, 1};
  const SimulatedDevice::Counts before = simulated.counts();
  const auto create = [&](DLDevice device) {
    return session.ask(kDevCreateStream, Packet().raw<int32_t>(1).device(device)).handle();
  };
  const auto ask = [&](int32_t code, DLDevice device, uint64_t stream) {
    return session.ask(code, Packet().raw<int32_t>(2).device(device).handle(stream));
  };
  const auto now = [&](DLDevice device) {
    return session.ask(kDevGetCurrentStream, Packet().raw<int32_t>(1).device(device)).handle();
  };
  EXPECT_EQ(create(first), 1u);
  EXPECT_EQ(create(first), 2u);
  EXPECT_EQ(create(second), 3u);
  EXPECT_EQ(simulated.counts().streams, before.streams + 3);
  ask(kDevSetStream, first, 2).expect_done();
  ask(kDevSetStream, second, 3).expect_done();
  EXPECT_EQ(now(first), 2u);
  EXPECT_EQ(now(second), 3u);
  ask(kDevSetStream, second, 0).expect_done();
  EXPECT_EQ(now(second), 0u);
  for (const int32_t code : {kDevSetStream, kDevStreamSync, kDevFreeStream}) {
    expect_refused(ask(code, second, 2), "the client has no stream of vpi:1 with the number 2");
    expect_refused(ask(code, first, 4), "the client has no stream of vpi:0 with the number 4");
  }
  ask(kDevFreeStream, first, 1).expect_done();
  expect_refused(ask(kDevFreeStream, first, 1), "the client has no stream of vpi:0 with the number 1");
  EXPECT_EQ(simulated.counts().streams, before.streams + 2);

  const auto allocate = [&](DLDevice device) {
    const Packet wanted = Packet().raw<int32_t>(2).tensor(0, {3}, 0, float32, device).string("global");
    return session.ask(kDevAllocDataWithScope, wanted).handle();
  };
  const uint64_t there = allocate(first), host = session.make({7, 8, 9});
  const Packet view = Packet().view(there, {3}, 0, float32, first);
  const auto read = [&] { return session.ask(kCopyFromRemote, Packet(view).raw<uint64_t>(12)); };
  const std::string numbers = Packet().raw(1.f).raw(2.f).raw(3.f).str();
  session.ask(kCopyToRemote, Packet(view).text(numbers)).expect_done();
  Reply got = read();
  EXPECT_EQ(got.code, kCopyAck);
  EXPECT_EQ(got.rest(), numbers);
  session
      .ask(kCopyAmongRemote, Packet().raw<int32_t>(3).tensor(host, {3}).tensor(there, {3}, 0, float32, first).handle(0))
      .expect_done();
  ask(kDevStreamSync, first, 2).expect_done();
  EXPECT_EQ(read().rest(), Packet().raw(7.f).raw(8.f).raw(9.f).str());
  simulated.fail_from(1);
  expect_refused(session.ask(kCopyToRemote, Packet(view).text(numbers)), "the simulated device has a fault");
  expect_refused(read(), "the simulated device has a fault");
  simulated.fail_from(0);
  EXPECT_EQ(read().rest(), Packet().raw(7.f).raw(8.f).raw(9.f).str());

  const auto attr = [&](DLDevice device, opd_device_attr which) {
    return session.ask(kDevGetAttr, Packet().raw<int32_t>(2).device(device).integer(which));
  };
  const std::string one = Packet().raw<int32_t>(1).str();
  EXPECT_EQ(attr(first, OPD_ATTR_MAX_THREADS_PER_BLOCK).rest(), Packet().plain(one).integer(256).str());
  EXPECT_EQ(attr(first, OPD_ATTR_DEVICE_NAME).rest(), Packet().plain(one).string("simulated").str());
  EXPECT_EQ(attr(simulated.device(2), OPD_ATTR_DEVICE_NAME).rest(), Packet().plain(one).none().str());
  EXPECT_EQ(attr(simulated.device(2), OPD_ATTR_EXIST).rest(),
            Packet().plain(one).raw<int32_t>(OPD_BOOL).raw<int64_t>(0).str());
  EXPECT_EQ(attr(first, OPD_ATTR_EXIST).rest(), Packet().plain(one).raw<int32_t>(OPD_BOOL).raw<int64_t>(1).str());
  EXPECT_EQ(session.end(), nullptr);
  EXPECT_EQ(simulated.counts().streams, before.streams) << "the session's end frees them, also the current one";
  EXPECT_EQ(simulated.counts().blocks, before.blocks);
}

TEST_F(ASession, AllocatesAsOlderClientsAsk) {
  const Packet wanted = Packet().raw<int32_t>(4).device().integer(8).integer(64).raw<int32_t>(OPD_DTYPE);
  const uint64_t data =
      session.ask(kDevAllocData, Packet(wanted).raw(DLDataType{kDLFloat, 32, 1}).raw<int32_t>(0)).handle();
  session.write(data, {1, 2}).expect_done();
  const Packet bytes = Packet().view(data, {8}, 0, {kDLUInt, 8, 1});
  session.ask(kCopyToRemote, Packet(bytes).text("12345678")).expect_done();
  EXPECT_EQ(session.ask(kCopyFromRemote, Packet(bytes).raw<uint64_t>(8)).rest(), "12345678");
}

// All that a session offers, but the functions of programs.
TEST_F(ASession, RefusesWrongNumbersOfArguments) {
  const std::string server = "tvm.rpc.server.";
  const auto refusal = [&](const std::string &name, int32_t count) {
    Packet values;
    for (int32_t i = 0; i < count; ++i) values.string("x");
    return session.call(name, count, values).message();
  };
  for (const char *name : {"download", "remove", "workpath", "load_module", "download_linked_module"})
    for (const int32_t count : {0, 2})
      EXPECT_EQ(refusal(server + name, count),
                std::string("ValueError: ") + name + " takes 1 arguments, but was given " + std::to_string(count));
  for (const int32_t count : {0, 1, 3})
    EXPECT_EQ(refusal(server + "upload", count),
              "ValueError: upload takes 2 arguments, but was given " + std::to_string(count));
  for (const int32_t count : {2, 4})
    EXPECT_EQ(refusal(server + "ModuleGetFunction", count),
              "ValueError: ModuleGetFunction takes a module, a name and a bool");
  for (const int32_t count : {1, 3})
    EXPECT_EQ(refusal(server + "ImportModule", count), "ValueError: ImportModule takes two modules");
  for (const int32_t count : {0, 2}) {
    EXPECT_EQ(refusal("opdyno.rpc.list_functions", count), "ValueError: opdyno.rpc.list_functions takes a module");
    EXPECT_EQ(refusal("ffi.ArraySize", count),
              "ValueError: ffi.ArraySize takes 1 arguments, but was given " + std::to_string(count));
  }
  for (const int32_t count : {1, 3})
    EXPECT_EQ(refusal("ffi.ArrayGetItem", count),
              "ValueError: ffi.ArrayGetItem takes 2 arguments, but was given " + std::to_string(count));
  for (const int32_t count : {11, 13})
    EXPECT_EQ(refusal("runtime.RPCTimeEvaluator", count),
              "ValueError: runtime.RPCTimeEvaluator takes 12 arguments, but was given " + std::to_string(count));
  for (const int32_t count : {14, 16})
    EXPECT_EQ(refusal("opdyno.rpc.evaluator", count),
              "ValueError: opdyno.rpc.evaluator takes 15 arguments, but was given " + std::to_string(count));
  EXPECT_EQ(session.function(server + "nothing"), 0u);
}

TEST_F(ASession, HasTheItemsOfArrays) {
  define("test.rpc.pair", [](const opd_value *args, int32_t count, opd_value *out) {
    opd_array *made = nullptr;
    check(opd_array_create(args, static_cast<size_t>(count), &made));
    *out = opd_value_of_object(made);
  });
  const uint64_t pair = session.call("test.rpc.pair", 2, Packet().integer(5).integer(6)).object(OPD_ARRAY);
  const Packet array = Packet().raw<int32_t>(115).raw<int32_t>(115).raw(pair);
  const auto number = [](Reply reply) {
    EXPECT_EQ(reply.type(), OPD_INT);
    EXPECT_EQ(reply.take<int32_t>(), OPD_INT);
    return reply.take<int64_t>();
  };
  EXPECT_EQ(number(session.call("ffi.ArraySize", 1, array)), 2);
  for (const int64_t place : {0, 1})
    EXPECT_EQ(number(session.call("ffi.ArrayGetItem", 2, Packet(array).integer(place))), 5 + place);
  for (const int64_t place : {-1, 2})
    EXPECT_EQ(session.call("ffi.ArrayGetItem", 2, Packet(array).integer(place)).message(),
              "IndexError: there is no item " + std::to_string(place) + " in an array of 2");
}

TEST_F(ASession, SendsStridedResultsAsContiguousOnes) {
  static const float numbers[] = {1, 2, 3, 4, 5, 6};
  static int64_t shape[] = {3, 2}, strides[] = {1, 3};  // the columns of 2 rows
  define("test.rpc.columns", [](const opd_value *, int32_t, opd_value *out) {
    auto *const lent = new DLManagedTensor{};
    lent->dl_tensor = {const_cast<float *>(numbers), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    lent->deleter = [](DLManagedTensor *self) { delete self; };
    opd_tensor *made = nullptr;
    check(opd_tensor_from_dlpack(lent, &made));
    *out = opd_value_of_object(made);
  });
  EXPECT_EQ(session.read(tensor_in(session.call("test.rpc.columns"), {3, 2}), 6), (Floats{1, 4, 2, 5, 3, 6}));
}

TEST_F(ASession, ListsTheFunctionsOfAModule) {
  const uint64_t module = upload_program(".func b() {\n  ret %void\n}\n.func a() {\n  ret %void\n}\n");
  Reply names = session.call("opdyno.rpc.list_functions", 1, Packet().object(OPD_MODULE, module));
  EXPECT_EQ(names.type(), OPD_STRING);
  names.take<int32_t>();
  EXPECT_EQ(names.take_text(), "b\na");
  EXPECT_EQ(session.call("tvm.rpc.server.download_linked_module", 1, Packet().string("p.vmexec")).message(),
            "ValueError: p.vmexec cannot be linked to a library: it is a module of the kind relax.VMExecutable; "
            "libraries, objects, and archives of them can");
}

TEST_F(ASession, HasOutputsOfAVmByTheirPlaces) {
  define("test.rpc.sees", [](const opd_value *, int32_t, opd_value *) { ++instrumented; });
  const uint64_t vm = vm_of(R"(
.func pair(x, y) {
  %inner = call vm.builtin.make_tuple(%y, %x)
  %both = call vm.builtin.make_tuple(%x, %inner)
  ret %both
})");
  const auto call = [&](const std::string &name, int32_t count, const Packet &values) {
    return session.call(function_of(vm, name), count, values);
  };
  const auto number = [](Reply reply) {
    EXPECT_EQ(reply.type(), OPD_INT);
    EXPECT_EQ(reply.take<int32_t>(), OPD_INT);
    return reply.take<int64_t>();
  };
  const auto text = [](Reply reply) {
    EXPECT_EQ(reply.type(), OPD_STRING);
    EXPECT_EQ(reply.take<int32_t>(), OPD_CSTRING);
    return reply.take_text();
  };
  const Packet pair = Packet().string("pair");
  const Packet sees = Packet().object(OPD_FUNCTION, session.function("test.rpc.sees"));
  EXPECT_EQ(call("set_instrument", 0, {}).message(), "ValueError: set_instrument takes a function");
  EXPECT_EQ(call("set_instrument", 2, Packet(sees).none()).message(), "ValueError: set_instrument takes a function");
  EXPECT_EQ(call("set_instrument", 1, sees).type(), OPD_NONE);
  const Packet x = Packet().tensor(session.make({1}), {1}), y = Packet().tensor(session.make({2}), {1});
  EXPECT_EQ(call("set_input", 3, Packet(pair).plain(x.str()).plain(y.str())).type(), OPD_NONE);
  EXPECT_EQ(call("invoke_stateful", 1, pair).type(), OPD_NONE);
  EXPECT_GT(instrumented, 0);
  EXPECT_EQ(number(call("get_output_arity", 1, pair)), 2);
  EXPECT_EQ(number(call("get_output_arity", 2, Packet(pair).integer(0))), -1);
  EXPECT_EQ(number(call("get_output_arity", 2, Packet(pair).integer(1))), 2);
  EXPECT_EQ(session.read(tensor_in(call("get_output", 2, Packet(pair).integer(0)), {1}), 1), Floats{1});
  EXPECT_EQ(session.read(tensor_in(call("get_output", 3, Packet(pair).integer(1).integer(0)), {1}), 1), Floats{2});
  EXPECT_EQ(number(call("get_function_arity", 1, pair)), 2);
  EXPECT_EQ(text(call("get_function_param_name", 2, Packet(pair).integer(0))), "x");
  EXPECT_EQ(text(call("get_function_param_name", 2, Packet(pair).integer(1))), "y");
  for (const int64_t place : {-1, 2})
    EXPECT_EQ(call("get_function_param_name", 2, Packet(pair).integer(place)).message(),
              "ValueError: the function has 2 parameters, none at " + std::to_string(place));
  EXPECT_EQ(call("get_function_param_name", 1, pair).message(),
            "ValueError: there are 1 arguments; the place of a parameter is missing");
  EXPECT_EQ(call("save_function", 2, Packet(pair).string("saved")).message(),
            "ValueError: there are 2 arguments; include_return is missing");
  EXPECT_EQ(call("invoke_closure", 0, {}).message(), "ValueError: invoke_closure takes a closure and its arguments");
  const Packet saved = Packet(pair).string("saved").integer(1).plain(x.str()).plain(y.str());
  EXPECT_EQ(call("save_function", 5, saved).type(), OPD_NONE);
  const Packet closure = Packet().object(OPD_FUNCTION, function_of(vm, "saved"));
  EXPECT_EQ(call("saved", 0, {}).type(), OPD_ARRAY);
  const uint64_t module = vm;
  Reply names = session.call("opdyno.rpc.list_functions", 1, Packet().object(OPD_MODULE, module));
  EXPECT_EQ(text(std::move(names)), "pair");
}

TEST_F(ASession, CallsAFunctionBeforeEachMeasurement) {
  int begins = 0, calls = 0;
  define("test.rpc.begins", [&](const opd_value *, int32_t, opd_value *) { ++begins; });
  define("test.rpc.counts", [&](const opd_value *, int32_t, opd_value *) { ++calls; });
  const auto how = [](const std::string &name, const std::string &before) {
    Packet values = Packet().none().string(name).integer(1).integer(0).integer(2).integer(3).integer(0);
    return values.integer(100).integer(0).integer(1).integer(0).string(before);
  };
  const auto make = [&](const Packet &values) { return session.call("runtime.RPCTimeEvaluator", 12, values); };
  EXPECT_EQ(session.call(make(how("test.rpc.counts", "test.rpc.begins")).object(OPD_FUNCTION)).type(), OPD_BYTES);
  EXPECT_EQ(begins, 3);
  EXPECT_EQ(calls, 1 + 2 * 3);
  expect_refused(make(how("test.rpc.counts", "test.rpc.nobody")), "test.rpc.nobody");
  expect_refused(make(how("test.rpc.nobody", "")), "test.rpc.nobody");
  EXPECT_EQ(begins, 3);
  // A function of a module, and its own evaluator, to which the number of threads is told.
  const uint64_t module = upload_program(kAddOne);
  Packet of_module = Packet().object(OPD_MODULE, module).string("nothing").integer(1).integer(0).integer(1).integer(1);
  of_module.integer(0).integer(100).integer(0).integer(1).integer(0).string("");
  expect_refused(make(of_module), "the module has no function \"nothing\"");
  Packet own = how("test.rpc.counts", "");
  calls = 0;
  own.integer(4).integer(0).integer(1);
  Reply found = session.call(session.call("opdyno.rpc.evaluator", 15, own).object(OPD_FUNCTION));
  EXPECT_EQ(calls, 4 + 2 * 3);
  EXPECT_EQ(found.type(), OPD_BYTES);
  found.take<int32_t>();
  const std::string told = found.take_text();
  ASSERT_EQ(told.size(), 5 * 8 + 3 * sizeof(double));
  EXPECT_EQ(told.substr(0, 4 * 8), Packet().raw<int64_t>(2).raw<int64_t>(4).raw<uint64_t>(1).raw<uint64_t>(0).str());
}

TEST_F(ASession, GoesOnAfterRequestsThatAreWrong) {
  expect_refused(session.ask(99, {}), "has the code 99");
  expect_refused(session.ask(kReturn, {}), "which no request has");
  expect_refused(session.ask(kCallFunc, Packet().raw<uint64_t>(1)), "no object number 1");
  const uint64_t function = session.function("tvm.rpc.server.listdir");
  const auto call = [&](const Packet &rest) {
    return session.ask(kCallFunc, Packet().raw(function).plain(rest.str()));
  };
  expect_refused(call({}), "number of values");
  expect_refused(call(Packet().raw<int32_t>(-1)), "number of values");
  expect_refused(call(Packet().raw<int32_t>(1 << 30)), "number of values");
  expect_refused(call(Packet().raw<int32_t>(1)), "type of a value");
  expect_refused(call(Packet().raw<int32_t>(1).raw<int32_t>(1234)), "type of a value");
  expect_refused(call(Packet().raw<int32_t>(1).raw<int32_t>(OPD_CSTRING).raw(UINT64_MAX)), "string");
  expect_refused(call(Packet().raw<int32_t>(1).raw<int32_t>(OPD_BYTES).raw<int32_t>(OPD_STRING).text("x")), "differs");
  expect_refused(call(Packet().raw<int32_t>(1).object(OPD_MODULE, 12345)), "no object number 12345");
  expect_refused(session.ask(kFreeHandle, Packet().raw<int32_t>(1).handle(12345)), "no object number 12345");
  expect_refused(session.ask(kFreeHandle, Packet().raw<int32_t>(1).integer(1)), "must be a handle");
  expect_refused(session.ask(kDevFreeData, Packet().raw<int32_t>(1).device()), "has 2 values, but 1 came");
  expect_refused(session.ask(kDevAllocDataWithScope, Packet().raw<int32_t>(2).tensor(0, {4}).string("global.texture")),
                 "memory scope \"global.texture\" is not offered by cpu:0; \"global\" is");
  expect_refused(session.ask(kDevAllocDataWithScope, Packet().raw<int32_t>(2).tensor(0, {INT64_MAX}).none()), "");
  session.send(Packet().raw<uint64_t>(0).str());  // a packet of no bytes is skipped
  session.ask(kFreeHandle, Packet().raw<int32_t>(1).handle(function)).expect_done();
  expect_refused(session.call(function), "no object number");
  expect_alive();
  EXPECT_EQ(session.end(), nullptr);
}

TEST_F(ASession, EndsWhenTheClientSaysSo) {
  session.send_packet(kShutdown, {});
  EXPECT_EQ(session.receive(1), "");
  EXPECT_EQ(session.end(), nullptr);
}

TEST_F(ASession, EndsAfterAPacketThatIsTooLarge) {
  session.send(Packet().raw<uint64_t>(uint64_t{3} << 30).str());
  expect_error(session.end(), OPD_BAD_FORMAT, "bytes, but has 3221225472");
}

TEST_F(ASession, EndsAfterAPacketThatIsTooSmall) {
  session.send(Packet().raw<uint64_t>(3).plain("abc").str());
  expect_error(session.end(), OPD_BAD_FORMAT, "bytes, but has 3");
}

TEST_F(ASession, FailsIfItEndsWithinAPacket) {
  session.send(Packet().raw<uint64_t>(100).raw<int32_t>(kCallFunc).str());
  expect_error(session.end(), OPD_IO, "inside a message");
}

}  // namespace
}  // namespace opdyno_test
