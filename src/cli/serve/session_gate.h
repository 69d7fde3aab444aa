// A channel between the server and a session's process whose client is not authenticated yet. Anyone may connect. So a
// client takes no session's place until it has sent the key and was admitted here.
#pragma once
#include "cli/support/file.h"

namespace opd::cli {

class SessionGate {
 public:
  SessionGate();  // before the process begins

  // In the session's process: asks the server, and waits for its answer. False: the client is not let in.
  bool ask();
  // These are for the server.
  void keep_servers_end() { sessions_.reset(); }
  int descriptor() const { return servers_.get(); }  // has input once the session has asked, or has ended
  bool has_asked();                                  // consumes that input
  void answer(bool is_let_in);

 private:
  Descriptor servers_, sessions_;
};

}  // namespace opd::cli
