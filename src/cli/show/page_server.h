// Shows one page to a browser on this machine.
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/face.h"

namespace opd::cli {

// Serves one page at 127.0.0.1. A part of its address cannot be guessed.
class PageServer {
 public:
  explicit PageServer(std::string page);  // listens; fails with Exit::failed
  ~PageServer();
  PageServer(const PageServer &) = delete;

  const std::string &address() const { return address_; }  // http://127.0.0.1:PORT/…/
  void serve_until_interrupted();                          // by Ctrl-C or SIGTERM

 private:
  struct Client {
    int fd;
    std::chrono::steady_clock::time_point until;  // deadline of its request
    std::string head;
  };
  bool wait_for_clients();
  void end(const Client &client) const;  // answers first, if there is a request
  void answer(int client, std::string_view request) const;

  const std::string page_;
  std::string path_, address_;
  int listener_ = -1;
  std::vector<Client> clients_;  // oldest first
};

// Shows the page of a trace until Ctrl-C. `command` is the subcommand, for its message.
void serve_trace(std::string_view command, const Trace &trace);

}  // namespace opd::cli
