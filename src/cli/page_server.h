// Shows one page to a browser on this machine.
#pragma once
#include <string>
#include <string_view>

#include "face.h"

namespace opd::cli {

// A server of one page at 127.0.0.1, whose address has a part that others cannot guess.
class PageServer {
 public:
  explicit PageServer(std::string page);  // listens; fails with Exit::failed
  ~PageServer();
  PageServer(const PageServer &) = delete;

  const std::string &address() const { return address_; }  // http://127.0.0.1:PORT/…/
  void serve_until_interrupted();                          // by Ctrl-C or SIGTERM

 private:
  void answer(int client) const;

  const std::string page_;
  std::string path_, address_;
  int listener_ = -1;
};

// Shows the page of a trace until Ctrl-C. `command` is the part of the program that says so.
void serve_trace(std::string_view command, const Trace &trace);

}  // namespace opd::cli
