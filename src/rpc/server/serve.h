// Serves one client on a connection.
#pragma once
#include <opdyno/rpc_serve.h>

#include <functional>
#include <memory>
#include <string>

#include "rpc/sandbox/sandbox.h"
#include "rpc/server/server_session.h"
#include "rpc/wire/certificates.h"

namespace opd::rpc {

struct ServeOptions {
  std::string key;          // what the server is called
  std::string match_key;    // what the client must say; "": the key
  std::string secret;       // that the client must prove to know; "": none
  std::string work_folder;  // in which the session's directory is made; "": the system's for temporary files
  SessionLimits limits;
  SandboxOptions sandbox;
  std::string user;                               // whose the process becomes; "": it stays as it is
  int32_t cpu_seconds = 0;                        // of the process; 0: no limit
  std::shared_ptr<const AllowedModules> allowed;  // null: all
  TlsServerOptions tls;
  std::function<void()> admit;           // called once the client is known; may wait, and throw; null: does not exist
  opd_rpc_progress *progress = nullptr;  // written while the session runs, struct_size bytes of it; null: nowhere
  bool report_crashes = false;
  SessionSpans::Note note_span = nullptr;  // null: there are no spans
  void *user_data = nullptr;               // for note_span
};

// Throws what serve() would because of the options, before there is a client.
void require_servable(const ServeOptions &options);

// Returns once the session has ended. Throws OPD_FAILED_PRECONDITION if the client is refused.
void serve(int descriptor, const ServeOptions &options);

}  // namespace opd::rpc
