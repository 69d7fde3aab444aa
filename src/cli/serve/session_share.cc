#include "cli/serve/session_share.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>

#include "cli/support/failure.h"

namespace opd::cli {

void SharedSessionEnd::operator()(SharedSession *shared) const noexcept { munmap(shared, sizeof *shared); }

SessionShare make_session_share() {
  void *const memory = mmap(nullptr, sizeof(SharedSession), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_errno("share", "memory", errno);
  SessionShare made(new (memory) SharedSession);
  opd_rpc_progress_init(&made->progress);
  return made;
}

std::string noted_operator(const SharedSession &shared) {
  const char *const text = shared.progress.crashed_in;
  std::string name(text, strnlen(text, sizeof shared.progress.crashed_in));
  const auto is_good = [](char c) { return c >= ' ' && c <= '~'; };  // messages and spans are UTF-8
  std::ranges::replace_if(name, std::not_fn(is_good), '?');
  return name;
}

void note_reason(SharedSession &shared, const std::string &reason) {
  char(&place)[sizeof shared.progress.end_reason] = shared.progress.end_reason;
  place[reason.copy(place, sizeof place - 1)] = '\0';
}

void tell_end(int connection, const SharedSession &shared) {
  opd_rpc_progress progress = shared.progress;
  progress.struct_size = sizeof progress;
  try {
    opdyno::rpc_tell_end(connection, progress);
  } catch (const opdyno::Error &) {}  // then the client only sees that the connection ends
}

}  // namespace opd::cli
