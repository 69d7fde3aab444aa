// Makes and sends the last answer of a session, which tells the client why the session's process has ended.
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "rpc/wire/frames.h"
#include "rpc/wire/packets.h"
#include "rpc/wire/progress.h"

namespace opd::rpc {
namespace {

template <class T>
std::string_view raw(const T &number) {
  return {reinterpret_cast<const char *>(&number), sizeof number};
}

// If a socket is closed with unread input, the connection is reset. Some systems then drop the answer before it is
// read.
void drop_input(int descriptor) noexcept {
  constexpr int kMostParts = 64;
  char part[1 << 14];
  for (int i = 0; i < kMostParts; ++i)
    if (::recv(descriptor, part, sizeof part, MSG_DONTWAIT) <= 0) return;
}

}  // namespace

EndAnswer end_answer(std::string_view reason, std::string_view operator_name) noexcept {
  constexpr std::string_view kIn = " in the operator ";
  const size_t size =
      kEndAnswer.size() + reason.size() + (operator_name.empty() ? 0 : kIn.size() + operator_name.size());
  constexpr size_t kHead = sizeof(Code) + 2 * sizeof(int32_t) + sizeof(uint64_t);
  EndAnswer made;
  made << raw(Code::kException) << raw(int32_t{1}) << raw(int32_t{OPD_CSTRING})
       << raw(uint64_t{std::min(size, kMostEndAnswer - kHead)}) << kEndAnswer << reason;
  if (!operator_name.empty()) made << kIn << operator_name;
  return made;
}

void tell_end(int descriptor, const opd_rpc_progress &progress) {
  const auto state = static_cast<Progress::Wire>(progress.private_state);
  if (state != Progress::Wire::kOpen && state != Progress::Wire::kOpenWithChecksums) return;
  const EndAnswer answer = end_answer(text_in(progress.end_reason), text_in(progress.crashed_in));
  const std::string frame = frame_of(answer.view(), state == Progress::Wire::kOpenWithChecksums);
  ::send(descriptor, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(descriptor, SHUT_WR);
  drop_input(descriptor);
}

}  // namespace opd::rpc
