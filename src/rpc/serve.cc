#include "rpc/serve.h"

#include <sys/socket.h>

#include <charconv>

#include "rpc/privileges.h"

namespace opd::rpc {
namespace {

constexpr Socket::Time kStall = std::chrono::seconds(60), kGreeting = std::chrono::seconds(10);
constexpr int32_t kMostKey = 4096;

// Takes as long for all keys of that length, so that nobody learns one character by character.
bool is_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differing = 0;
  for (size_t i = 0; i < a.size(); ++i) differing |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differing == 0;
}

// Of "client:KEY -timeout=SECONDS", as TVM's clients say it. 0: none.
Socket::Time timeout_in(std::string_view said) {
  constexpr std::string_view kOption = " -timeout=";
  const size_t found = said.find(kOption);
  if (found == said.npos) return {};
  const std::string_view text = said.substr(found + kOption.size());
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double kMost = 1e9;
  if (!(seconds > 0) || seconds > kMost) return {};
  return std::chrono::duration_cast<Socket::Time>(std::chrono::duration<double>(seconds));
}

// The client says who it is: a magic number, then a text of "client:KEY" and options, with spaces between. Returns the
// most time of the session that it asks for; 0: any.
Socket::Time greet(Socket &socket, const ServeOptions &options) {
  if (!socket.wait(kGreeting)) fail(OPD_IO, "the client closed the connection at once");
  int32_t head[2];
  socket.read(head, sizeof head);
  if (head[0] != kMagic) fail(OPD_BAD_FORMAT, "the client does not speak TVM's RPC: it begins with ", head[0]);
  if (head[1] < 0 || head[1] > kMostKey) fail(OPD_BAD_FORMAT, "the client's key has ", head[1], " bytes");
  std::string said(static_cast<size_t>(head[1]), '\0');
  socket.read(said.data(), said.size());
  const std::string_view name = std::string_view(said).substr(0, said.find(' '));
  const std::string &wanted = options.match_key.empty() ? options.key : options.match_key;
  if (!is_equal(name, "client:" + wanted)) {
    socket.write_number(kMismatch);
    fail(OPD_FAILED_PRECONDITION, "the client does not know the key");
  }
  const std::string own = "server:" + options.key;
  socket.write_number(kMagic);
  socket.write_number(static_cast<int32_t>(own.size()));
  socket.write(own);
  return timeout_in(said);
}

// From here on, the process is the client's.
void restrict_process(const ServeOptions &options, const std::string &folder) {
  if (options.cpu_seconds) limit_cpu(options.cpu_seconds);
  if (options.process_bytes) limit_memory(options.process_bytes);
  if (options.sandbox.is_wanted) enter_sandbox(options.sandbox, folder);
}

}  // namespace

void require_servable(const ServeOptions &options) {
  if (!options.user.empty()) require_user(options.user);
  if (options.sandbox.is_wanted) require_sandbox(options.sandbox);
}

void serve(int descriptor, const ServeOptions &options) {
  int kind = 0;
  socklen_t size = sizeof kind;
  require(::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_STREAM, "the descriptor ",
          descriptor, " is no socket of a connection");
  Socket socket(descriptor, kStall);
  using Clock = std::chrono::steady_clock;
  socket.end_at(Clock::now() + kGreeting);
  const Socket::Time limit = greet(socket, options);
  const Clock::time_point end = limit.count() ? Clock::now() + limit : Clock::time_point();
  socket.end_at(end);
  if (!options.user.empty()) become_user(options.user);
  auto folder = std::make_shared<WorkFolder>(options.work_folder, options.limits.file_bytes, options.allowed);
  restrict_process(options, folder->directory());
  try {
    Session(socket, std::move(folder), options.limits).run();
  } catch (const Exception &e) {
    if (e.error()->code != OPD_DEADLINE_EXCEEDED || !limit.count() || Clock::now() < end) throw;
    fail(OPD_DEADLINE_EXCEEDED, "the ", std::chrono::ceil<std::chrono::milliseconds>(limit).count(),
         " ms of the session are over, which the client asked for");
  }
}

}  // namespace opd::rpc
