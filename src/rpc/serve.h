// Serves one client on a connection.
#pragma once
#include <string>

#include "rpc/session.h"

namespace opd::rpc {

struct ServeOptions {
  std::string key;          // what the server is called
  std::string match_key;    // what the client must say; "": the key
  std::string secret;       // that the client must prove to know; "": none
  std::string work_folder;  // in which the session's directory is made; "": the system's for temporary files
  SessionLimits limits;
};

// Returns once the session has ended. Throws OPD_FAILED_PRECONDITION if the client does not know the key.
void serve(int descriptor, const ServeOptions &options);

}  // namespace opd::rpc
