// Connections of a client to a server and to TVM's tracker, which assigns free servers.
#pragma once
#include <string>

#include "base/cancellation.h"
#include "base/file.h"
#include "base/host_port.h"
#include "rpc/wire/socket.h"

namespace opd::rpc {

// Tries all of the host's addresses. Throws OPD_IO, or OPD_DEADLINE_EXCEEDED. `whom`: "the server", for messages.
Descriptor connect_to(const HostPort &address, Socket::Time limit, const char *whom);

// Sends the client's key and returns the server's key. Throws OPD_FAILED_PRECONDITION if the server rejects the key, or
// if a secret is given ("": none) and the server lacks it.
std::string greet_server(Socket &socket, const std::string &key, const std::string &secret);

// A tracker's answer: the assigned server, and the key to connect with.
struct Assignment {
  HostPort server;
  std::string key;
};
// Waits until a server with that key is free. Throws errors of the connection and of cancelled calls.
Assignment request_server(const HostPort &tracker, const std::string &key, int64_t priority, Socket::Time connect_limit,
                          Socket::Time limit);
std::string tracker_summary(const HostPort &tracker, Socket::Time limit);  // the tracker's JSON, unchanged

// Limits of a wait. The default cancel token of the calling thread ends it, too.
struct Patience {
  Socket::Time limit{0};          // 0: none
  CancelState *cancel = nullptr;  // null: no further token
};
// Waits for input. Throws OPD_DEADLINE_EXCEEDED after the limit, and the error of a cancelled token. `place`: where it
// waits, for messages ("in f").
void await(Socket &socket, const Patience &patience, std::string_view place);

}  // namespace opd::rpc
