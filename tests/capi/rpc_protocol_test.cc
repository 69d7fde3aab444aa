// The bytes that a client sends, and the values and errors that it makes of answers: the servers are scripts.
#include <cmath>
#include <regex>

#include "support/rpc_servers.h"

namespace opdyno_test {
namespace {

TEST(Errors, HaveTheCodeOfTheirKind) {
  struct Case {
    const char *said;
    opd_code code;
    const char *kind, *message;
  };
  const Case cases[] = {{"ValueError: v", OPD_INVALID_ARGUMENT, "ValueError", "v"},
                        {"TypeError: t", OPD_INVALID_ARGUMENT, "TypeError", "t"},
                        {"IndexError: i: j\n\n", OPD_OUT_OF_RANGE, "IndexError", "i: j"},
                        {"MemoryError: m", OPD_OUT_OF_MEMORY, "MemoryError", "m"},
                        {"InterruptedError: c", OPD_CANCELLED, "InterruptedError", "c"},
                        {"TimeoutError: d", OPD_DEADLINE_EXCEEDED, "TimeoutError", "d"},
                        {"_Az_Z: k", OPD_CALL_FAILED, "_Az_Z", "k"},
                        {"no kind", OPD_CALL_FAILED, "RuntimeError", "no kind"},
                        {"no kind: k", OPD_CALL_FAILED, "RuntimeError", "no kind: k"},
                        {": k", OPD_CALL_FAILED, "RuntimeError", ": k"},
                        {"file1: k", OPD_CALL_FAILED, "RuntimeError", "file1: k"}};
  std::vector<Packet> answers;
  for (const Case &one : cases) answers.push_back(exception(one.said));
  answers.push_back(framed(Packet().raw<int32_t>(kException).raw<int32_t>(1).none()));
  Script server(answers);
  const RpcSession session = RpcSession::connect(server.address());
  const auto ask = [&] {
    opd_function *function = nullptr;
    return opd_rpc_session_get_function(session.get(), "f", &function);
  };
  for (const Case &one : cases) {
    opd_error *const error = ask();
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(opd_error_code(error), one.code) << one.said;
    EXPECT_STREQ(opd_error_kind(error), one.kind);
    EXPECT_EQ(opd_error_message(error), one.message + (" (on " + server.address() + ")"));
    opd_error_release(error);
  }
  expect_error(ask(), OPD_CALL_FAILED, "an error without a message (on ");
}

TEST(Requests, HaveTheBytesOfTheProtocol) {
  const Packet floats4 = Packet().integer(OPD_TENSOR).tensor(5, {4}).handle(6);
  Script server({handle(7), result(3, floats4), result(1, Packet().integer(1)), handle(9),
                 framed(Packet().raw<int32_t>(kCopyAck).plain(std::string(16, 'x'))), done(), done()});
  {
    const RpcSession session = RpcSession::connect(server.address());
    const Function function = session.function("f");
    const DLDevice device = session.device();
    const Value found = function(int64_t{3}, "ab");
    expect_exists(device);
    const Tensor tensor = Tensor::of(found), made({4}, "float32", device);
    float numbers[4];
    tensor.copy_to_bytes(numbers, sizeof numbers);
    EXPECT_EQ(std::memcmp(numbers, "xxxxxxxxxxxxxxxx", 16), 0);
    made.copy_from(tensor);
    check(opd_device_sync(device));
    session.close();
  }
  server.wait();
  const DLDataType bytes = {kDLUInt, 8, 1};
  const auto is = [&](size_t place, const Packet &packet) {
    ASSERT_LT(place, server.requests.size());
    EXPECT_EQ(server.requests[place], packet.str()) << place;
  };
  is(0, Packet().raw<int32_t>(kGetGlobalFunc).raw<int32_t>(1).string("f"));
  is(1, Packet().raw<int32_t>(kCallFunc).raw<uint64_t>(7).raw<int32_t>(2).integer(3).string("ab"));
  is(2, Packet().raw<int32_t>(kDevGetAttr).raw<int32_t>(2).device().integer(OPD_ATTR_EXIST));
  is(3, Packet().raw<int32_t>(kDevAllocDataWithScope).raw<int32_t>(2).tensor(0, {64}, 0, bytes).none());  // as memory
                                                                                                          // is aligned
  is(4, Packet().raw<int32_t>(kCopyFromRemote).view(5, {16}, 0, bytes).raw<uint64_t>(16));
  is(5, Packet()
            .raw<int32_t>(kCopyAmongRemote)
            .raw<int32_t>(3)
            .tensor(5, {16}, 0, bytes)
            .tensor(9, {16}, 0, bytes)
            .handle(0));
  is(6, Packet().raw<int32_t>(kDevStreamSync).raw<int32_t>(2).device().handle(0));
  EXPECT_TRUE(server.last.ends_with(Packet().raw<uint64_t>(4).raw<int32_t>(kShutdown).str())) << "the last request";
}

TEST(Requests, BeginWithTheKeyAndOptionsOfTheClient) {
  std::string said;
  Listener server([&](int connection) {
    const std::string head = receive(connection, 8);
    int32_t size = 0;
    std::memcpy(&size, head.data() + 4, sizeof size);
    said = receive(connection, static_cast<size_t>(size));
    send_all(connection, Packet().raw<int32_t>(0xFF271).raw<int32_t>(17).plain("server:board -x=1"));
    EXPECT_EQ(receive(connection, 8 + 4 + 8 + 5 + 4),
              Packet().raw<uint64_t>(21).raw<int32_t>(kInitServer).text("0.8.0").raw<int32_t>(0).str());
    send_all(connection, done());
    answer_with(connection, handle(0));
    wait_for_end(connection);
  });
  opd_rpc_connect_options options = how();
  const auto key_of = [&] {
    const std::string is = RpcSession::connect(server.address(), &options).describe(), member = "\"key\":\"";
    const size_t begin = is.find(member) + member.size();
    return is.substr(begin, is.find('"', begin) - begin);
  };
  EXPECT_EQ(key_of(), "board");
  EXPECT_EQ(said, "client:");
  options.key = "k", options.session_timeout_ns = 2'500'000'001;  // in milliseconds, rounded up
  EXPECT_EQ(key_of(), "board");
  EXPECT_EQ(said, "client:k -timeout=2.501");
}

// Of 4096 bytes, with "client:".
TEST(Keys, HaveAMaximumLength) {
  const std::string longest(4096 - 7, 'k'), longer = longest + "k";
  opd_rpc_serve_options settings = defaults(opd_rpc_serve_options_init);
  settings.key = longest.c_str();
  Listener server([&](int connection) { serve_with(connection, &settings); });
  opd_rpc_connect_options options = how();
  options.key = longest.c_str();
  EXPECT_NE(RpcSession::connect(server.address(), &options).describe().find(longest), std::string::npos);
  options.key = longer.c_str();
  expect_throws([&] { RpcSession::connect(server.address(), &options); }, OPD_INVALID_ARGUMENT,
                "a key has at most 4096 bytes");
  for (const int32_t size : {4097, -1}) {
    RawSession session;
    session.send(Packet().raw<int32_t>(0xFF271).raw(size).plain(std::string(4097, 'c')).str());
    expect_error(session.end(), OPD_BAD_FORMAT, "the client's key has " + std::to_string(size) + " bytes");
  }
}

TEST(Results, AreCheckedBeforeTheyBecomeValues) {
  const DLDevice cuda{kDLCUDA, 3};
  const Packet with_empty_ones =
      Packet().raw<uint64_t>(0).raw<uint64_t>(0).plain(result(2, Packet().integer(OPD_INT).integer(5)).str());
  Script server(
      {handle(7), with_empty_ones, result(1, Packet().integer(OPD_NONE)),
       result(2, Packet().integer(OPD_DEVICE).device(cuda)), result(2, Packet().integer(OPD_POINTER).handle(4096)),
       result(2, Packet().integer(1000).handle(11)), result(2, Packet().integer(OPD_INT).integer(6)),
       result(2, Packet().integer(OPD_INT).raw<int32_t>(777)), result(1, Packet().string("x")),
       result(2, Packet().integer(OPD_FUNCTION).integer(1)), result(2, Packet().integer(OPD_TENSOR).handle(1)),
       result(2, Packet().integer(OPD_DEVICE).device({static_cast<DLDeviceType>(128), 0}))});
  const RpcSession session = RpcSession::connect(server.address());
  const Function f = session.function("f");
  EXPECT_EQ(f().view().u.int64, 5) << "frames of no bytes are skipped";
  EXPECT_EQ(f().type(), OPD_NONE);
  const opd_value device = opd_device_value(session.device(cuda));
  EXPECT_EQ(f().to_string(), to_string(device));
  expect_throws([&] { f(); }, OPD_UNSUPPORTED,
                "the result is an address of the server, which means nothing in another process");
  const Value object = f();
  EXPECT_EQ(f(object).view().u.int64, 6);
  EXPECT_EQ(server.requests.back(), Packet()
                                        .raw<int32_t>(kCallFunc)
                                        .raw<uint64_t>(7)
                                        .raw<int32_t>(1)
                                        .raw<int32_t>(115)
                                        .raw<int32_t>(115)
                                        .raw<uint64_t>(11)
                                        .str());
  expect_throws([&] { f(); }, OPD_BAD_FORMAT, "is 777, which has no form here");
  expect_throws([&] { f(); }, OPD_BAD_FORMAT, "type of a result");
  expect_throws([&] { f(); }, OPD_BAD_FORMAT, "is not a handle");
  expect_throws([&] { f(); }, OPD_BAD_FORMAT, "is not a tensor");
  expect_throws([&] { f(); }, OPD_UNSUPPORTED, "of the server is of a session there");
  session.close();
}

}  // namespace
}  // namespace opdyno_test
