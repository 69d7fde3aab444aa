// Addresses, secrets and TVM's tracker, as the program's servers and clients use them.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstring>
#include <fstream>

#include "cli/support/failure.h"
#include "cli/support/net.h"
#include "cli/support/text.h"

namespace opd::cli {
namespace {

template <class Action>
std::string failure_of(Exit code, const Action &action) {
  try {
    action();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code(), code) << failure.what();
    return failure.what();
  }
  return "";
}

TEST(AnEndpoint, IsAPortOrAHostWithOne) {
  const auto read = [](const std::string &text) {
    const Endpoint made = parse_endpoint("listen", text);
    return cat(made.host, " ", made.port, " ", made.text());
  };
  EXPECT_EQ(read("0"), "127.0.0.1 0 127.0.0.1:0");
  EXPECT_EQ(read("host:65535"), "host 65535 host:65535");
  EXPECT_EQ(read("[::1]:80"), "::1 80 [::1]:80");
  EXPECT_EQ(read("::1:80"), "::1 80 [::1]:80");
  EXPECT_EQ(read("[host:80"), "[host 80 [host:80") << "a bracket alone belongs to the name";
  for (const char *text : {"", "host", "host:", ":80", "[]:80", "host:65536", "host:-1", "host:8x"})
    EXPECT_EQ(failure_of(Exit::usage, [&] { read(text); }),
              cat("option '--listen' takes HOST:PORT or PORT, as 127.0.0.1:9090, not '", text, "'"));
}

class File {
 public:
  explicit File(std::string_view content, mode_t mode = 0600) : path_(testing::TempDir() + "secret-XXXXXX") {
    const Descriptor made(mkstemp(path_.data()));
    std::ofstream(path_) << content;
    chmod(path_.c_str(), mode);
  }
  ~File() { unlink(path_.c_str()); }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

TEST(ASecret, IsALineThatOnlyItsOwnerReads) {
  const std::string secret = "0123456789abcdef";
  EXPECT_EQ(read_secret(File(secret).path()), secret);
  EXPECT_EQ(read_secret(File(" " + secret + "x\r\n").path()), secret + "x");
  for (const std::string &wrong :
       {secret.substr(1), secret + "\n" + secret, secret + std::string(1, '\0'), std::string()}) {
    const File file(wrong);
    EXPECT_EQ(
        failure_of(Exit::usage, [&] { read_secret(file.path()); }),
        cat(file.path(), " must hold one line of at least 16 bytes; make one by: (umask 077; openssl rand -hex 32 >",
            file.path(), ")"));
  }
  for (const mode_t mode : {0640, 0604, 0620, 0601}) {
    const File file(secret, mode);
    EXPECT_EQ(failure_of(Exit::usage, [&] { read_secret(file.path()); }),
              cat("others may read the secret in ", file.path(), "; chmod 600 ", file.path()));
  }
  failure_of(Exit::failed, [] { read_secret("/none/secret"); });
}

TEST(APrivateKey, MayBeReadByItsGroup) {
  for (const mode_t mode : {0600, 0640, 0660})
    EXPECT_EQ(failure_of(Exit::usage, [&] { require_private(File("", mode).path()); }), "");
  for (const mode_t mode : {0604, 0602, 0601}) {
    const File file("", mode);
    EXPECT_EQ(failure_of(Exit::usage, [&] { require_private(file.path()); }),
              cat("all users may read the private key in ", file.path(), "; chmod o= ", file.path()));
  }
  require_private("/none/key");
}

TEST(ARandomName, HasThirtyTwoHexadecimalDigits) {
  std::string all;
  for (int i = 0; i < 100; ++i) {
    const std::string name = random_name();
    EXPECT_EQ(name.size(), 32U);
    EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos) << name;
    EXPECT_EQ(all.find(name), std::string::npos);
    all += name + " ";
  }
  std::string first, second;  // of each byte
  for (size_t i = 0; i < all.size(); ++i) (i % 33 % 2 ? second : first) += all[i];
  for (const char digit : std::string("0123456789abcdef")) {
    EXPECT_NE(first.find(digit), std::string::npos) << digit;
    EXPECT_NE(second.find(digit), std::string::npos) << digit;
  }
}

Descriptor connected_to(const Endpoint &endpoint) {
  Descriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_port = htons(static_cast<uint16_t>(std::stoi(endpoint.port)));
  inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
  EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0) << strerror(errno);
  return client;
}

TEST(AListener, HasAPortAndTheAddressOfItsPeer) {
  Endpoint endpoint{"127.0.0.1", "0"};
  const Descriptor listener = listen_at(endpoint);
  EXPECT_GT(std::stoi(endpoint.port), 0);
  EXPECT_TRUE(is_loopback(listener.get()));
  const Descriptor client = connected_to(endpoint), server(accept(listener.get(), nullptr, nullptr));
  sockaddr_in own{};
  socklen_t size = sizeof own;
  getsockname(client.get(), reinterpret_cast<sockaddr *>(&own), &size);
  EXPECT_EQ(peer_of(server.get()), cat("127.0.0.1:", ntohs(own.sin_port)));
  EXPECT_EQ(peer_of(listener.get()), "an unknown address");
  Endpoint same = endpoint;
  EXPECT_EQ(failure_of(Exit::failed, [&] { listen_at(same); }),
            cat("cannot listen at ", endpoint.text(), ": Address already in use"));
  Endpoint second{"127.0.0.2", "0"}, any{"0.0.0.0", "0"};
  EXPECT_TRUE(is_loopback(listen_at(second).get()));
  EXPECT_FALSE(is_loopback(listen_at(any).get()));
  for (const char *host : {"::1", "::"}) {
    Endpoint six{host, "0"};
    try {
      const Descriptor there = listen_at(six);
      EXPECT_EQ(is_loopback(there.get()), std::string(host) == "::1");
      EXPECT_GT(std::stoi(six.port), 0);
    } catch (const Failure &) {}  // without IPv6
  }
}

std::string number(int32_t of) { return {reinterpret_cast<const char *>(&of), sizeof of}; }
std::string sized(const std::string &text) { return number(static_cast<int32_t>(text.size())) + text; }

constexpr int32_t kMagic = 0x2F271;  // of TVM's trackers

// A process that gives one client these answers, and keeps what the client says.
class ScriptedTracker {
 public:
  explicit ScriptedTracker(const std::string &answers) {
    const Descriptor listener = listen_at(endpoint_);
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    said_ = Descriptor(ends[0]);
    Descriptor to(ends[1]);
    child_ = fork();
    if (child_ != 0) return;
    wait_for(listener.get());
    const Descriptor client(accept(listener.get(), nullptr, nullptr));
    for (size_t sent = 0; sent < answers.size();) {
      const ssize_t count = send(client.get(), answers.data() + sent, answers.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<size_t>(count);
    }
    shutdown(client.get(), SHUT_WR);
    char block[4096];
    for (ssize_t count; (count = recv(client.get(), block, sizeof block, 0)) > 0;)
      if (write(to.get(), block, static_cast<size_t>(count)) != count) break;
    _exit(0);
  }
  ~ScriptedTracker() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  ScriptedTracker(const ScriptedTracker &) = delete;
  ScriptedTracker &operator=(const ScriptedTracker &) = delete;
  const Endpoint &endpoint() const { return endpoint_; }
  std::string said() const {  // until the client goes
    std::string all;
    char block[4096];
    for (ssize_t count; (count = read(said_.get(), block, sizeof block)) > 0;)
      all.append(block, static_cast<size_t>(count));
    return all;
  }

 private:
  static void wait_for(int listener) {  // which does not block
    pollfd waited = {listener, POLLIN, 0};
    poll(&waited, 1, -1);
  }
  Endpoint endpoint_{"127.0.0.1", "0"};
  Descriptor said_;
  pid_t child_;
};

TEST(ATracker, GetsTheServerAndItsKeys) {
  const ScriptedTracker scripted(number(kMagic) + sized("0") + sized("0") + sized("[\"a\",\"b\"]") +
                                 sized("[\"a\",7]"));
  {
    Tracker tracker(scripted.endpoint(), "board", 9090);
    tracker.offer("b");
    EXPECT_FALSE(tracker.is_taken("b"));
    EXPECT_TRUE(tracker.is_taken("b"));
  }
  EXPECT_EQ(scripted.said(), number(kMagic) + sized("[5,{\"key\":\"server:board\",\"addr\":[null,9090]}]") +
                                 sized("[3,\"board\",[9090,\"b\"],null]") + sized("[7]") + sized("[7]"));
}

TEST(ATracker, IsRefusedForAnInvalidAnswer) {
  const auto refusal = [](const std::string &answers) {
    const ScriptedTracker scripted(answers);
    const std::string at = scripted.endpoint().text();
    std::string text = failure_of(Exit::failed, [&] { const Tracker tracker(scripted.endpoint(), "board", 9090); });
    if (const size_t place = text.find(at); place != text.npos) text.replace(place, at.size(), "HERE");
    return text;
  };
  EXPECT_EQ(refusal(number(kMagic + 1)), "at HERE there is something else than TVM's tracker");
  EXPECT_EQ(refusal(number(kMagic).substr(1)), "the tracker at HERE closed the connection");
  EXPECT_EQ(refusal(number(kMagic) + sized("-1")),
            "the tracker at HERE refused [5,{\"key\":\"server:board\",\"addr\":[null,9090]}]");
  EXPECT_EQ(refusal(number(kMagic) + number(-1)), "the tracker at HERE answers with -1 bytes");
  EXPECT_EQ(refusal(number(kMagic) + number((1 << 20) + 1)), "the tracker at HERE answers with 1048577 bytes");
  EXPECT_EQ(refusal(number(kMagic) + sized(std::string(1 << 20, ' '))), "");
  EXPECT_EQ(refusal(number(kMagic) + sized("0").substr(0, 4)), "the tracker at HERE closed the connection");
  Endpoint free{"127.0.0.1", "0"};
  listen_at(free);
  EXPECT_EQ(failure_of(Exit::failed, [&] { const Tracker tracker(free, "board", 1); }),
            cat("cannot connect to the tracker at ", free.text(), ": Connection refused"));
}

}  // namespace
}  // namespace opd::cli
