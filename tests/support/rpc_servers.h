// Servers for tests of clients: threads that have the connections to a port of the loopback.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>

#include <atomic>
#include <functional>
#include <opdyno/rpc.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/rpc_client.h"

namespace opdyno_test {

inline int listening(int &out_port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(made, reinterpret_cast<sockaddr *>(&address), size), 0);
  EXPECT_EQ(listen(made, 64), 0);
  EXPECT_EQ(getsockname(made, reinterpret_cast<sockaddr *>(&address), &size), 0);
  out_port = ntohs(address.sin_port);
  return made;
}

// Listens on a free port of the loopback; a thread has each connection.
class Listener {
 public:
  explicit Listener(std::function<void(int)> serve) : serve_(std::move(serve)) {
    descriptor_ = listening(port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~Listener() {
    shutdown(descriptor_, SHUT_RDWR);
    accepting_.join();
    for (std::thread &one : serving_) one.join();
    close(descriptor_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port); }

  int port = 0;
  std::atomic<int> open{0}, accepted{0};

 private:
  void accept_all() {
    for (int connection; (connection = accept(descriptor_, nullptr, nullptr)) >= 0;) {
      ++open, ++accepted;
      serving_.emplace_back([this, connection] {
        serve_(connection);
        close(connection);
        --open;
      });
    }
  }
  const std::function<void(int)> serve_;
  int descriptor_;
  std::thread accepting_;
  std::vector<std::thread> serving_;
};

inline void serve_with(int connection, const opd_rpc_serve_options *options) {
  opd_error_release(opd_rpc_serve(connection, options));
}

// A connection to a port of the loopback, of whoever wants to say what no client says.
inline int connected(int port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(connect(made, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  return made;
}

inline opd_rpc_connect_options how() { return defaults(opd_rpc_connect_options_init); }

// ---- scripts in place of servers

inline void send_all(int connection, const Packet &packet) {
  EXPECT_EQ(send(connection, packet.str().data(), packet.str().size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(packet.str().size()));
}
inline std::string receive(int connection, size_t size) {
  std::string bytes(size, '\0');
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(recv(connection, bytes.data(), size, MSG_WAITALL), 0)));
  return bytes;
}
inline Packet framed(const Packet &body) { return Packet().raw<uint64_t>(body.str().size()).plain(body.str()); }
// Reads a request and answers it.
inline void answer_with(int connection, const Packet &packet) {
  uint64_t size = 0;
  const std::string head = receive(connection, sizeof size);
  if (head.size() == sizeof size) std::memcpy(&size, head.data(), sizeof size), receive(connection, size);
  send_all(connection, packet);
}
// Answers of a server: to what it does itself, and to calls.
inline Packet done() { return framed(Packet().raw<int32_t>(kReturn).raw<int32_t>(1).none()); }
inline Packet handle(uint64_t number) { return framed(Packet().raw<int32_t>(kReturn).raw<int32_t>(1).handle(number)); }
inline Packet result(int32_t count, const Packet &values) {
  return framed(Packet().raw<int32_t>(kReturn).raw(count).plain(values.str()));
}
// Greets as TVM's server does: it has no function of opdyno's.
inline void greet_as_tvm(int connection) {
  receive(connection, 8 + 7);
  send_all(connection, Packet().raw<int32_t>(0xFF271).raw<int32_t>(7).plain("server:"));
  answer_with(connection, done());
  answer_with(connection, handle(0));
}
inline void wait_for_end(int connection) { receive(connection, 1 << 20); }

// A server as TVM's whose answers to requests after the greeting are these. The requests are kept.
class Script {
 public:
  explicit Script(std::vector<Packet> answers)
      : answers_(std::move(answers)), listener_([this](int connection) {
          greet_as_tvm(connection);
          for (const Packet &answer : answers_) {
            uint64_t size = 0;
            const std::string head = receive(connection, sizeof size);
            if (head.size() == sizeof size) std::memcpy(&size, head.data(), sizeof size);
            requests.push_back(receive(connection, size));
            send_all(connection, answer);
          }
          last = receive(connection, 1 << 20);
        }) {}
  std::string address() const { return listener_.address(); }
  // After the end of the session.
  void wait() const {
    while (listener_.open) std::this_thread::yield();
  }
  std::vector<std::string> requests;
  std::string last;  // what comes behind them

 private:
  const std::vector<Packet> answers_;
  Listener listener_;
};

// Asks the server, which later uses of the device do not.
inline void expect_exists(DLDevice device) {
  Value exists;
  check(opd_device_get_attr(device, OPD_ATTR_EXIST, exists.out()));
  EXPECT_EQ(exists.to_string(), "true");
}

inline Packet exception(const std::string &text) {
  return framed(Packet().raw<int32_t>(kException).raw<int32_t>(1).string(text));
}

}  // namespace opdyno_test
