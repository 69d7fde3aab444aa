// opd_rpc_serve(): who is let in, its limits and options, and what it does about silent peers.
#include <netinet/tcp.h>

#include "support/add_one.h"
#include "support/rpc_client.h"
#include "support/rpc_servers.h"

namespace opdyno_test {
namespace {

opd_rpc_serve_options options() { return defaults(opd_rpc_serve_options_init); }

TEST(Serving, NeedsTheKey) {
  opd_rpc_serve_options with_key = options();
  with_key.key = "board", with_key.match_key = "board:0.123";
  {
    RawSession session(with_key);
    session.begin("board:0.123");
    EXPECT_NE(session.function("tvm.rpc.server.upload"), 0u);
  }
  for (const char *said : {"client:board", "client:board:0.124", "client:board:0.1234", "server:board:0.123", ""}) {
    RawSession session(with_key);
    session.greet(said);
    EXPECT_EQ(session.receive(8), Packet().raw<int32_t>(0xFF273).str());
    expect_error(session.end(), OPD_FAILED_PRECONDITION, "does not know the key");
  }
  RawSession session(with_key);
  session.greet("client:board:0.123 -timeout=5");
  EXPECT_EQ(session.receive(20), Packet().raw<int32_t>(0xFF271).raw<int32_t>(12).plain("server:board").str());
}

TEST(Serving, EndsASessionAfterTheTimeThatItsClientAskedFor) {
  for (const char *said : {" -timeout=0.05", " -x -timeout=0.05 -y"}) {
    RawSession session;
    session.begin(said);
    EXPECT_EQ(
        session.next().message(),
        "ConnectionError: the session's process was ended by the server (the 50 ms of the session are over, which "
        "the client asked for)");
    EXPECT_EQ(session.receive(1), "");
    expect_error(session.end(), OPD_DEADLINE_EXCEEDED, "the 50 ms of the session are over");
  }
  for (const char *none : {" -timeout=", " -timeout=-1", " -timeout=nan", " -timeout=1e300", " timeout=0.01"}) {
    RawSession session;
    session.begin(none);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_NE(session.function("tvm.rpc.server.upload"), 0u) << none;
  }
}

TEST(Serving, RefusesOthersThanTvmsClients) {
  RawSession other;
  other.send("GET / HTTP/1.1\r\n\r\n");
  expect_error(other.end(), OPD_BAD_FORMAT, "does not speak TVM's RPC");
  RawSession endless;
  endless.send(Packet().raw<int32_t>(0xFF271).raw<int32_t>(INT32_MAX).str());
  expect_error(endless.end(), OPD_BAD_FORMAT, "key has 2147483647 bytes");
  RawSession silent;
  expect_error(silent.end(), OPD_IO, "at once");
  RawSession old;
  old.greet();
  old.receive(8 + 7);
  EXPECT_NE(old.ask(kGetGlobalFunc, Packet().raw<int32_t>(1).string("x")).message().find("must begin"),
            std::string::npos);
  EXPECT_NE(old.ask(kCopyToRemote, Packet().view(1, {1}).text("xxxx")).message().find("must begin"), std::string::npos);
  EXPECT_NE(old.ask(kInitServer, Packet().text("0.7.0").raw<int32_t>(0)).message().find("version 0.7.0"),
            std::string::npos);
  EXPECT_NE(old.ask(kInitServer, Packet().text("0.8.0").raw<int32_t>(1).string("rpc.Connect"))
                .message()
                .find("session within"),
            std::string::npos);
}

// A peer that lost its power says nothing, so the kernel asks it: first after 15 s, then each 5 s, 4 times.
TEST(Serving, AsksWhetherASilentPeerIsThere) {
  int port = 0;
  const int listener = listening(port), client = connected(port), connection = accept(listener, nullptr, nullptr);
  close(client);
  opd_error_release(opd_rpc_serve(connection, nullptr));
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    getsockopt(connection, level, name, &value, &size);
    return value;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 15);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 5);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPCNT), 4);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1) << "answers are small";
  close(connection);
  close(listener);
}

TEST(Serving, HasLimits) {
  opd_rpc_serve_options limited = options();
  limited.max_packet_bytes = 4096, limited.max_file_bytes = 100, limited.max_tensor_bytes = 64;
  {
    RawSession session(limited);
    session.begin();
    const uint64_t upload = session.function("tvm.rpc.server.upload");
    EXPECT_EQ(session.call(upload, 2, Packet().string("a").bytes(std::string(60, 'x'))).type(), OPD_NONE);
    EXPECT_NE(session.call(upload, 2, Packet().string("b").bytes(std::string(60, 'x'))).message().find("may have 100"),
              std::string::npos);
    EXPECT_EQ(session.call(upload, 2, Packet().string("a").bytes(std::string(100, 'x'))).type(), OPD_NONE)
        << "replaces";
    EXPECT_NE(session.ask(kDevAllocDataWithScope, Packet().raw<int32_t>(2).tensor(0, {17}, 0).none())
                  .message()
                  .find("a tensor of 68 bytes is refused: the client has 0 of the 64 bytes of its session"),
              std::string::npos);
    const uint64_t half = session.allocate({8});
    EXPECT_NE(session.ask(kDevAllocDataWithScope, Packet().raw<int32_t>(2).tensor(0, {9}).none())
                  .message()
                  .find("of the 64 bytes"),
              std::string::npos);
    session.ask(kFreeHandle, Packet().raw<int32_t>(1).handle(half)).expect_done();
    EXPECT_NE(session.allocate({16}), 0u) << "what was freed counts no more";
    const auto fills = [&](size_t size) {  // a packet of so many bytes, of a text that is not there
      const size_t head = 4 + 8 + 4 + 4 + 8;
      return Packet().raw<uint64_t>(12345).raw<int32_t>(1).string(std::string(size - head, 'x'));
    };
    EXPECT_NE(session.ask(kCallFunc, fills(4096)).message().find("no object number 12345"), std::string::npos);
    session.send(Packet().raw<uint64_t>(4097).str());
    EXPECT_EQ(session.next().message(),
              "ConnectionError: the session's process was ended by the server (a packet of the client must have 4 to "
              "4096 bytes, but has 4097)");
    expect_error(session.end(), OPD_BAD_FORMAT, "must have 4 to 4096 bytes, but has 4097");
  }
  limited.max_silence_ns = 50'000'000;
  RawSession silent(limited);
  silent.begin();
  EXPECT_EQ(silent.next().message(),
            "ConnectionError: the session's process was ended by the server (the peer sent nothing for 50 ms)");
  EXPECT_EQ(silent.receive(1), "") << "the server closes nothing, but its thread ends";
  expect_error(silent.end(), OPD_DEADLINE_EXCEEDED, "for 50 ms");
}

TEST(Serving, NeedsASocketAndOptionsThatMakeSense) {
  for (const int descriptor : {-1, 0, 12345})
    expect_error(opd_rpc_serve(descriptor, nullptr), OPD_INVALID_ARGUMENT, "is not a socket of a connection");
  opd_rpc_serve_options wrong = options();
  wrong.max_packet_bytes = 0;
  expect_error(opd_rpc_serve(0, &wrong), OPD_INVALID_ARGUMENT, "max_packet_bytes");
  wrong = options(), wrong.max_silence_ns = -1;
  expect_error(opd_rpc_serve(0, &wrong), OPD_INVALID_ARGUMENT, "max_silence_ns");
  wrong = options(), wrong.struct_size = 3;
  expect_error(opd_rpc_serve(0, &wrong), OPD_INVALID_ARGUMENT, "");
  opd_rpc_serve_options folder = options();
  folder.work_folder = "/nowhere/at/all";
  RawSession session(folder);
  session.greet();
  session.receive(8 + 7);
  expect_error(session.end(), OPD_NOT_FOUND, "/nowhere/at/all");
}

}  // namespace
}  // namespace opdyno_test
