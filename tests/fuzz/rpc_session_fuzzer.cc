// All that a client sends in a session, from the greeting on. Only modules of a list may be loaded, so nothing of the
// client runs.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>

#include "rpc/server/serve.h"

using namespace opd;

namespace {

// Functions that may run for as long as the client says, or take as much memory. Their arguments are fuzzed by
// api_driver.
bool asks_for_much(std::string_view said) {
  constexpr std::string_view kParts[] = {"valuator", "vm.builtin.", "relax.run."};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return said.find(part) != said.npos; });
}

const rpc::ServeOptions &options() {
  static const auto *const made = [] {
    auto *one = new rpc::ServeOptions;
    one->limits = {1 << 20, 1 << 16, 1 << 20};
    one->allowed = std::make_shared<const AllowedModules>(std::string(64, '0') + "  none");
    if (::access("/dev/shm", W_OK) == 0) one->work_folder = "/dev/shm";  // each file is flushed
    return one;
  }();
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view said(reinterpret_cast<const char *>(data), size);
  constexpr size_t kMost = 1 << 16;  // which the sockets take at once
  int ends[2];
  if (size > kMost || asks_for_much(said) || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  const bool is_sent = ::send(ends[0], data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
  ::shutdown(ends[0], SHUT_WR);
  std::thread client([end = ends[0]] {
    char answers[1 << 16];
    while (::recv(end, answers, sizeof answers, 0) > 0) continue;
  });
  try {
    if (is_sent) rpc::serve(ends[1], options());
  } catch (const Exception &) {}
  ::shutdown(ends[1], SHUT_RDWR);
  client.join();
  ::close(ends[0]), ::close(ends[1]);
  return 0;
}
