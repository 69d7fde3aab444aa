// For tests of telemetry: a program, a client of HTTP that may say anything, and a collector that answers what a test
// says.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/opdyno_test.h"

namespace opdyno_test {

inline constexpr uint64_t kLong = 60'000'000'000;  // ns

/** A connection to "127.0.0.1:PORT". */
class Connection {
 public:
  explicit Connection(const std::string &address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    is_open = connect(fd_, reinterpret_cast<sockaddr *>(&to), sizeof to) == 0;
  }
  Connection(const Connection &) = delete;
  ~Connection() { close(fd_); }
  const Connection &send(const std::string &bytes) const {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t sent = ::send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) break;  // it closes early
      at += static_cast<size_t>(sent);
    }
    return *this;
  }
  /** All until the other side closes. */
  std::string receive() const {
    std::string text;
    char block[4096];
    for (ssize_t got; (got = recv(fd_, block, sizeof block, 0)) > 0;) text.append(block, static_cast<size_t>(got));
    return text;
  }
  /** Whether the other side still takes bytes, as far as this side has heard. */
  bool takes(char byte) const { return ::send(fd_, &byte, 1, MSG_NOSIGNAL) == 1; }

  bool is_open = false;

 private:
  int fd_;
};

inline std::string ask(const std::string &address, const std::string &request) {
  return Connection(address).send(request).receive();
}
inline std::string get(const std::string &address, const std::string &more = "") {
  return ask(address, "GET /metrics HTTP/1.1\r\nHost: test\r\n" + more + "\r\n");
}

/** What tests of telemetry call: `main` adds one, `fail` fails, `outer` calls what the test defines. */
inline const char *const kTelemetryProgram = R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.add_one(%x, %t)
  ret %t
}
.func fail(x) {
  call test.fail(%x)
  ret %x
}
.func outer(x) {
  call test.inner(%x)
  ret %x
})";

struct Request {
  std::string path, head, body;
};

/** A collector on a free port: a thread answers each request in turn, with what the test says. */
class Receiver {
 public:
  /** `answer` gives the bytes to answer with; "" closes the connection. */
  using Answer = std::function<std::string(const Request &)>;
  Receiver() : Receiver([](const Request &) { return ok(); }) {}
  /** With `holds`, a connection stays open until the other side closes it. */
  explicit Receiver(Answer answer, bool holds = false) : answer_(std::move(answer)), holds_(holds) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr *>(&at), size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr *>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Receiver() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  std::string url() const { return "http://" + address(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  static std::string ok(const std::string &body = "{}") { return status("200 OK", body); }
  static std::string status(const std::string &line, const std::string &body = "", const std::string &more = "") {
    return "HTTP/1.1 " + line + "\r\n" + more + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  std::vector<Request> requests(const std::string &path) const {
    const std::scoped_lock lock(guard_);
    std::vector<Request> found;
    for (const Request &request : requests_)
      if (request.path == path) found.push_back(request);
    return found;
  }
  /** Waits until there are so many. */
  std::vector<Request> wait_for(const std::string &path, size_t count) const {
    std::unique_lock lock(guard_);
    const auto has = [&] {
      return static_cast<size_t>(std::count_if(requests_.begin(), requests_.end(),
                                               [&](const Request &r) { return r.path == path; })) >= count;
    };
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), has)) << path;
    lock.unlock();
    return requests(path);
  }

 private:
  void serve() {
    for (int fd; (fd = accept(listener_, nullptr, nullptr)) >= 0; close(fd)) {
      std::string text;
      size_t wanted = std::string::npos, head = std::string::npos;
      char block[4096];
      while (text.size() < wanted) {
        const ssize_t got = recv(fd, block, sizeof block, 0);
        if (got <= 0) break;
        text.append(block, static_cast<size_t>(got));
        if (head == std::string::npos && (head = text.find("\r\n\r\n")) != std::string::npos)
          wanted = head + 4 + std::stoul(text.substr(text.find("Content-Length: ") + 16));
      }
      if (head == std::string::npos) continue;
      Request request{text.substr(5, text.find(' ', 5) - 5), text.substr(0, head), text.substr(head + 4)};
      const std::string answer = answer_(request);
      {  // before the answer, after which the sender goes on
        const std::scoped_lock lock(guard_);
        requests_.push_back(std::move(request));
        changed_.notify_all();
      }
      for (size_t at = 0; at < answer.size();) {
        const ssize_t sent = send(fd, answer.data() + at, answer.size() - at, MSG_NOSIGNAL);
        if (sent <= 0) break;
        at += static_cast<size_t>(sent);
      }
      while (holds_ && recv(fd, block, sizeof block, 0) > 0) {}
    }
  }

  const Answer answer_;
  const bool holds_;
  int listener_, port_;
  std::thread thread_;
  mutable std::mutex guard_;
  mutable std::condition_variable changed_;
  std::vector<Request> requests_;
};

}  // namespace opdyno_test
