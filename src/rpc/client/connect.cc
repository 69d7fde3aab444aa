#include "rpc/client/connect.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <set>

#include "base/cancellation.h"
#include "base/file.h"
#include "base/json_document.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/thread_state.h"
#include "rpc/wire/packets.h"
#include "rpc/wire/secret.h"

namespace opd::rpc {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr int32_t kTrackerMagic = 0x2F271;
constexpr int64_t kRequest = 4, kSummary = 6;  // request codes of trackers
constexpr int32_t kMostTrackerAnswer = 16 << 20;

// Returns 0 or the errno of the failure.
int try_connect(const Descriptor &made, const addrinfo &to, Clock::time_point end) {
  if (::connect(made.get(), to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  pollfd waited{made.get(), POLLOUT, 0};
  int found;
  do found = ::poll(&waited, 1, milliseconds_until(end));
  while (found < 0 && errno == EINTR);
  if (found == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return found < 0 || ::getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 ? errno : error;
}

// A connection to a tracker. Questions and answers are JSON texts.
class Tracker {
 public:
  Tracker(const HostPort &at, Socket::Time connect_limit)
      : at_(at), descriptor_(connect_to(at, connect_limit, "the tracker")), socket_(descriptor_.get(), kStall) {
    socket_.write_number(kTrackerMagic);
    await(socket_, {connect_limit}, "while the tracker was asked");
    if (const int32_t magic = socket_.read_number(); magic != kTrackerMagic)
      fail(OPD_BAD_FORMAT, "the server at ", at.text(), " is not a TVM tracker: it answered ", magic, " instead of ",
           kTrackerMagic);
  }

  // `if_it_takes_long` is called once if there is no answer after a second.
  std::string ask(std::string_view question, Socket::Time limit, const std::function<void()> &if_it_takes_long = {}) {
    socket_.write_number(static_cast<int32_t>(question.size()));
    socket_.write(question);
    constexpr Socket::Time kLong = std::chrono::seconds(1);
    if (if_it_takes_long && (limit.count() == 0 || limit > kLong) && !has_answer_within(kLong)) {
      if_it_takes_long();
      if (limit.count()) limit -= kLong;
    }
    await(socket_, {limit}, "while the tracker was asked");
    const int32_t size = socket_.read_number();
    if (size < 0 || size > kMostTrackerAnswer)
      fail(OPD_BAD_FORMAT, "the tracker at ", at_.text(), " answers ", size, " bytes");
    std::string answer(static_cast<size_t>(size), '\0');
    socket_.read(answer.data(), answer.size());
    return answer;
  }

 private:
  bool has_answer_within(Socket::Time time) try {
    await(socket_, {time}, "while the tracker was asked");
    return true;
  } catch (const Exception &e) {
    if (e.error()->code != OPD_DEADLINE_EXCEEDED) throw;
    return false;
  }

  const HostPort at_;
  Descriptor descriptor_;
  Socket socket_;
};

constexpr const char *kAnswer = "the answer of the tracker";

// The second item of `[0, …]`: the content of a tracker's answer.
const cJSON *content_of(const JsonDocument &answer) {
  const cJSON *const root = answer.root();
  if (!cJSON_IsArray(root) || cJSON_GetArraySize(root) != 2 || !cJSON_IsNumber(cJSON_GetArrayItem(root, 0)))
    answer.bad(root, "is not an array of a code and a content");
  const cJSON *const content = cJSON_GetArrayItem(root, 1);
  if (answer.integer(cJSON_GetArrayItem(root, 0)) != 0)
    fail(OPD_CALL_FAILED, "the tracker refuses: ", answer.compact(content));
  return content;
}

// Proves on both sides that the secret is known. `said`: the server's greeting.
void prove(Socket &socket, std::string_view said, const Handshake &numbers) {
  Handshake handshake = numbers;
  handshake.server_number = option_in(said, kChallengeOption);
  if (handshake.server_number.empty())
    fail(OPD_FAILED_PRECONDITION, "the server does not say that it knows the secret; TVM's servers know none");
  // The server's proof is checked first, because a server without the secret must not be trusted with programs.
  if (!is_equal_in_constant_time(option_in(said, kProofOption), handshake.servers_proof()))
    fail(OPD_FAILED_PRECONDITION, "the server has another secret");
  socket.write(handshake.clients_proof());
  if (socket.read_number() != kMagic) fail(OPD_FAILED_PRECONDITION, "the server has another secret");
}

}  // namespace

Descriptor connect_to(const HostPort &address, Socket::Time limit, const char *whom) {
  addrinfo wanted{}, *list = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  if (const int code = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &wanted, &list))
    fail(OPD_IO, "cannot connect to ", whom, " at ", address.text(), ": ", ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(list, &::freeaddrinfo);
  const Clock::time_point end = Clock::now() + limit;
  int error = 0;
  for (const addrinfo *one = list; one; one = one->ai_next) {
    Descriptor made(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = made.get() < 0 ? errno : try_connect(made, *one, end);
    if (error == 0) return made;
  }
  fail(error == ETIMEDOUT ? OPD_DEADLINE_EXCEEDED : OPD_IO, "cannot connect to ", whom, " at ", address.text(), ": ",
       error_text(error));
}

std::string greet_server(Socket &socket, const std::string &key, const std::string &secret) {
  const std::string number = secret.empty() ? "" : draw_number();
  std::string said = "client:" + key;
  if (!secret.empty()) said += concat(kSecretOption, number);
  require(said.size() <= static_cast<size_t>(kMostKey), "a key has at most ", kMostKey, " bytes");
  ByteWriter greeting;
  greeting.write(kMagic);
  greeting.write(static_cast<int32_t>(said.size()));
  greeting.write_bytes(said.data(), said.size());
  socket.write(greeting.take());
  switch (const int32_t answer = socket.read_number()) {
    case kMagic:
      break;
    case kMismatch:
      fail(OPD_FAILED_PRECONDITION, "the server has another key",
           secret.empty() ? ", or wants a secret, which was not given" : "");
    case kWantsTls:
      fail(OPD_FAILED_PRECONDITION, "the server demands TLS, but this client was given no TLS options");
    case kMagic + 1:
      fail(OPD_FAILED_PRECONDITION, "the server has a client of the same key already");
    default:
      fail(OPD_BAD_FORMAT, "the server does not speak TVM's RPC: it begins with ", answer);
  }
  const int32_t size = socket.read_number();
  if (size < 0 || size > kMostKey) fail(OPD_BAD_FORMAT, "the server's key has ", size, " bytes");
  std::string server(static_cast<size_t>(size), '\0');
  socket.read(server.data(), server.size());
  if (!secret.empty()) prove(socket, server, {secret, number, ""});
  server = server.substr(0, server.find(' '));
  constexpr std::string_view kPrefix = "server:";
  return server.starts_with(kPrefix) ? server.substr(kPrefix.size()) : server;
}

namespace {

// The member of that name; null if there is none.
const cJSON *find(const JsonDocument &document, const cJSON *object, std::string_view name) {
  const cJSON *member;
  cJSON_ArrayForEach(member, object) if (cJSON_IsObject(object) && document.key(member) == name) return member;
  return nullptr;
}

// A key that no server has may be misspelt, or its servers start later. The tracker lets the client wait for ever.
void warn_of_unknown_key(const HostPort &tracker, const std::string &key, Socket::Time limit) try {
  const std::string text = tracker_summary(tracker, limit);
  const JsonDocument summary(text, kAnswer);
  constexpr std::string_view kPrefix = "server:";
  std::set<std::string> known;
  const cJSON *server;
  cJSON_ArrayForEach(server, find(summary, summary.root(), "server_info")) {
    const cJSON *const name = find(summary, server, "key");
    const std::string text_of_name = cJSON_IsString(name) ? summary.text(name) : "";
    if (text_of_name.starts_with(kPrefix)) known.insert(text_of_name.substr(kPrefix.size()));
  }
  if (known.contains(key)) return;
  log_warning("no server at the tracker ", tracker.text(), " has the key ", key, ", so the request waits for one; ",
              known.empty() ? "there are no servers" : "the keys are ", joined(known));
} catch (const Exception &) {}  // a tracker without a summary

}  // namespace

Assignment request_server(const HostPort &tracker, const std::string &key, int64_t priority, Socket::Time connect_limit,
                          Socket::Time limit) {
  JsonWriter question;
  question.begin_array();
  question.value(kRequest), question.value(std::string_view(key)), question.value(std::string_view());
  question.value(priority);
  question.end_array();
  const auto warn = [&] { warn_of_unknown_key(tracker, key, connect_limit); };
  const std::string text = Tracker(tracker, connect_limit).ask(question.take(), limit, warn);
  const JsonDocument answer(text, kAnswer);
  const cJSON *const content = content_of(answer);
  const cJSON *const parts[] = {cJSON_GetArrayItem(content, 0), cJSON_GetArrayItem(content, 1),
                                cJSON_GetArrayItem(content, 2)};
  if (!cJSON_IsString(parts[0]) || !cJSON_IsNumber(parts[1]) || !cJSON_IsString(parts[2]))
    answer.bad(content, "has no address, port and key of a server");
  return {{answer.text(parts[0]), std::string(answer.number(parts[1]))}, answer.text(parts[2])};
}

std::string tracker_summary(const HostPort &tracker, Socket::Time limit) {
  JsonWriter question;
  question.begin_array();
  question.value(kSummary);
  question.end_array();
  const std::string text = Tracker(tracker, limit).ask(question.take(), limit);
  const JsonDocument answer(text, kAnswer);
  return answer.compact(content_of(answer));
}

void await(Socket &socket, const Patience &patience, std::string_view place) {
  // Nothing wakes this thread when a token is cancelled, so it polls the tokens at this interval.
  constexpr Socket::Time kBetween = Milliseconds(20);
  CancelState *const tokens[] = {static_cast<CancelState *>(thread_state().cancel), patience.cancel};
  const bool has_token = tokens[0] || tokens[1], has_end = patience.limit.count() > 0;
  const Clock::time_point end = Clock::now() + patience.limit;
  for (;;) {
    Socket::Time slice = has_token ? kBetween : Socket::Time{0};
    if (has_end) {
      const Socket::Time left = std::max<Socket::Time>(end - Clock::now(), Milliseconds(1));
      slice = has_token ? std::min(slice, left) : left;
    }
    if (socket.has_input(slice)) return;
    if (has_end && Clock::now() >= end) throw Exception(make_cancel_error(CancelReason::kDeadline, place));
    for (CancelState *const token : tokens) {
      if (!token) continue;
      if (token->is_cancelled.load(std::memory_order_relaxed))
        throw Exception(make_cancel_error(CancelReason::kCancelled, place));
      if (token->is_asked.load(std::memory_order_relaxed))
        if (Ref<Error> answer = token->ask()) throw Exception(std::move(answer));
    }
  }
}

}  // namespace opd::rpc
