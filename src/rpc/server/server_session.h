// Server side of a session: the client's objects and files, and the answers to its requests, one by one.
#pragma once
#include <functional>
#include <memory>

#include "rpc/server/crash_report.h"
#include "rpc/server/session_spans.h"
#include "rpc/server/work_folder.h"
#include "rpc/wire/frames.h"
#include "rpc/wire/progress.h"
#include "value/function.h"

namespace opd::rpc {

struct SessionLimits {
  uint64_t message_bytes = uint64_t{2} << 30;  // limit of one packet
  uint64_t file_bytes = uint64_t{2} << 30;     // limit of all files together
  uint64_t memory_bytes = 0;                   // tensors that the client makes; 0: no limit
  uint64_t process_bytes = 0;                  // private memory beyond that at the start; 0: no limit
  Socket::Time silence{0};                     // most time between two requests; 0: no limit
};

// Returns once the client ends the session or closes the connection between two packets. Errors of requests go to the
// client. If the connection breaks, throws the error that `reason_of` makes of its error, and first sends it to the
// client if that is possible.
void run_session(Frames &frames, std::shared_ptr<WorkFolder> folder, const SessionLimits &limits, CrashReport &crashes,
                 const Progress &progress, std::shared_ptr<SessionSpans> spans,
                 const std::function<Ref<Error>(const Ref<Error> &)> &reason_of);

// A function that TVM's clients look up by name, of the session or a global one. Null: neither has that name.
Ref<Function> session_function(std::string_view name, const std::shared_ptr<WorkFolder> &folder);

}  // namespace opd::rpc
