// A small HTTP server: it answers GET and HEAD, and closes each connection. All sizes and waits are bounded, since a
// client may send anything, slowly, or stop to read; all clients are waited for at once, by one thread.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork_mutex.h"

namespace opd {

struct HttpRequest {
  std::string_view path;    // of the target, without a query
  std::string_view accept;  // the header's value; "" if there is none
};

struct HttpAnswer {
  std::string status;  // "200 OK"
  std::string type;    // of the body
  std::string body;
};

class HttpServer {
 public:
  using Answer = std::function<HttpAnswer(const HttpRequest &)>;
  explicit HttpServer(Answer answer) : answer_(std::move(answer)) {}
  ~HttpServer() { close_all(); }
  HttpServer(const HttpServer &) = delete;

  // Listens, and changes the address to the one that it got. Throws as listen_at().
  void open(std::string &address);
  // Serves until that moment of monotonic_ns(), or until `wake` can be read. To be called by one thread.
  void serve_until(uint64_t end_ns, int wake);
  // Also in a forked child, where the sockets are the parent's.
  void close_all() noexcept;

 private:
  enum class Phase { kReads, kWrites, kEnds };
  struct Client {
    int fd;
    uint64_t until_ns;  // of the phase
    Phase phase = Phase::kReads;
    std::string head = {}, out = {};
    size_t sent = 0;
  };

  void accept_clients();
  bool read(Client &client);   // false: it is gone
  bool write(Client &client);  // likewise
  bool drain(Client &client);
  bool go_on(Client &client);
  void answer(Client &client);

  const Answer answer_;
  ForkMutex guard_{LockRank::kTelemetrySockets};  // while descriptors are opened and closed
  int listener_ = -1;
  std::vector<Client> clients_;  // in the order in which they came
};

}  // namespace opd
