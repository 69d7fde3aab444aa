// Messages on a connection: whole, in parts, and never more.
#include "rpc/wire/socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"

namespace opd::rpc {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct ASocket : testing::Test {
  int ends[2] = {-1, -1};  // the socket's, and the peer's
  std::optional<Socket> socket;
  void SetUp() override {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket.emplace(ends[0], 20ms);
  }
  void TearDown() override {
    for (const int end : ends)
      if (end >= 0) ::close(end);
  }
  void say(std::string_view bytes) const {
    EXPECT_EQ(::send(ends[1], bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void hang_up() { ::close(std::exchange(ends[1], -1)); }
  std::string read(size_t size) {
    std::string bytes(size, '\0');
    socket->read(bytes.data(), size);
    return bytes;
  }
  static void expect_refusal(const auto &action, opd_code code, const std::string &message) {
    try {
      action();
      ADD_FAILURE() << "nothing was thrown, but " << message << " is expected";
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->code, code);
      EXPECT_EQ(e.error()->message, message);
    }
  }
};

TEST(Milliseconds, UntilATimeAreRoundedUpAndNotNegative) {
  EXPECT_EQ(milliseconds_until(Clock::now() - 1h), 0);
  EXPECT_EQ(milliseconds_until(Clock::now() + std::chrono::hours(24 * 365)), 1'000'000'000);
  const int soon = milliseconds_until(Clock::now() + 1h + 500us);
  EXPECT_GT(soon, 3'600'000 - 60'000);
  EXPECT_LE(soon, 3'600'001);
}

TEST_F(ASocket, ReadsMessagesInAnyParts) {
  std::string large(300'000, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * i >> 7);
  socket.emplace(ends[0], 60s);
  std::thread peer([&] {
    size_t at = 0;
    for (const size_t size : {1, 2, 5000, 94'997, 200'000}) say(std::string_view(large).substr(at, size)), at += size;
  });
  std::string got;
  for (const size_t size : {2, 4094, 4096, 4097, 1, 0, 100'000, 187'710}) got += read(size);
  peer.join();
  EXPECT_TRUE(got == large);
  EXPECT_FALSE(socket->has_input(1ms)) << "and no more";
  say(std::string_view("\x01\x02\0\0rest", 8));
  EXPECT_EQ(socket->peek(60s), 1);
  EXPECT_EQ(socket->read_number(), 0x201);
  EXPECT_TRUE(socket->has_input(1ms)) << "what came with it";
  EXPECT_TRUE(socket->wait(1ms));
  EXPECT_EQ(read(4), "rest");
}

TEST_F(ASocket, DoesNotWaitForEver) {
  expect_refusal([&] { socket->wait(10ms); }, OPD_DEADLINE_EXCEEDED, "the peer sent nothing for 10 ms");
  expect_refusal([&] { socket->peek(10ms); }, OPD_DEADLINE_EXCEEDED, "the peer says nothing");
  say("abc");
  expect_refusal([&] { read(8); }, OPD_DEADLINE_EXCEEDED, "the peer stopped inside a message; 5 bytes are missing");
  expect_refusal([&] { read(8000); }, OPD_DEADLINE_EXCEEDED,
                 "the peer stopped inside a message; 8000 bytes are missing");
  expect_refusal([&] { socket->write(std::string(10'000'000, 'x')); }, OPD_DEADLINE_EXCEEDED,
                 "the peer reads nothing; a message is not sent whole");
  socket.emplace(ends[0], 0ns);  // without a limit, but with an end
  socket->end_at(Clock::now() + 10ms);
  expect_refusal([&] { read(1); }, OPD_DEADLINE_EXCEEDED, "the peer stopped inside a message; 1 bytes are missing");
  socket.emplace(ends[0], 1h);
  socket->end_at(Clock::now() - 1s);
  expect_refusal([&] { read(1); }, OPD_DEADLINE_EXCEEDED, "the peer stopped inside a message; 1 bytes are missing");
  EXPECT_FALSE(socket->has_input(1h));
}

TEST_F(ASocket, SeesTheEndOfTheConnection) {
  say("abc");
  hang_up();
  EXPECT_TRUE(socket->wait(1h));
  expect_refusal([&] { read(8); }, OPD_IO, "the peer closed the connection inside a message; 5 bytes are missing");
  EXPECT_FALSE(socket->wait(1h));
  EXPECT_EQ(socket->peek(1h), -1);
  EXPECT_TRUE(socket->has_input(1h)) << "which is the end";
  expect_refusal([&] { socket->write("x"); }, OPD_IO, "cannot write to the peer: Broken pipe");
  socket->write_last("x");
}

TEST_F(ASocket, WritesBothPartsOfAMessage) {
  socket.emplace(ends[0], 60s);
  const std::string head(3000, 'h'), rest(5'000'000, 'r');
  std::string got;
  std::thread peer([&] {
    char block[65536];
    for (ssize_t found; (found = ::recv(ends[1], block, sizeof block, 0)) > 0;)
      got.append(block, static_cast<size_t>(found));
  });
  socket->write(head, rest);
  socket->write("", "a");
  socket->write("b");
  socket->write_number(0x64636261);
  socket->write_last(rest);
  ::shutdown(ends[0], SHUT_WR);
  peer.join();
  EXPECT_TRUE(got == head + rest + "ababcd" + rest);
}

}  // namespace
}  // namespace opd::rpc
