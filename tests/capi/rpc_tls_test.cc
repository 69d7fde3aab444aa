// Sessions that go through TLS, and peers that do not speak it. The certificates are those of tests/data/tls.
#include <poll.h>
#include <sys/wait.h>

#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>

#include "support/paths.h"
#include "support/rpc_servers.h"
#include "support/sanitizers.h"

namespace opdyno_test {
namespace {

std::string file(const std::string &name) { return opdyno_test::test_data("/tls/") + name; }

std::string described(const opd_rpc_serve_options *options, const std::string &member) {
  const std::string json = opdyno::rpc_serve_describe(options), key = "\"" + member + "\":\"";
  const size_t begin = json.find(key) + key.size();
  return json.substr(begin, json.find('"', begin) - begin);
}

// A server with one of the certificates. Its sessions' errors are kept.
class TlsServer {
 public:
  explicit TlsServer(const std::string &certificate, const char *secret = nullptr)
      : certificate_(file(certificate + ".pem")), key_(file(certificate + ".key")) {
    options.tls_certificate_file = certificate_.c_str(), options.tls_key_file = key_.c_str();
    options.secret = secret;
    listener.emplace([this](int connection) {
      opd_error *const error = opd_rpc_serve(connection, &options);
      const std::lock_guard lock(guard_);
      if (error) ends_.push_back(opd_error_message(error)), codes_.push_back(opd_error_code(error));
      opd_error_release(error);
    });
  }
  std::string address() const { return listener->address(); }
  // What the server says of its last session, once all have ended.
  std::string last_end() {
    listener.reset();
    return ends_.empty() ? "" : ends_.back();
  }
  opd_code last_code() const { return codes_.empty() ? OPD_OK : codes_.back(); }

  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);

 private:
  const std::string certificate_, key_;
  std::mutex guard_;
  std::vector<std::string> ends_;
  std::vector<opd_code> codes_;

 public:
  std::optional<Listener> listener;  // last: its threads write what is above until it ends
};

class Tls : public testing::Test {
 protected:
  void SetUp() override {
    const std::string absence = described(nullptr, "tls_absence");
    if (!absence.empty()) GTEST_SKIP() << absence;
    trusting.tls_ca_file = ca_.c_str();
    // As a server does before it has clients. Here, clients of the same process could use OpenSSL first.
    opd_rpc_serve_options server = defaults(opd_rpc_serve_options_init);
    const std::string pem = file("server.pem"), key = file("server.key");
    server.tls_certificate_file = pem.c_str(), server.tls_key_file = key.c_str();
    EXPECT_EQ(described(&server, "tls_fingerprint").size(), 64U);
  }
  opd_rpc_connect_options trusting = how();

 private:
  const std::string ca_ = file("ca.pem");
};

void expect_session(const std::string &address, const opd_rpc_connect_options &options) {
  const RpcSession session = RpcSession::connect(address, &options);
  session.upload("f", "content");
  EXPECT_EQ(session.download("f"), "content");
  EXPECT_EQ(session.function("tvm.rpc.server.listdir")(".").string(), "f");
}

TEST_F(Tls, ShowsACertificateThatTheAuthoritySigned) {
  TlsServer server("server");
  expect_session(server.address(), trusting);
  expect_session("localhost:" + std::to_string(server.listener->port), trusting);
  TlsServer chain("chain");
  expect_session(chain.address(), trusting);
  EXPECT_EQ(server.last_end() + chain.last_end(), "");
}

TEST_F(Tls, SendsNothingThatOthersCanRead) {
  TlsServer server("server");
  std::string seen;  // by whoever carries the bytes
  Listener carrier([&](int client) {
    const int to_server = connected(server.listener->port);
    pollfd ends[] = {{client, POLLIN, 0}, {to_server, POLLIN, 0}};
    char bytes[4096];
    for (;;) {
      poll(ends, 2, -1);
      for (const int from : {0, 1}) {
        if (!ends[from].revents) continue;
        const ssize_t count = recv(ends[from].fd, bytes, sizeof bytes, 0);
        if (count <= 0) return shutdown(to_server, SHUT_RDWR), static_cast<void>(close(to_server));
        seen.append(bytes, static_cast<size_t>(count));
        EXPECT_EQ(send(ends[1 - from].fd, bytes, static_cast<size_t>(count), MSG_NOSIGNAL), count);
      }
    }
  });
  {
    const RpcSession session = RpcSession::connect(carrier.address(), &trusting);
    session.upload("a-name-that-is-secret", "a content that is secret");
    EXPECT_EQ(session.download("a-name-that-is-secret"), "a content that is secret");
  }
  server.last_end();
  EXPECT_GT(seen.size(), 1000U);
  EXPECT_EQ(seen.find("secret"), std::string::npos);
  EXPECT_EQ(seen.find("client:"), std::string::npos);
}

TEST_F(Tls, RefusesCertificatesOfOthers) {
  const auto expect_refusal = [&](const std::string &certificate, const std::string &why) {
    TlsServer server(certificate);
    expect_throws([&] { RpcSession::connect(server.address(), &trusting); }, OPD_FAILED_PRECONDITION,
                  "the server's certificate is refused: " + why);
    const std::string end = server.last_end();
    EXPECT_NE(end.find("the client refuses the certificate: "), std::string::npos) << end;
    EXPECT_EQ(server.last_code(), OPD_FAILED_PRECONDITION);
  };
  expect_refusal("expired", "certificate has expired");
  expect_refusal("elsewhere", "IP address mismatch");
  const std::string other = file("other_ca.pem");
  trusting.tls_ca_file = other.c_str();
  expect_refusal("server", "unable to get local issuer certificate");
}

TEST_F(Tls, ChecksTheNameThatTheOptionsGive) {
  TlsServer server("elsewhere");
  trusting.tls_name = "board.example";
  expect_session(server.address(), trusting);
  trusting.tls_name = "boards.example";
  expect_throws([&] { RpcSession::connect(server.address(), &trusting); }, OPD_FAILED_PRECONDITION,
                "hostname mismatch");
}

TEST_F(Tls, AFingerprintOverridesExpiryAndHostName) {
  for (const char *certificate : {"server", "expired", "elsewhere"}) {
    TlsServer server(certificate);
    opd_rpc_connect_options pinned = how();
    std::string print = described(&server.options, "tls_fingerprint");
    EXPECT_EQ(print.size(), 64U);
    pinned.tls_fingerprint = print.c_str();
    expect_session(server.address(), pinned);
    std::string pairs;  // as `openssl x509 -fingerprint -sha256` prints it
    for (size_t i = 0; i < print.size(); ++i)
      pairs += (i && i % 2 == 0 ? ":" : "") + std::string(1, static_cast<char>(std::toupper(print[i])));
    pinned.tls_fingerprint = pairs.c_str();
    expect_session(server.address(), pinned);
    print[10] = print[10] == '0' ? '1' : '0';
    pinned.tls_fingerprint = print.c_str();
    expect_throws([&] { RpcSession::connect(server.address(), &pinned); }, OPD_FAILED_PRECONDITION,
                  "the server has another certificate: its fingerprint is ");
  }
}

TEST_F(Tls, ChecksAuthorityAndFingerprintIfBothAreGiven) {
  TlsServer expired("expired");
  const std::string print = described(&expired.options, "tls_fingerprint");
  trusting.tls_fingerprint = print.c_str();
  expect_throws([&] { RpcSession::connect(expired.address(), &trusting); }, OPD_FAILED_PRECONDITION, "has expired");
  TlsServer server("server");
  expect_throws([&] { RpcSession::connect(server.address(), &trusting); }, OPD_FAILED_PRECONDITION,
                "another certificate");
}

TEST_F(Tls, GoesTogetherWithTheSecret) {
  TlsServer server("server", "0123456789abcdef0123");
  expect_throws([&] { RpcSession::connect(server.address(), &trusting); }, OPD_FAILED_PRECONDITION, "wants a secret");
  trusting.secret = "0123456789abcdef0124";
  expect_throws([&] { RpcSession::connect(server.address(), &trusting); }, OPD_FAILED_PRECONDITION, "another secret");
  trusting.secret = "0123456789abcdef0123";
  expect_session(server.address(), trusting);
}

TEST_F(Tls, IsNotSpokenByAPlainClient) {
  TlsServer server("server");
  expect_throws([&] { RpcSession::connect(server.address()); }, OPD_FAILED_PRECONDITION, "the server demands TLS");
  // TVM's client says so: "client:" without a key. It takes the answer for that of no server of TVM's.
  const int tvm = connected(server.listener->port);
  send_all(tvm, Packet().raw<int32_t>(0xFF271).raw<int32_t>(7).plain("client:"));
  EXPECT_EQ(receive(tvm, 8), Packet().raw<int32_t>(0xFF271 + 3).str());
  close(tvm);
  const std::string end = server.last_end();
  EXPECT_NE(end.find("the client does not speak TLS"), std::string::npos) << end;
  EXPECT_EQ(server.last_code(), OPD_FAILED_PRECONDITION);
}

TEST_F(Tls, IsNotSpokenByAPlainServer) {
  Listener plain([](int connection) {
    opd_error *const error = opd_rpc_serve(connection, nullptr);
    EXPECT_EQ(opd_error_code(error), OPD_FAILED_PRECONDITION);
    EXPECT_NE(std::string(opd_error_message(error)).find("the client speaks TLS"), std::string::npos);
    opd_error_release(error);
  });
  expect_throws([&] { RpcSession::connect(plain.address(), &trusting); }, OPD_IO, "as a server without TLS does");
  Listener other([](int connection) {  // of another protocol
    send_all(connection, Packet().plain("220 mail.example ready for anything that is not TLS\r\n"));
    wait_for_end(connection);
  });
  expect_throws([&] { RpcSession::connect(other.address(), &trusting); }, OPD_BAD_FORMAT, "does not speak TLS 1.3");
}

// Sends what a client sends first, up to a byte, and then nothing, or an end.
std::string first_flight(const opd_rpc_connect_options &options) {
  std::string flight;
  Listener server([&](int connection) {
    flight = receive(connection, 5);
    const size_t rest =
        static_cast<size_t>(static_cast<unsigned char>(flight[3])) << 8 | static_cast<unsigned char>(flight[4]);
    flight += receive(connection, rest);
  });
  opd_error_release(opd_rpc_connect(server.address().c_str(), &options, nullptr));
  expect_throws([&] { RpcSession::connect(server.address(), &options); }, OPD_IO, "closed the connection");
  return flight;
}

TEST_F(Tls, ACutHandshakeIsAnErrorAtOnce) {
  const std::string flight = first_flight(trusting);
  ASSERT_GT(flight.size(), 100U);
  for (const size_t size : {size_t{1}, size_t{5}, flight.size() / 2, flight.size()}) {
    TlsServer server("server");
    const int client = connected(server.listener->port);
    send_all(client, Packet().plain(flight.substr(0, size)));
    shutdown(client, SHUT_WR);
    wait_for_end(client);
    close(client);
    const std::string end = server.last_end();
    EXPECT_NE(end.find("closed the connection during the TLS handshake"), std::string::npos) << size << ": " << end;
    EXPECT_EQ(server.last_code(), OPD_IO);
  }
}

TEST_F(Tls, AHandshakeHasTheTimeOfConnecting) {
  Listener silent([](int connection) { wait_for_end(connection); });
  trusting.connect_timeout_ns = 50'000'000;
  expect_throws([&] { RpcSession::connect(silent.address(), &trusting); }, OPD_DEADLINE_EXCEEDED,
                "stopped during the TLS handshake");
}

TEST_F(Tls, ChangedBytesEndTheSession) {
  TlsServer server("server");
  std::atomic<bool> changes{false};
  Listener carrier([&](int client) {
    const int to_server = connected(server.listener->port);
    pollfd ends[] = {{client, POLLIN, 0}, {to_server, POLLIN, 0}};
    char bytes[65536];
    for (bool goes_on = true; goes_on;) {
      poll(ends, 2, -1);
      for (const int from : {0, 1}) {
        if (!ends[from].revents || !goes_on) continue;
        const ssize_t count = recv(ends[from].fd, bytes, sizeof bytes, 0);
        goes_on = count > 0;
        if (from == 1 && changes) bytes[count / 2] ^= 1;
        if (goes_on) goes_on = send(ends[1 - from].fd, bytes, static_cast<size_t>(count), MSG_NOSIGNAL) == count;
      }
    }
    close(to_server);
    shutdown(client, SHUT_RDWR);
  });
  const RpcSession session = RpcSession::connect(carrier.address(), &trusting);
  session.upload("f", std::string(1000, 'x'));
  changes = true;
  expect_throws([&] { session.download("f"); }, OPD_IO, "is not what it wrote");
}

TEST_F(Tls, CopiesLargeTensorsWhole) {
  TlsServer server("server");
  const RpcSession session = RpcSession::connect(server.address(), &trusting);
  constexpr int64_t kCount = 16 << 20;  // 64 MiB
  const DLDevice device = session.device();
  std::vector<uint32_t> sent(kCount), got(kCount);
  uint32_t state = 1;
  for (uint32_t &one : sent) one = state = state * 1664525 + 1013904223;
  const Tensor there({kCount}, "uint32", device);
  there.copy_from_bytes(sent.data(), kCount * 4);
  there.copy_to_bytes(got.data(), kCount * 4);
  EXPECT_TRUE(sent == got);
}

TEST_F(Tls, ManySmallRequestsStayInOrder) {
  TlsServer server("server");
  const RpcSession session = RpcSession::connect(server.address(), &trusting);
  for (int i = 0; i < 500; ++i) {
    const std::string content(static_cast<size_t>(i * 37 % 9000), static_cast<char>('a' + i % 26));
    session.upload("f", content);
    ASSERT_EQ(session.download("f"), content) << i;
  }
}

TEST_F(Tls, RefusesInvalidFilesAndFingerprints) {
  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);
  const std::string pem = file("server.pem"), key = file("server.key"), other = file("chain.key");
  options.tls_certificate_file = pem.c_str();
  const auto expect_refusal = [&](opd_code code, const std::string &why) {
    expect_throws([&] { opdyno::rpc_serve_describe(&options); }, code, why);
  };
  expect_refusal(OPD_INVALID_ARGUMENT, "go together");
  options.tls_key_file = other.c_str();
  expect_refusal(OPD_INVALID_ARGUMENT, "is not the private key of the certificate in");
  options.tls_key_file = pem.c_str();
  expect_refusal(OPD_BAD_FORMAT, "has no private key");
  options.tls_key_file = key.c_str(), options.tls_certificate_file = key.c_str();
  expect_refusal(OPD_BAD_FORMAT, "has no certificate");
  options.tls_certificate_file = "/nowhere.pem";
  expect_refusal(OPD_NOT_FOUND, "/nowhere.pem");
  // A file of a mebibyte is read; what lies behind the certificate is a comment.
  std::stringstream certificate;
  certificate << std::ifstream(pem).rdbuf();
  const std::string large = testing::TempDir() + "/rpc_tls_large.pem";
  for (const size_t size : {size_t{1} << 20, (size_t{1} << 20) + 1}) {
    std::string content = certificate.str();
    content.resize(size, '\n');
    std::ofstream(large, std::ios::trunc) << content;
    options.tls_certificate_file = large.c_str();
    if (size == size_t{1} << 20) EXPECT_EQ(described(&options, "tls_fingerprint").size(), 64U);
    else expect_refusal(OPD_BAD_FORMAT, large + " has 1048577 bytes, which no PEM file has");
  }
  std::remove(large.c_str());
  Listener none([](int connection) { wait_for_end(connection); });
  trusting.tls_ca_file = "/nowhere.pem";
  expect_throws([&] { RpcSession::connect(none.address(), &trusting); }, OPD_NOT_FOUND, "/nowhere.pem");
  trusting.tls_ca_file = key.c_str();
  expect_throws([&] { RpcSession::connect(none.address(), &trusting); }, OPD_BAD_FORMAT, "has no certificate");
  trusting.tls_ca_file = nullptr, trusting.tls_name = "name";
  expect_throws([&] { RpcSession::connect(none.address(), &trusting); }, OPD_INVALID_ARGUMENT, "tls_name");
  trusting.tls_name = nullptr;
  for (const char *wrong : {"", "12", "g123456789012345678901234567890123456789012345678901234567890123"}) {
    trusting.tls_fingerprint = wrong;
    expect_throws([&] { RpcSession::connect(none.address(), &trusting); }, OPD_INVALID_ARGUMENT,
                  "is not a fingerprint");
  }
}

// ---- programs of clients run in the server's process, and must not find its key there

// The number that is the key: in PKCS #8 it stands behind 36 bytes.
std::string private_number(const std::string &pem) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string der;
  uint32_t bits = 0;
  int have = 0;
  const size_t begin = pem.find('\n');
  for (const char c : pem.substr(begin, pem.find("\n-----END") - begin)) {
    const size_t value = digits.find(c);
    if (value == std::string::npos) continue;
    bits = bits << 6 | static_cast<uint32_t>(value), have += 6;
    if (have >= 8) have -= 8, der += static_cast<char>(bits >> have & 0xFF);
  }
  return der.substr(36, 32);
}

// How often it is in memory that the process writes.
size_t count_in(pid_t process, const std::string &wanted) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::ifstream maps(folder + "/maps"), memory(folder + "/mem", std::ios::binary);
  size_t found = 0;
  for (std::string map; std::getline(maps, map);) {
    unsigned long begin = 0, end = 0;
    char rights[5];
    constexpr size_t kMost = size_t{256} << 20;  // sanitizers reserve more
    if (sscanf(map.c_str(), "%lx-%lx %4s", &begin, &end, rights) != 3 || rights[1] != 'w' || end - begin > kMost)
      continue;
    std::string bytes(end - begin, '\0');
    memory.clear(), memory.seekg(static_cast<std::streamoff>(begin));
    memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    for (size_t at = 0; (at = bytes.find(wanted, at)) != bytes.npos; ++at) ++found;
  }
  return found;
}

TEST_F(Tls, ThePrivateKeyLeavesMemoryAfterTheHandshake) {
  if (has_sanitizer()) GTEST_SKIP() << "sanitizers keep freed memory";
  const std::string pem = file("server.pem"), key = file("server.key");
  std::string mark = "that-is-found-";
  mark += std::to_string(getpid());
  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);
  options.tls_certificate_file = pem.c_str(), options.tls_key_file = key.c_str();
  int port = 0;
  const int listener = listening(port);
  const pid_t child = fork();
  if (child == 0) {
    const int connection = accept(listener, nullptr, nullptr);
    opd_error_release(opd_rpc_serve(connection, &options));
    _exit(0);
  }
  {
    const RpcSession session = RpcSession::connect("127.0.0.1:" + std::to_string(port), &trusting);
    session.upload("f", "x");
    std::ifstream in(key);
    std::stringstream text;
    text << in.rdbuf();
    const std::string content = text.str(), number = private_number(content);
    EXPECT_GE(count_in(child, mark), 1U);
    EXPECT_EQ(count_in(child, content.substr(content.find('\n') + 1, 64)), 0U) << "the file";
    EXPECT_EQ(count_in(child, number), 0U) << "the number";
    EXPECT_EQ(count_in(child, std::string(number.rbegin(), number.rend())), 0U) << "as OpenSSL calculates with it";
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  close(listener);
}

}  // namespace
}  // namespace opdyno_test
