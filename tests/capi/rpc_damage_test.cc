// Bytes that a network changes between a client and a server of opdyno's: both are this library's, with a relay
// between.
#include <mutex>
#include <numeric>

#include "support/rpc_servers.h"

namespace opdyno_test {
namespace {

// Passes on what comes, and changes one byte if it is told to.
class Relay {
 public:
  enum Direction { kUp, kDown };

  explicit Relay(int port)
      : listener_([this, port](int client) {
          const int server = connected(port);
          std::thread up([&] { pass_on(kUp, client, server); });
          pass_on(kDown, server, client);
          up.join();
          close(server);
        }) {}
  std::string address() const { return listener_.address(); }

  // The byte that comes after `bytes` more in that direction.
  void change(Direction direction, size_t bytes, char mask) {
    const std::scoped_lock lock(guard_);
    place_[direction] = passed_[direction] + bytes, mask_[direction] = mask;
  }
  size_t passed(Direction direction) {
    const std::scoped_lock lock(guard_);
    return passed_[direction];
  }

 private:
  void pass_on(Direction direction, int from, int to) {
    char bytes[1 << 14];
    for (ssize_t size; (size = recv(from, bytes, sizeof bytes, 0)) > 0;) {
      {
        const std::scoped_lock lock(guard_);
        const size_t at = place_[direction] - passed_[direction];
        if (at < static_cast<size_t>(size)) bytes[at] = static_cast<char>(bytes[at] ^ mask_[direction]);
        passed_[direction] += static_cast<size_t>(size);
      }
      if (send(to, bytes, static_cast<size_t>(size), MSG_NOSIGNAL) != size) break;
    }
    shutdown(to, SHUT_WR);
  }

  std::mutex guard_;
  size_t passed_[2] = {0, 0}, place_[2] = {SIZE_MAX, SIZE_MAX};
  char mask_[2] = {0, 0};
  Listener listener_;  // last: its threads use the others
};

struct ADamagedConnection : testing::Test {
  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);
  std::mutex guard;
  std::string said;  // of sessions that ended early, by the server
  Listener server{[this](int connection) {
    opd_error *const error = opd_rpc_serve(connection, &options);
    const std::scoped_lock lock(guard);
    if (error) said = opd_error_message(error);
    opd_error_release(error);
  }};
  std::vector<float> sent = std::vector<float>(10);
  void SetUp() override { std::iota(sent.begin(), sent.end(), 1.f); }

  // To the server and back. The remote tensor outlives both copies, so all that was sent has come when they are over.
  std::vector<float> sent_and_received(const RpcSession &session) const {
    const Tensor here = floats(sent), there({10}, "float32", session.device());
    there.copy_from(here);
    std::vector<float> received(sent.size());
    there.copy_to_bytes(received.data(), received.size() * sizeof(float));
    return received;
  }
};

TEST_F(ADamagedConnection, IsNoticedAtEachChangedByte) {
  size_t sizes[2];
  {
    Relay relay(server.port);
    const RpcSession session = RpcSession::connect(relay.address());
    const size_t begun[] = {relay.passed(Relay::kUp), relay.passed(Relay::kDown)};
    EXPECT_EQ(sent_and_received(session), sent);
    for (const auto direction : {Relay::kUp, Relay::kDown})
      sizes[direction] = relay.passed(direction) - begun[direction];
    EXPECT_GT(sizes[Relay::kUp], 200u);
    EXPECT_GT(sizes[Relay::kDown], 100u);
  }
  for (const auto direction : {Relay::kUp, Relay::kDown})
    // What is sent last frees objects, at any time.
    for (size_t place = 0; place + 100 < sizes[direction]; ++place) {
      Relay relay(server.port);
      SCOPED_TRACE(std::string(direction == Relay::kUp ? "up " : "down ") + std::to_string(place));
      const RpcSession session = RpcSession::connect(relay.address());
      relay.change(direction, place, static_cast<char>(1 << place % 8));
      expect_throws([&] { sent_and_received(session); }, OPD_IO, "the checksum of a packet is wrong");
      expect_throws([&] { session.function("f"); }, OPD_IO, "has ended: bytes were changed on their way");
    }
}

// The request to allocate memory, whose code is 17, becomes the one to end, whose code is 1.
TEST_F(ADamagedConnection, IsNoticedIfTheRequestIsThenToEndTheSession) {
  Relay relay(server.port);
  const RpcSession session = RpcSession::connect(relay.address());
  session.upload("f", "");  // so that the allocation comes next
  relay.change(Relay::kUp, 12, 16);
  expect_throws([&] { Tensor({10}, "float32", session.device()); }, OPD_IO, "the checksum of a packet is wrong");
}

// Also while the client sends more than the connection holds.
TEST_F(ADamagedConnection, EndsTheSessionThatSaysWhy) {
  {
    Relay relay(server.port);
    const RpcSession session = RpcSession::connect(relay.address());
    session.upload("f", "");  // so that the function is known
    relay.change(Relay::kUp, 3, 1);
    expect_throws([&] { session.upload("f", std::string(50'000'000, 'x')); }, OPD_IO,
                  "while f was uploaded: bytes were changed on their way");
  }
  while (server.open) std::this_thread::yield();
  EXPECT_EQ(said, "bytes were changed on their way: the checksum of a packet is wrong");
}

// A server of the version before: it knows what only opdyno's know, but no checksums. Frames stay as they were.
TEST(AFormerServer, IsUsedWithoutChecksums) {
  std::atomic<int> asked{0};
  Listener former([&](int connection) {
    receive(connection, 8 + 7);
    send_all(connection, Packet().raw<int32_t>(0xFF271).raw<int32_t>(7).plain("server:"));
    for (uint64_t size; receive(connection, sizeof size).copy(reinterpret_cast<char *>(&size), sizeof size) == 8;) {
      const std::string packet = receive(connection, size);
      int32_t code = 0;
      packet.copy(reinterpret_cast<char *>(&code), sizeof code);
      const bool is_checksums = packet.ends_with("opdyno.rpc.checksums"), is_lookup = code == kGetGlobalFunc;
      asked += is_checksums;
      if (code == kCallFunc) send_all(connection, result(2, Packet().integer(OPD_STRING).string("0.1.0")));
      else if (is_lookup) send_all(connection, handle(is_checksums ? 0 : 5));
      else if (code != kShutdown) send_all(connection, done());
    }
  });
  const RpcSession session = RpcSession::connect(former.address());
  EXPECT_NE(session.describe().find("\"server\":\"opdyno 0.1.0\""), std::string::npos);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(session.function("f")().to_string(), "\"0.1.0\"");
}

}  // namespace
}  // namespace opdyno_test
