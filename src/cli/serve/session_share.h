// Memory that the process of a session shares with the server: what it does, and its spans on their way. Programs of
// clients run in that process and can write anything there.
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

// The operator that ran, as the process has noted it; "": none.
std::string noted_operator(const SharedSession &shared);
// For the message to the client: the server ends the process, or its process has ended.
void note_reason(SharedSession &shared, const std::string &reason);
// Tells the client why the process has ended, if the process has not. Does not wait.
void tell_end(int connection, const SharedSession &shared);

}  // namespace opd::cli
