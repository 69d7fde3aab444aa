// How a client finds its server, and what it makes of servers that misbehave: these are scripts.
#include "support/rpc_servers.h"

#include <cmath>
#include <regex>

namespace opdyno_test {
namespace {

TEST(Connecting, NeedsAServer) {
  for (const char *wrong : {"", "9090", "host", "host:", ":9090", "host:0", "host:65536", "host:9a", "[::1]"})
    expect_throws([&] { RpcSession::connect(wrong); }, OPD_INVALID_ARGUMENT, "is not an address");
  Listener *none = new Listener([](int) {});
  const std::string gone = none->address();
  delete none;
  expect_throws([&] { RpcSession::connect(gone); }, OPD_IO, gone);
  expect_throws([&] { RpcSession::connect("host.invalid:9090"); }, OPD_IO, "host.invalid:9090");
  opd_rpc_connect_options wrong = how();
  wrong.connect_timeout_ns = 0;
  expect_throws([&] { RpcSession::connect(gone, &wrong); }, OPD_INVALID_ARGUMENT, "connect_timeout_ns");
}

TEST(Connecting, SendsTheKey) {
  opd_rpc_serve_options with_key = defaults(opd_rpc_serve_options_init);
  with_key.key = "board";
  Listener server([&](int connection) { serve_with(connection, &with_key); });
  opd_rpc_connect_options key = how();
  expect_throws([&] { RpcSession::connect(server.address()); }, OPD_FAILED_PRECONDITION, "the server has another key");
  key.key = "board";
  key.session_timeout_ns = 2'500'000'000;
  const RpcSession session = RpcSession::connect(server.address(), &key);
  const std::string is = session.describe();
  const std::regex whole("\\{\"address\":\"" + server.address() + R"-(","key":"board","index":\d+,)-" +
                         R"-("server":"opdyno \d+\.\d+\.\d+","host":"[^"]+","absence":""\})-");
  EXPECT_TRUE(std::regex_match(is, whole)) << is;
}

TEST(Connecting, ProvesTheSecretWithoutSayingIt) {
  const std::string secret = "0123456789abcdef0123";
  opd_rpc_serve_options settings = defaults(opd_rpc_serve_options_init);
  settings.secret = secret.c_str();
  Listener server([&](int connection) { serve_with(connection, &settings); });
  opd_rpc_connect_options options = how();
  expect_throws([&] { RpcSession::connect(server.address()); }, OPD_FAILED_PRECONDITION, "or wants a secret");
  options.secret = "0123456789abcdef0124";
  expect_throws([&] { RpcSession::connect(server.address(), &options); }, OPD_FAILED_PRECONDITION,
                "the server has another secret");
  options.secret = secret.c_str();
  EXPECT_NE(RpcSession::connect(server.address(), &options).describe().find("\"key\":\"\""), std::string::npos);
  Listener open([&](int connection) { serve_with(connection, nullptr); });
  expect_throws([&] { RpcSession::connect(open.address(), &options); }, OPD_FAILED_PRECONDITION,
                "does not say that it knows the secret");
  options.secret = settings.secret = "too short";
  expect_throws([&] { RpcSession::connect(server.address(), &options); }, OPD_INVALID_ARGUMENT, "at least 16 bytes");
  expect_error(opd_rpc_serve(0, &settings), OPD_INVALID_ARGUMENT, "at least 16 bytes");
}

// Bytes that one side has sent cannot be sent again, by either side.
TEST(Connecting, RefusesAReplayedProof) {
  opd_rpc_serve_options settings = defaults(opd_rpc_serve_options_init);
  settings.secret = "0123456789abcdef0123";
  Listener server([&](int connection) { serve_with(connection, &settings); });
  const auto greet = [&](std::string_view number) {
    const std::string said = "client: -secret=" + std::string(number);
    const int connection = connected(server.port);
    send_all(connection, Packet().raw<int32_t>(0xFF271).raw(static_cast<int32_t>(said.size())).plain(said));
    const std::string head = receive(connection, 8);
    int32_t size = 0;
    std::memcpy(&size, head.data() + 4, sizeof size);
    return std::pair(connection, receive(connection, static_cast<size_t>(size)));
  };
  const std::string number(64, 'a');
  const auto [first, said] = greet(number);
  const auto [second, said_then] = greet(number);
  EXPECT_NE(said, said_then) << "the server draws another number";
  // What the server proved is no proof of a client.
  const std::string proof = said.substr(said.find("-proof=") + 7);
  ASSERT_EQ(proof.size(), 64u);
  send_all(first, Packet().plain(proof));
  int32_t answer = 0;
  const std::string bytes = receive(first, sizeof answer);
  ASSERT_EQ(bytes.size(), sizeof answer);
  std::memcpy(&answer, bytes.data(), sizeof answer);
  EXPECT_EQ(answer, 0xFF273);
  EXPECT_EQ(receive(first, 1), "") << "the server closes the connection";
  close(first);
  close(second);
}

// ---- servers that misbehave

// One that answers the first request after the greeting, and closes the connection then or waits.
struct AServer {
  explicit AServer(const Packet &answer, bool closes = true)
      : listener([answer, closes](int connection) {
          greet_as_tvm(connection);
          answer_with(connection, answer);
          if (!closes) wait_for_end(connection);
        }) {}
  Listener listener;
};

TEST(AServerOfTvms, IsRecognised) {
  AServer server(handle(77), false);
  const RpcSession session = RpcSession::connect(server.listener.address());
  EXPECT_NE(session.describe().find("\"server\":\"tvm\""), std::string::npos);
  session.function("anything");
}

TEST(AServerOfTvms, ReportsItsDevices) {
  const auto is_there = [](DLDevice device) {
    Value value;
    check(opd_device_get_attr(device, OPD_ATTR_EXIST, value.out()));
    return value.view().u.int64 != 0;
  };
  DLDevice device;
  {
    AServer without(result(1, Packet().integer(0)), false);
    const RpcSession session = RpcSession::connect(without.listener.address());
    device = session.device();
    EXPECT_FALSE(is_there(device));
    EXPECT_FALSE(is_there(device)) << "it is asked once";
    session.close();
  }
  EXPECT_FALSE(is_there(device)) << "the session is over";
  AServer with(result(1, Packet().integer(1)), false);
  const RpcSession session = RpcSession::connect(with.listener.address());
  EXPECT_EQ(session.device().device_type, device.device_type) << "the number of the former session";
  EXPECT_TRUE(is_there(session.device()));
  session.close();
}

TEST(ABadServer, IsDetectedByItsGreeting) {
  struct Case {
    Packet greeting;
    opd_code code;
    const char *part;
  };
  for (const Case &one :
       {Case{Packet().plain("HTTP/1.1 400 Bad Request\r\n"), OPD_BAD_FORMAT, "does not speak TVM's RPC"},
        Case{Packet().raw<int32_t>(0xFF271).raw<int32_t>(-1), OPD_BAD_FORMAT, "key has -1 bytes"},
        Case{Packet().raw<int32_t>(0xFF271).raw<int32_t>(1 << 30), OPD_BAD_FORMAT, "key has 1073741824"},
        Case{Packet().raw<int32_t>(0xFF272), OPD_FAILED_PRECONDITION, "of the same key"},
        Case{Packet(), OPD_IO, "closed the connection"}}) {
    Listener server([&](int connection) {
      receive(connection, 8 + 7);
      send_all(connection, one.greeting);
      shutdown(connection, SHUT_WR);
      wait_for_end(connection);
    });
    expect_throws([&] { RpcSession::connect(server.address()); }, one.code, one.part);
  }
  // One that says nothing.
  Listener silent([](int connection) { wait_for_end(connection); });
  opd_rpc_connect_options hasty = how();
  hasty.connect_timeout_ns = 50'000'000;
  expect_throws([&] { RpcSession::connect(silent.address(), &hasty); }, OPD_DEADLINE_EXCEEDED, silent.address());
}

TEST(ABadServer, EndsTheSession) {
  struct Case {
    Packet answer;
    const char *part;
  };
  for (const Case &one :
       {Case{Packet(), "the server closed the connection"},
        Case{Packet().raw<uint64_t>(100).raw<int32_t>(kReturn), "inside a message"},
        Case{Packet().raw<uint64_t>(UINT64_MAX).raw<int32_t>(kReturn), "an answer has 18446744073709551615 bytes"},
        Case{Packet().raw<uint64_t>(uint64_t{3} << 30).raw<int32_t>(kReturn), "inside a message"},
        Case{Packet().raw<uint64_t>(2).raw<int16_t>(0), "an answer has 2 bytes"},
        Case{framed(Packet().raw<int32_t>(kCallFunc)), "answers with the code 3"}}) {
    AServer server(one.answer);
    const RpcSession session = RpcSession::connect(server.listener.address());
    expect_throws([&] { session.download("x"); }, OPD_IO, one.part);
    expect_throws([&] { session.download("x"); }, OPD_IO, "has ended");
  }
}

TEST(ABadServer, IsRefusedForABadAnswer) {
  const auto returned = [](const Packet &rest) { return framed(Packet().raw<int32_t>(kReturn).plain(rest.str())); };
  for (const Packet &answer :
       {returned(Packet()), returned(Packet().raw<int32_t>(2)), returned(Packet().raw<int32_t>(1).integer(7)),
        returned(Packet().raw<int32_t>(1).string("x")), returned(Packet().raw<int32_t>(1).raw<int32_t>(4711)),
        framed(Packet().raw<int32_t>(kCopyAck).plain("abc"))}) {
    AServer server(answer, false);
    const RpcSession session = RpcSession::connect(server.listener.address());
    opd_function *function = nullptr;
    opd_error *error = opd_rpc_session_get_function(session.get(), "x", &function);
    expect_error(error, OPD_BAD_FORMAT, "an answer of the server");
    EXPECT_EQ(function, nullptr);
    session.close();
  }
  AServer nameless(framed(Packet().raw<int32_t>(kException).raw<int32_t>(0)), false);
  const RpcSession session = RpcSession::connect(nameless.listener.address());
  expect_throws([&] { session.function("x"); }, OPD_BAD_FORMAT, "");
  session.close();
}

// Greets as opdyno's server does.
void greet_as_own(int connection) {
  receive(connection, 8 + 7);
  send_all(connection, Packet().raw<int32_t>(0xFF271).raw<int32_t>(7).plain("server:"));
  answer_with(connection, done());
  for (const char *told : {"0.2.0", "board"}) {
    answer_with(connection, handle(1));
    answer_with(connection, result(2, Packet().integer(OPD_STRING).string(told)));
    answer_with(connection, done());
  }
  answer_with(connection, handle(0));  // it has no checksums
}

TEST(ABadServer, IsRefusedForImpossibleMeasurements) {
  const auto course = [](uint64_t threads) {
    return Packet().raw<int64_t>(1).raw<int64_t>(1).raw(threads).raw<uint64_t>(0).raw<double>(1);
  };
  struct Case {
    Packet measured;
    const char *part;
  };
  for (const Case &one :
       {Case{Packet().plain("abc"), "number at offset 0 needs 8 bytes"}, Case{course(1), "measured nothing"},
        Case{course(1).raw<double>(-1), "measured -1 seconds"},
        Case{course(1).raw<double>(NAN), "measured nan seconds"}, Case{course(0).raw<double>(1), "are 1 of 0 threads"},
        Case{course(2).raw<double>(1), "are 1 of 2 threads"}}) {
    Listener listener([&](int connection) {
      greet_as_own(connection);
      answer_with(connection, handle(7));                                            // the function
      answer_with(connection, handle(8));                                            // what makes evaluators
      answer_with(connection, result(2, Packet().integer(OPD_FUNCTION).handle(9)));  // the evaluator
      answer_with(connection, result(2, Packet().integer(OPD_BYTES).bytes(one.measured.str())));
      wait_for_end(connection);
    });
    const RpcSession session = RpcSession::connect(listener.address());
    opd_evaluator_options options = defaults(opd_evaluator_options_init);
    const Function function = session.function("f");
    const Evaluator evaluator(function, &options);
    expect_throws([&] { evaluator(); }, OPD_BAD_FORMAT, one.part);
    session.close();
  }
}

TEST(AServerOfTvms, MeasuresWithTheArgumentsThatItSupports) {
  std::string seconds;
  for (const double one : {0.5, 0.25, 0.25}) seconds.append(reinterpret_cast<const char *>(&one), sizeof one);
  Script server({handle(7), handle(8), result(2, Packet().integer(OPD_FUNCTION).handle(9)),
                 result(2, Packet().integer(OPD_BYTES).bytes(seconds)),
                 result(2, Packet().integer(OPD_BYTES).bytes("short")),
                 result(2, Packet().integer(OPD_BYTES).bytes("1234567"))});
  const RpcSession session = RpcSession::connect(server.address());
  const Function function = session.function("f");
  opd_evaluator_options options = defaults(opd_evaluator_options_init);
  options.number = 2, options.repeat = 3, options.min_repeat_ms = 4, options.limit_zero_time_iterations = 5;
  options.cooldown_interval_ms = 6, options.repeats_to_cooldown = 7, options.cache_flush_bytes = 8;
  for (int i = 0; i < 4; ++i) {
    opd_evaluator_options more = options;
    if (i == 0) more.warmup = 2;
    if (i == 1) more.steady_ms = 1;
    if (i == 2) more.concurrency = 2;
    if (i == 3) more.preprocess = function.get();
    expect_throws([&] { Evaluator(function, &more); }, OPD_INVALID_ARGUMENT,
                  "a function of TVM's server is measured without preprocess, with a warmup of 1, a steady_ms of 0 and "
                  "a concurrency of 1");
  }
  const Evaluator evaluator(function, &options);
  const Benchmark found = evaluator();
  const auto times = found.seconds();
  EXPECT_EQ(std::vector<double>(times.begin(), times.end()), (std::vector<double>{0.5, 0.25, 0.25}));
  EXPECT_EQ(found.stats().number, 2);
  EXPECT_EQ(found.stats().warmup_count, 1);
  EXPECT_EQ(found.stats().calls_per_second, 3);
  Packet expected = Packet().raw<int32_t>(kCallFunc).raw<uint64_t>(8).raw<int32_t>(12).none().string("f");
  for (const int64_t number : {1, 0, 2, 3, 4, 5, 6, 7, 8}) expected.integer(number);
  ASSERT_GE(server.requests.size(), 3u);
  EXPECT_EQ(server.requests[2], expected.string("").str());
  for (int i = 0; i < 2; ++i) expect_throws([&] { evaluator(); }, OPD_BAD_FORMAT, "the server measured nothing");
  session.close();
}

TEST(AServerOfTvms, CannotListFunctions) {
  Script server({handle(7), result(2, Packet().integer(OPD_MODULE).handle(8))});
  const RpcSession session = RpcSession::connect(server.address());
  const Function load = session.function("load");
  const Value loaded = load();
  const Module module = Module::of(loaded);
  expect_throws([&] { module.functions(); }, OPD_UNSUPPORTED,
                "the server at " + server.address() + " is TVM's, which does not list functions");
  session.close();
}

TEST(AServerOfTvms, GivesDimensionsAsText) {
  Script server({result(1, Packet().integer(1)), result(1, Packet().string("[1024, 7, 64]")),
                 result(1, Packet().string("")), result(1, Packet().string("12")), result(1, Packet().integer(5))});
  const RpcSession session = RpcSession::connect(server.address());
  for (const char *expected : {"[1024, 7, 64]", "[]", "[12]", "5"}) {
    Value value;
    check(opd_device_get_attr(session.device(), OPD_ATTR_MAX_THREAD_DIMENSIONS, value.out()));
    EXPECT_EQ(value.to_string(), expected);
  }
  session.close();
}

TEST(ABadServer, IsRefusedForAnAnswerOfTheWrongSize) {
  const Packet tensor = result(3, Packet().integer(OPD_TENSOR).tensor(5, {4}).handle(6));
  for (const Packet &answer :
       {framed(Packet().raw<int32_t>(kCopyAck).plain(std::string(15, 'x'))),
        framed(Packet().raw<int32_t>(kCopyAck).plain(std::string(17, 'x'))),
        framed(Packet().raw<int32_t>(kReturn).plain(std::string(16, 'x'))), framed(Packet().raw<int32_t>(kReturn))}) {
    Script server({handle(7), tensor, result(1, Packet().integer(1)), answer});
    const RpcSession session = RpcSession::connect(server.address());
    const Function function = session.function("f");
    const Value found = function();
    expect_exists(session.device());
    float numbers[4];
    const Tensor given = Tensor::of(found);
    expect_throws([&] { given.copy_to_bytes(numbers, sizeof numbers); }, OPD_BAD_FORMAT,
                  "the server at " + server.address() + " did not send the 16 requested bytes");
    session.close();
  }
}

// One that gives an array, whose size is 1, and whose item is the array.
TEST(ABadServer, GivesArraysWithoutEnd) {
  const Packet array = result(2, Packet().integer(OPD_ARRAY).handle(8)),
               one = result(2, Packet().integer(OPD_INT).integer(1));
  Listener listener([&](int connection) {
    greet_as_tvm(connection);
    for (const Packet &answer : {handle(7), array, handle(9), one, handle(10), array}) answer_with(connection, answer);
    for (int i = 0; i < 15; ++i) answer_with(connection, one), answer_with(connection, array);
    wait_for_end(connection);
  });
  const RpcSession session = RpcSession::connect(listener.address());
  const Function function = session.function("endless");
  expect_throws([&] { function(); }, OPD_BAD_FORMAT, "nested more than 16 deep");
  session.close();
}

TEST(ABadServer, SendsImpossibleTensors) {
  const auto tensor = [](int64_t size, DLDataType dtype, int32_t kind) {
    return Packet().integer(OPD_TENSOR).tensor(1, {size}, 0, dtype, {static_cast<DLDeviceType>(kind), 0}).handle(2);
  };
  const DLDataType floats = {kDLFloat, 32, 1};
  for (const Packet &values :
       {tensor(INT64_MAX, floats, 1), tensor(int64_t{1} << 50, floats, 1), tensor(4, {kDLFloat, 32, 0}, 1),
        tensor(4, {kDLFloat, 0, 1}, 1), tensor(-1, floats, 1), tensor(4, floats, 129), tensor(4, floats, -1),
        tensor(4, floats, 99), Packet().integer(OPD_TENSOR).integer(1), Packet().integer(OPD_TENSOR)}) {
    Listener listener([&](int connection) {
      greet_as_tvm(connection);
      answer_with(connection, handle(7));
      answer_with(connection, result(3, values));
      wait_for_end(connection);
    });
    const RpcSession session = RpcSession::connect(listener.address());
    const Function function = session.function("tensor");
    EXPECT_THROW(function(), Error);
    session.close();
  }
}

// ---- a tracker

TEST(ATracker, GivesAServer) {
  opd_rpc_serve_options with_key = defaults(opd_rpc_serve_options_init);
  with_key.key = "pi4", with_key.match_key = "pi4:secret";
  Listener server([&](int connection) { serve_with(connection, &with_key); });
  std::string asked, answer = "[0, [\"127.0.0.1\", " + std::to_string(server.port) + ", \"pi4:secret\"]]";
  Listener tracker([&](int connection) {
    EXPECT_EQ(receive(connection, 4), Packet().raw<int32_t>(0x2F271).str());
    send_all(connection, Packet().raw<int32_t>(0x2F271));
    const std::string size = receive(connection, 4);
    asked = receive(connection, static_cast<size_t>(size[0]));
    send_all(connection, Packet().raw(static_cast<int32_t>(answer.size())).plain(answer));
  });
  opd_rpc_connect_options key = how();
  key.key = "pi4", key.priority = 3;
  EXPECT_NE(RpcSession::request(tracker.address(), &key).describe().find("\"key\":\"pi4\""), std::string::npos);
  EXPECT_EQ(asked, "[4,\"pi4\",\"\",3]");
  for (const char *wrong : {"[]", "{}", "[0]", "[0, 1]", "[0, [1, 2, 3]]", "[0, [\"h\", \"p\", \"k\"]]", "[0, ", ""}) {
    answer = wrong;
    expect_throws([&] { RpcSession::request(tracker.address(), &key); }, OPD_BAD_FORMAT, "the answer of the tracker");
  }
  for (const char *wrong :
       {"[\"0\", [\"h\", 1, \"k\"]]", "[0, [\"h\", 1, \"k\"], 1]", "[0, [\"h\", 1, 2]]", "[0, [1, 1, \"k\"]]"}) {
    answer = wrong;
    expect_throws([&] { RpcSession::request(tracker.address(), &key); }, OPD_BAD_FORMAT, "the answer of the tracker");
  }
  answer = "[1, \"no\"]";
  expect_throws([&] { RpcSession::request(tracker.address(), &key); }, OPD_CALL_FAILED, "the tracker refuses: \"no\"");
  answer = "[-1, \"no such key\"]";
  expect_throws([&] { RpcSession::request(tracker.address(), &key); }, OPD_CALL_FAILED, "no such key");
  answer = "[0, {\"queue_info\": {}, \"server_info\": []}]";
  EXPECT_EQ(RpcSession::tracker_summary(tracker.address()), "{\"queue_info\":{},\"server_info\":[]}");
  EXPECT_EQ(asked, "[6]");
  Listener other([](int connection) {
    receive(connection, 4);
    send_all(connection, Packet().plain("HTTP"));
    wait_for_end(connection);
  });
  expect_throws([&] { RpcSession::request(other.address(), &key); }, OPD_BAD_FORMAT,
                " is not a TVM tracker: it answered ");
  for (const int32_t size : {-1, (16 << 20) + 1}) {
    Listener endless([&](int connection) {
      receive(connection, 4);
      send_all(connection, Packet().raw<int32_t>(0x2F271));
      receive(connection, 4 + 3);
      send_all(connection, Packet().raw(size));
      wait_for_end(connection);
    });
    expect_throws([&] { RpcSession::tracker_summary(endless.address()); }, OPD_BAD_FORMAT,
                  "the tracker at " + endless.address() + " answers " + std::to_string(size) + " bytes");
  }
}

}  // namespace
}  // namespace opdyno_test
