// Serves one client on a connection.
#pragma once
#include <opdyno/rpc_serve.h>

#include <functional>
#include <memory>
#include <string>

#include "rpc/sandbox/sandbox.h"
#include "rpc/server/server_session.h"
#include "rpc/wire/tls.h"

namespace opd::rpc {

struct ServeOptions {
  std::string key;          // the server's key
  std::string match_key;    // the key that clients must send; "": `key`
  std::string secret;       // the client must prove that it has it; "": none
  std::string work_folder;  // parent of the session's directory; "": the system's temporary folder
  SessionLimits limits;
  SandboxOptions sandbox;
  std::string user;                               // user that the process changes to; "": no change
  int32_t cpu_seconds = 0;                        // CPU time of the process; 0: no limit
  std::shared_ptr<const AllowedModules> allowed;  // null: all modules are allowed
  TlsServerOptions tls;
  std::function<void()> admit;           // called after the greeting; may wait, and throw; null: none
  opd_rpc_progress *progress = nullptr;  // written during the session, up to struct_size bytes; null: none
  bool report_crashes = false;
  SessionSpans::Note note_span = nullptr;  // null: there are no spans
  void *user_data = nullptr;               // for note_span
};

// Checks the options before there is a client. Throws the errors that serve() would.
void require_servable(const ServeOptions &options);

// Returns once the session has ended. Throws OPD_FAILED_PRECONDITION if the client is refused.
void serve(int descriptor, const ServeOptions &options);

}  // namespace opd::rpc
