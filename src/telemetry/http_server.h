// A small HTTP server: it answers GET and HEAD, and closes each connection. All sizes and waits are bounded, because a
// client may send anything, send slowly, or stop reading. One thread waits for all clients at once.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork_mutex.h"

namespace opd {

struct HttpRequest {
  std::string_view path;    // path of the target, without the query
  std::string_view accept;  // value of the header; "" if missing
};

struct HttpAnswer {
  std::string status;  // "200 OK"
  std::string type;    // type of the body
  std::string body;
};

class HttpServer {
 public:
  using Answer = std::function<HttpAnswer(const HttpRequest &)>;
  explicit HttpServer(Answer answer) : answer_(std::move(answer)) {}
  ~HttpServer() { close_all(); }
  HttpServer(const HttpServer &) = delete;

  // Listens, and changes the address to the bound one. Throws like listen_at().
  void open(std::string &address);
  // Serves until that time of monotonic_ns(), or until `wake` is readable. One thread calls it.
  void serve_until(uint64_t end_ns, int wake);
  // Also called in a forked child, where the sockets are the parent's.
  void close_all() noexcept;

 private:
  enum class Phase { kReads, kWrites, kEnds };
  struct Client {
    int fd;
    uint64_t until_ns;  // deadline of the phase
    Phase phase = Phase::kReads;
    std::string head = {}, out = {};
    size_t sent = 0;
  };

  void accept_clients();
  bool read(Client &client);   // false: the client is gone
  bool write(Client &client);  // false: the client is gone
  bool drain(Client &client);
  bool go_on(Client &client);
  void answer(Client &client);

  const Answer answer_;
  ForkMutex guard_{LockRank::kTelemetrySockets};  // held while descriptors are opened and closed
  int listener_ = -1;
  std::vector<Client> clients_;  // in the order of arrival
};

}  // namespace opd
