#include "rpc/server/serve.h"

#include <sys/socket.h>

#include <charconv>

#include "base/sha256.h"
#include "rpc/server/crash_report.h"
#include "rpc/wire/packets.h"
#include "rpc/wire/secret.h"
#include "rpc/wire/tls.h"

namespace opd::rpc {
namespace {

constexpr Socket::Time kGreeting = std::chrono::seconds(10);

// The limit in "client:KEY -timeout=SECONDS", the greeting of TVM's clients. 0: none.
Socket::Time timeout_in(std::string_view said) {
  const std::string_view text = option_in(said, " -timeout=");
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double kMost = 1e9;
  if (!(seconds > 0) || seconds > kMost) return {};
  return std::chrono::duration_cast<Socket::Time>(std::chrono::duration<double>(seconds));
}

// Reads the client's greeting: a magic number, then "client:KEY" and options, separated by spaces. Returns the session
// time limit that the client requests; 0: none.
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
  const auto refuse = [&](std::string_view why, int32_t answer = kMismatch) {
    socket.write_number(answer);
    fail(OPD_FAILED_PRECONDITION, why);
  };
  if (options.tls.is_wanted() && !socket.is_secure())
    refuse("the client does not speak TLS, which this server demands; TVM's clients do not know it", kWantsTls);
  if (!is_equal_in_constant_time(name, "client:" + wanted)) refuse("the client does not know the key");
  const std::string_view clients_number = option_in(said, kSecretOption);
  if (!options.secret.empty() && clients_number.empty())
    refuse("the client does not say that it knows the secret; TVM's clients know none");
  const bool has_secret = !options.secret.empty();
  const std::string number = has_secret ? draw_number() : "";
  const Handshake handshake{options.secret, clients_number, number};
  std::string own = "server:" + options.key;
  if (has_secret) own += concat(kChallengeOption, number, kProofOption, handshake.servers_proof());
  socket.write_number(kMagic);
  socket.write_number(static_cast<int32_t>(own.size()));
  socket.write(own);
  if (has_secret) {
    std::string proof = handshake.clients_proof(), given(proof.size(), '\0');
    socket.read(given.data(), given.size());
    if (!is_equal_in_constant_time(given, proof)) refuse("the client has another secret");
    socket.write_number(kMagic);
  }
  return timeout_in(said);
}

// A client without TLS gets an error in its own protocol: see greet().
void secure(Socket &socket, int descriptor, const TlsServerOptions &options) {
  const bool speaks_tls = socket.peek(kGreeting) == kTlsGreeting;
  if (speaks_tls && !options.is_wanted())
    fail(OPD_FAILED_PRECONDITION, "the client speaks TLS, for which this server has no certificate");
  if (speaks_tls) socket.secure(std::make_unique<Tls>(descriptor, options));
}

// Restricts the process before it does anything for the client.
void restrict_process(const ServeOptions &options, const std::string &folder) {
  if (options.cpu_seconds) limit_cpu(options.cpu_seconds);
  if (options.limits.process_bytes) limit_memory(options.limits.process_bytes);
  if (options.sandbox.is_wanted) enter_sandbox(options.sandbox, folder);
}

// The error that ended the session. `limit`: the session time that the client asked for, which is over at `end`; 0:
// none.
Ref<Error> end_of(const Ref<Error> &error, Socket::Time limit, std::chrono::steady_clock::time_point end) {
  const bool is_limit = error->code == OPD_DEADLINE_EXCEEDED && limit.count();
  if (!is_limit || std::chrono::steady_clock::now() < end) return error;
  return make_error(error->code, concat("the ", std::chrono::ceil<std::chrono::milliseconds>(limit).count(),
                                        " ms of the session are over, which the client asked for"));
}

}  // namespace

void require_servable(const ServeOptions &options) {
  if (!options.user.empty()) require_user(options.user);
  if (options.sandbox.is_wanted) require_sandbox(options.sandbox);
  if (options.tls.is_wanted()) read_identity(options.tls);
}

void serve(int descriptor, const ServeOptions &options) {
  int kind = 0;
  socklen_t size = sizeof kind;
  require(::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_STREAM, "the descriptor ",
          descriptor, " is not a socket of a connection");
  Socket socket(descriptor, kStall);
  using Clock = std::chrono::steady_clock;
  socket.end_at(Clock::now() + kGreeting);
  secure(socket, descriptor, options.tls);
  const Socket::Time limit = greet(socket, options);
  socket.end_at({});
  if (options.admit) options.admit();
  const Clock::time_point end = limit.count() ? Clock::now() + limit : Clock::time_point();
  socket.end_at(end);
  if (!options.user.empty()) become_user(options.user);
  auto folder = std::make_shared<WorkFolder>(options.work_folder, options.limits.file_bytes, options.allowed);
  restrict_process(options, folder->directory());
  const Progress progress(options.progress);
  Frames frames(socket);
  CrashReport crashes(frames, options.report_crashes, progress);
  run_session(frames, std::move(folder), options.limits, crashes, progress,
              std::make_shared<SessionSpans>(options.note_span, options.user_data, progress),
              [&](const Ref<Error> &error) { return end_of(error, limit, end); });
}

}  // namespace opd::rpc
