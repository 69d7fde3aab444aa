// Packets of RPC: what is written is read again, and what no packet may have is refused.
#include "rpc/wire/packets.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "device/device.h"
#include "rpc/client/connect.h"
#include "rpc/server/work_folder.h"
#include "rpc/wire/remote_profile_options.h"
#include "rpc/wire/secret.h"
#include "value/function.h"

namespace opd::rpc {
namespace {

std::string refusal_of(const auto &action) {
  try {
    action();
  } catch (const Exception &e) { return e.error()->message; }
  return "";
}

// The values behind the code of a packet.
Arguments read(const std::string &packet, const Objects &objects) {
  ByteReader body(as_bytes(packet), "the packet", 0);
  body.take(sizeof(Code), "code");
  return Arguments(body, objects);
}

TEST(APacket, HasItsCodeThenTheNumberOfItsValues) {
  PacketWriter packet(Code::kReturn);
  packet.add_int(7);
  packet.add_text("ab");
  // The code 4, two values; type 1 and 7 in 8 bytes; type 8, a text of 2 bytes.
  std::string expected;
  const auto add = [&](auto number) { expected.append(reinterpret_cast<const char *>(&number), sizeof number); };
  add(int32_t{4}), add(int32_t{2}), add(int32_t{OPD_INT}), add(int64_t{7}), add(int32_t{OPD_CSTRING}), add(uint64_t{2});
  EXPECT_EQ(packet.take(), expected + "ab");
}

TEST(APacket, GivesItsValuesBack) {
  Objects objects;
  const uint64_t function = objects.add(Value(make_function([](Args) { return Value(); })));
  EXPECT_EQ(function, 1u);
  PacketWriter packet(Code::kCallFunc);
  EXPECT_TRUE(packet.add_plain(opd_none()));
  EXPECT_TRUE(packet.add_plain(opd_bool(1)));
  packet.add_int(INT64_MIN);
  EXPECT_TRUE(packet.add_plain(opd_float(2.5)));
  EXPECT_TRUE(packet.add_plain(opd_dtype_value({kDLFloat, 16, 3})));
  EXPECT_TRUE(packet.add_plain(opd_device_value({kDLCUDA, 2})));
  packet.add_text("a text that is not short");
  packet.add_bytes("b");
  packet.add_object(OPD_FUNCTION, function);
  packet.add_handle(11);
  EXPECT_FALSE(packet.add_plain(objects.find(function).view())) << "an object is no plain value";
  const Arguments got = read(packet.take(), objects);
  ASSERT_EQ(got.size(), 10u);
  EXPECT_EQ(got[0].type, OPD_NONE);
  EXPECT_EQ(got[1].type, OPD_BOOL);
  EXPECT_EQ(got[1].u.int64, 1);
  EXPECT_EQ(got[2].u.int64, INT64_MIN);
  EXPECT_EQ(got[3].u.float64, 2.5);
  EXPECT_EQ(got[4].u.dtype.bits, 16);
  EXPECT_EQ(got[4].u.dtype.lanes, 3);
  EXPECT_EQ(got[5].u.device.device_type, kDLCUDA);
  EXPECT_EQ(got[5].u.device.device_id, 2);
  EXPECT_EQ(as_text(got[6], "text"), "a text that is not short");
  EXPECT_EQ(bytes_in(got[7], "bytes"), "b");
  EXPECT_EQ(got[8].type, OPD_FUNCTION);
  EXPECT_EQ(got.handle(9, "the request"), 11u);
  EXPECT_EQ(refusal_of([&] { got.handle(8, "the request"); }), "the request: value 8 must be a handle");
  EXPECT_EQ(refusal_of([&] { got.description(9, "the request"); }),
            "the request: value 9 must be a tensor without data");
  EXPECT_EQ(refusal_of([&] { got.require_size(10, "the request"); }), "");
  EXPECT_EQ(refusal_of([&] { got.require_size(9, "the request"); }), "the request has 9 values, but 10 came");
  EXPECT_EQ(refusal_of([&] { got.for_call(); }), "argument 9 is an address, which means nothing in another process");
}

TEST(APacket, MayHaveANullAsAnArgument) {
  const Objects objects;
  PacketWriter packet(Code::kCallFunc);
  packet.add_handle(0);
  EXPECT_EQ(read(packet.take(), objects).for_call().size(), 1u);
}

TEST(APacket, HasAtMost4096Values) {
  const Objects objects;
  const auto refusal = [&](int32_t count, size_t given) {
    ByteWriter packet;
    packet.write(count);
    for (size_t i = 0; i < given; ++i) packet.write(int32_t{OPD_NONE});
    const std::string bytes = packet.take();
    return refusal_of([&] {
      ByteReader body(as_bytes(bytes), "the packet", 0);
      Arguments(body, objects);
    });
  };
  EXPECT_EQ(refusal(4096, 4096), "");
  EXPECT_EQ(refusal(0, 0), "");
  EXPECT_NE(refusal(4097, 4097).find("is 4097, not from 0 to 4096"), std::string::npos);
  EXPECT_NE(refusal(-1, 0).find("is -1, not from 0 to 4096"), std::string::npos);
  EXPECT_NE(refusal(2, 1), "");
}

TEST(APacket, IsRefusedIfItHasUnknownTypes) {
  const Objects objects;
  const auto refusal = [&](std::initializer_list<int32_t> types) {
    ByteWriter packet;
    packet.write(int32_t{1});
    for (const int32_t type : types) packet.write(type);
    packet.write(uint64_t{0});
    const std::string bytes = packet.take();
    return refusal_of([&] {
      ByteReader body(as_bytes(bytes), "the packet", 0);
      Arguments(body, objects);
    });
  };
  EXPECT_EQ(refusal({OPD_STRING, OPD_STRING}), "");
  EXPECT_EQ(refusal({OPD_SMALL_STRING, OPD_STRING}), "");
  EXPECT_EQ(refusal({OPD_SMALL_BYTES, OPD_BYTES}), "");
  EXPECT_NE(refusal({OPD_STRING, OPD_BYTES}).find("differs from that of its value"), std::string::npos);
  EXPECT_NE(refusal({77}).find("is 77, which has no form here"), std::string::npos);
  EXPECT_EQ(refusal({kObjectReference, kObjectReference}),
            "the session has no object number 0, or the client has freed it");
}

RemoteTensor tensor_of(std::vector<int64_t> dims) {
  RemoteTensor made;
  made.data = 1, made.device = kHost, made.dtype = {kDLFloat, 32, 1}, made.dims = std::move(dims);
  return made;
}

TEST(ATensorOfAPacket, HasAtMost64Dimensions) {
  const auto refusal = [](int32_t count, int64_t dim) {
    ByteWriter bytes;
    bytes.write(uint64_t{1}), bytes.write(kHost), bytes.write(count), bytes.write(DLDataType{kDLFloat, 32, 1});
    for (int32_t i = 0; i < count; ++i) bytes.write(dim);
    bytes.write(uint64_t{5});
    const std::string text = bytes.take();
    return refusal_of([&] {
      ByteReader from(as_bytes(text), "the packet", 0);
      const RemoteTensor tensor = RemoteTensor::read(from);
      EXPECT_EQ(tensor.dims, std::vector<int64_t>(static_cast<size_t>(count), dim));
      EXPECT_EQ(tensor.byte_offset, 5u);
      EXPECT_TRUE(from.at_end());
      ByteWriter again;
      tensor.write(again);
      EXPECT_EQ(again.take(), text);
    });
  };
  EXPECT_EQ(refusal(0, 0), "");
  EXPECT_EQ(refusal(3, 0), "");
  EXPECT_EQ(refusal(64, 1), "");
  EXPECT_NE(refusal(65, 1).find("is 65, not from 0 to 64"), std::string::npos);
  EXPECT_NE(refusal(-1, 1).find("is -1, not from 0 to 64"), std::string::npos);
  EXPECT_NE(refusal(1, -1).find("is -1"), std::string::npos);
}

// Memory of 64 bytes.
TEST(ATensorOfAPacket, LiesInTheMemoryThatItNames) {
  Objects objects;
  const int64_t dims[] = {4, 4};
  const Ref<Tensor> whole = make_tensor(dims, {kDLFloat, 32, 1}, kHost);
  objects.add(Value(whole));
  const auto refusal = [&](RemoteTensor tensor, uint64_t offset) {
    tensor.byte_offset = offset;
    return refusal_of([&] {
      const Ref<Tensor> found = tensor.in(objects);
      EXPECT_EQ(data_of(found->dl), data_of(whole->dl) + offset);
    });
  };
  EXPECT_EQ(refusal(tensor_of({16}), 0), "");
  EXPECT_EQ(refusal(tensor_of({15}), 4), "");
  EXPECT_EQ(refusal(tensor_of({0}), 64), "");
  EXPECT_EQ(refusal(tensor_of({16}), 4), "a tensor of 64 bytes from byte 4 on does not lie in memory of 64 bytes");
  EXPECT_EQ(refusal(tensor_of({17}), 0), "a tensor of 68 bytes from byte 0 on does not lie in memory of 64 bytes");
  EXPECT_EQ(refusal(tensor_of({0}), 65), "a tensor of 0 bytes from byte 65 on does not lie in memory of 64 bytes");
  RemoteTensor elsewhere = tensor_of({1});
  elsewhere.device = {kDLCUDA, 1};
  EXPECT_EQ(refusal(elsewhere, 0), "the memory of a tensor is on cpu:0, not on cuda:1");
  for (const DLDataType dtype :
       {DLDataType{kDLFloat, 32, 0}, DLDataType{kDLFloat, 0, 1}, DLDataType{kDLFloat, 32, 0xFFFF}}) {
    RemoteTensor odd = tensor_of({1});
    odd.dtype = dtype;
    EXPECT_TRUE(refusal(odd, 0).starts_with("a tensor cannot have elements of dtype")) << refusal(odd, 0);
  }
}

TEST(ATensorOfAPacket, WithoutDataIsADescription) {
  const Objects objects;
  PacketWriter packet(Code::kDevAllocDataWithScope);
  RemoteTensor wanted = tensor_of({2, 3});
  wanted.data = 0;
  packet.add_int(1);
  packet.add_tensor(wanted);
  const Arguments got = read(packet.take(), objects);
  EXPECT_EQ(got.description(1, "the request").bytes(), 24u);
  EXPECT_EQ(refusal_of([&] { got.description(0, "the request"); }),
            "the request: value 0 must be a tensor without data");
  EXPECT_EQ(refusal_of([&] { got.for_call(); }), "argument 1 is a tensor without data");
}

TEST(TheObjectsOfASession, HaveNumbersThatAreNeverGivenAgain) {
  Objects objects;
  EXPECT_EQ(objects.add(Value(int64_t{7})), 1u);
  EXPECT_EQ(objects.add(Value(int64_t{8})), 2u);
  objects.remove(2);
  EXPECT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects.add(Value(int64_t{9})), 3u);
  EXPECT_EQ(objects.find(1).view().u.int64, 7);
  const char *const lost = "the session has no object number 2, or the client has freed it";
  EXPECT_EQ(refusal_of([&] { objects.find(2); }), lost);
  EXPECT_EQ(refusal_of([&] { objects.remove(2); }), lost);
}

TEST(TheObjectsOfASession, AreAtMostAMillion) {
  Objects objects;
  for (size_t i = 0; i < size_t{1} << 20; ++i) objects.add(Value());
  EXPECT_EQ(refusal_of([&] { objects.add(Value()); }),
            "a session keeps at most 1048576 objects; the client frees too few");
  objects.remove(1);
  EXPECT_EQ(objects.add(Value()), (uint64_t{1} << 20) + 1);
}

TEST(RemoteProfileOptions, AreReadAsTheyWereWritten) {
  RemoteProfileOptions remote;
  remote.function = "main", remote.wants_trace = true;
  remote.options.warmup = 2, remote.options.repeat = 3, remote.options.max_calls = 4, remote.options.turn = 5;
  remote.options.all_calls = true, remote.options.details = true;
  const RemoteProfileOptions again = read_profile_options(write_profile_options(remote));
  EXPECT_EQ(again.function, "main");
  EXPECT_TRUE(again.wants_trace && again.options.all_calls && again.options.details);
  EXPECT_FALSE(again.options.folds_builtins);
  EXPECT_EQ(again.options.warmup, 2);
  EXPECT_EQ(again.options.repeat, 3);
  EXPECT_EQ(again.options.max_calls, 4u);
  EXPECT_EQ(again.options.turn, 5);
  EXPECT_TRUE(again.options.collectors.empty());
  remote.options.folds_builtins = true, remote.options.max_calls = UINT64_MAX;
  EXPECT_TRUE(read_profile_options(write_profile_options(remote)).options.folds_builtins);
  EXPECT_EQ(read_profile_options(write_profile_options(remote)).options.max_calls, static_cast<uint64_t>(INT64_MAX));
}

TEST(RemoteProfileOptions, NameCollectorsWithTheirCounters) {
  RemoteProfileOptions remote;
  remote.options.sample_interval = 7;
  BuiltinCollector perf{OPD_COLLECTOR_PERF, {}};
  perf.options.per_thread = perf.options.best_effort = true;
  perf.options.events = {{"task-clock", {kDLCPU, 0}}, {"page-faults", {kDLCPU, 0}}};
  remote.options.collectors = {make_builtin_collector({OPD_COLLECTOR_MEMORY, {}}), make_builtin_collector(perf)};
  const std::string json = write_profile_options(remote);
  EXPECT_EQ(json.substr(json.find("\"collectors\"")),
            R"("collectors":[{"kind":1,"per_thread":false,"best_effort":false,"events":[]},)"
            R"({"kind":2,"per_thread":true,"best_effort":true,"events":[{"name":"task-clock","device":[1,0]},)"
            R"({"name":"page-faults","device":[1,0]}]}]})");
  EXPECT_NE(json.find("\"sample_interval\":7,"), std::string::npos) << json;
  const RemoteProfileOptions again = read_profile_options(json);
  EXPECT_EQ(again.options.sample_interval, 7u);
  ASSERT_EQ(again.options.collectors.size(), 2u);
  EXPECT_EQ(write_profile_options(again), json);
  const auto refusal = [&](const char *from, const char *to) {
    std::string text = json;
    text.replace(text.find(from), std::string(from).size(), to);
    return refusal_of([&] { read_profile_options(text); });
  };
  // A device of a session is sent as its server calls it: its kind has a multiple of 128 on this side.
  EXPECT_NE(refusal("[1,0]", "[1]").find("must be a kind and a number"), std::string::npos);
  EXPECT_NE(refusal("[1,0]", "[1,0,0]").find("must be a kind and a number"), std::string::npos);
  EXPECT_NE(refusal("[1,0]", "[-1,0]").find("must be 0 to 2147483647"), std::string::npos);
  EXPECT_NE(refusal("[1,0]", "[1,2147483648]").find("must be 0 to 2147483647"), std::string::npos);
  EXPECT_NE(refusal("\"kind\":2", "\"kind\":-1").find("must be 0 to 2147483647"), std::string::npos);
  EXPECT_NE(refusal("\"sample_interval\":7", "\"sample_interval\":0").find("must be 1 to 9223372036854775807"),
            std::string::npos);
  EXPECT_EQ(refusal("\"sample_interval\":7", "\"sample_interval\":1"), "");
  remote.options.sample_interval = UINT64_MAX;
  EXPECT_EQ(read_profile_options(write_profile_options(remote)).options.sample_interval,
            static_cast<uint64_t>(INT64_MAX));
}

TEST(RemoteProfileOptions, AreRefusedIfTheyAreInvalid) {
  const std::string good = write_profile_options({});
  EXPECT_EQ(refusal_of([&] { read_profile_options(good); }), "");
  const auto refusal = [&](const char *from, const char *to) {
    std::string text = good;
    text.replace(text.find(from), std::string(from).size(), to);
    return refusal_of([&] { read_profile_options(text); });
  };
  EXPECT_NE(refusal("\"warmup\":1", "\"warmup\":-1").find("must be 0 to 2147483647"), std::string::npos);
  EXPECT_EQ(refusal("\"warmup\":1", "\"warmup\":2147483647"), "");
  EXPECT_NE(refusal("\"warmup\":1", "\"warmup\":2147483648").find("must be 0 to 2147483647"), std::string::npos);
  EXPECT_NE(refusal("\"warmup\":1", "\"warmup\":\"1\"").find("must be a number"), std::string::npos);
  EXPECT_NE(refusal("\"warmup\"", "\"warm\"").find("lacks warmup"), std::string::npos);
  EXPECT_NE(refusal("\"trace\":false", "\"trace\":0").find("must be true or false"), std::string::npos);
  EXPECT_NE(refusal("\"function\":\"\"", "\"function\":1").find("must be a text"), std::string::npos);
  EXPECT_NE(refusal("\"collectors\":[]", "\"collectors\":[{\"kind\":1}]").find("lacks per_thread"), std::string::npos);
}

TEST(AnOption, EndsAtASpace) {
  EXPECT_EQ(option_in("client:key -timeout=1.5 -x=2", " -timeout="), "1.5");
  EXPECT_EQ(option_in("client:key -timeout=1.5 -x=2", " -x="), "2");
  EXPECT_EQ(option_in("client:key", " -x="), "");
  EXPECT_EQ(option_in("client:key -x=", " -x="), "");
}

TEST(ASecret, HasAMinimumLength) {
  EXPECT_EQ(refusal_of([] { require_good(std::string(kLeastSecret, 'a')); }), "");
  EXPECT_EQ(refusal_of([] { require_good(std::string(kLeastSecret - 1, 'a')); }),
            concat("a secret has at least ", kLeastSecret, " bytes, but this one has ", kLeastSecret - 1));
  EXPECT_EQ(draw_number().size(), 64u) << "32 bytes in hexadecimal digits";
  EXPECT_NE(draw_number(), draw_number());
}

// The folder may have 10 bytes.
TEST(TheFolderOfASession, HasALimitOfBytes) {
  WorkFolder folder("", 10, nullptr);
  folder.write("a", "123456");
  folder.write("b", "1234");
  EXPECT_EQ(refusal_of([&] { folder.write("c", "1"); }),
            "the files of the session would have 11 bytes with c; it may have 10");
  folder.write("a", "654321");  // in place of the one before
  EXPECT_EQ(folder.read("a"), "654321");
  EXPECT_EQ(refusal_of([&] { folder.write("b", "12345"); }),
            "the files of the session would have 11 bytes with b; it may have 10");
  EXPECT_EQ(folder.list(), "a,b");
  folder.remove("a");
  folder.remove("none");
  EXPECT_EQ(folder.list(), "b");
  folder.write("c", "123456");
  EXPECT_EQ(folder.list(), "b,c");
}

TEST(TheFolderOfASession, HasFilesWithoutPaths) {
  WorkFolder folder("", 1000, nullptr);
  folder.write(std::string(255, 'x'), "1");
  folder.write(" ~", "1");
  for (const std::string &name : {std::string(), std::string(256, 'x'), std::string(".a"), std::string(".."),
                                  std::string("a/b"), std::string("a\x1f"), std::string("a\x7f")})
    EXPECT_TRUE(refusal_of([&] { folder.write(name, "1"); })
                    .ends_with("\" cannot be the name of a session's file: a name must have 1 to 255 bytes, must not "
                               "contain / or control characters, and must not begin with a dot"))
        << name;
}

}  // namespace
}  // namespace opd::rpc
