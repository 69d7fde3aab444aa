// Memory that a session's process shares with the server: its progress and its spans. Clients' programs run in that
// process and can write anything there.
#pragma once
#include <memory>
#include <opdyno/rpc.hpp>
#include <string>

#include "cli/serve/span_channel.h"

namespace opd::cli {

struct SharedSession {
  opd_rpc_progress progress;
  SpanChannel spans;
};

struct SharedSessionEnd {
  void operator()(SharedSession *shared) const noexcept;
};
using SessionShare = std::unique_ptr<SharedSession, SharedSessionEnd>;
SessionShare make_session_share();  // before the process begins

// The operator that ran, according to the process; "": none.
std::string noted_operator(const SharedSession &shared);
// Notes the reason for the message to the client. Called if the server ends the process, or if the process has ended.
void note_reason(SharedSession &shared, const std::string &reason);
// Tells the client why the process has ended, unless the process has done so. Does not wait.
void tell_end(int connection, const SharedSession &shared);

}  // namespace opd::cli
