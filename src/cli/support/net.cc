#include "cli/support/net.h"

#include <netdb.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/support/failure.h"
#include "cli/support/json.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr int32_t tracker_magic = 0x2F271;
enum TrackerCode : int { put = 3, update_info = 5, pending_match_keys = 7 };
constexpr time_t patience_s = 10;  // limit for a tracker's answer
constexpr int32_t most_of_an_answer = 1 << 20;

using Addresses = std::unique_ptr<addrinfo, Release<freeaddrinfo>>;

Addresses addresses_of(const Endpoint &endpoint, int flags) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  if (const int code = getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &wanted, &found))
    throw Failure(Exit::failed, cat("there is no address for ", endpoint.text(), ": ", gai_strerror(code)));
  return Addresses(found);
}

// The address of one end of a connection: getsockname() or getpeername(). Without a host if it is not known.
Endpoint end_of(int socket, int (*address_of)(int, sockaddr *, socklen_t *)) {
  sockaddr_storage found{};
  socklen_t size = sizeof found;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  auto *const address = reinterpret_cast<sockaddr *>(&found);
  const bool is_known =
      address_of(socket, address, &size) == 0 &&
      getnameinfo(address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0;
  return is_known ? Endpoint{host, port} : Endpoint();
}

// TVM's trackers use signed 32-bit sizes and numbers. They are little-endian, like all processors that opdyno supports.
std::string number_bytes(int32_t number) { return {reinterpret_cast<const char *>(&number), sizeof number}; }
int32_t number_in(const std::string &bytes) {
  int32_t number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

}  // namespace

std::string random_name() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) fail_errno("read", "random bytes", errno);
  std::string name;
  for (const unsigned char byte : bytes) name += cat("0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]);
  return name;
}

std::string read_secret(const std::string &path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)))
    fail_usage(cat("others may read the secret in ", path, "; chmod 600 ", path));
  const std::string content = read_file(path), secret(trim(content));
  constexpr size_t least = 16;
  if (secret.size() < least || secret.find_first_of(std::string_view("\n\0", 2)) != secret.npos)
    fail_usage(cat(path, " must hold one line of at least ", least,
                   " bytes; make one by: (umask 077; openssl rand -hex 32 >", path, ")"));
  return secret;
}

// The file's group may read it, because distributions give keys to servers in that way.
void require_private(const std::string &path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & S_IRWXO))
    fail_usage(cat("all users may read the private key in ", path, "; chmod o= ", path));
}

Endpoint parse_endpoint(std::string_view option, const std::string &text) {
  const size_t colon = text.rfind(':');
  Endpoint made{colon == text.npos ? "127.0.0.1" : text.substr(0, colon), text.substr(colon + 1)};
  if (made.host.starts_with('[') && made.host.ends_with(']')) made.host = made.host.substr(1, made.host.size() - 2);
  const std::optional<int64_t> port = read_int(made.port);
  if (made.host.empty() || !port || *port < 0 || *port > 65535)
    fail_usage(cat("option '--", option, "' takes HOST:PORT or PORT, as 127.0.0.1:9090, not '", text, "'"));
  return made;
}

Descriptor listen_at(Endpoint &endpoint) {
  const Addresses addresses = addresses_of(endpoint, AI_PASSIVE);
  Descriptor made(socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (made) setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!made || bind(made.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 || listen(made.get(), SOMAXCONN) != 0)
    fail_errno("listen at", endpoint.text(), errno);
  endpoint.port = end_of(made.get(), getsockname).port;
  return made;
}

bool is_loopback(int listener) {
  const std::string host = end_of(listener, getsockname).host;
  return host == "::1" || host.starts_with("127.");
}

std::string peer_of(int connection) {
  const Endpoint peer = end_of(connection, getpeername);
  return peer.host.empty() ? "an unknown address" : peer.text();
}

Tracker::Tracker(Endpoint at, std::string key, int port) : at_(std::move(at)), key_(std::move(key)), port_(port) {
  const Addresses addresses = addresses_of(at_, 0);
  socket_ = Descriptor(socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{patience_s, 0};
  for (const int limit : {SO_RCVTIMEO, SO_SNDTIMEO})
    if (socket_) setsockopt(socket_.get(), SOL_SOCKET, limit, &patience, sizeof patience);
  if (!socket_ || connect(socket_.get(), addresses->ai_addr, addresses->ai_addrlen) != 0)
    fail_errno("connect to the tracker at", at_.text(), errno);
  send(number_bytes(tracker_magic));
  if (number_in(receive(sizeof tracker_magic)) != tracker_magic)
    throw Failure(Exit::failed, cat("at ", at_.text(), " there is something else than TVM's tracker"));
  JsonWriter info;
  info.begin_array().number(int{update_info}).begin_object().key("key").string("server:" + key_);
  info.key("addr").begin_array().raw("null").number(port_).end_array().end_object().end_array();
  ask(info.take());
}

void Tracker::offer(const std::string &match_key) {
  JsonWriter message;
  message.begin_array().number(int{put}).string(key_).begin_array().number(port_).string(match_key).end_array();
  ask(message.raw("null").end_array().take());
}

bool Tracker::is_taken(const std::string &match_key) {
  const Json keys = parse_json(ask(cat("[", int{pending_match_keys}, "]")), "the tracker's answer");
  return std::ranges::none_of(json_items(keys.get()),
                              [&](const cJSON *key) { return cJSON_IsString(key) && match_key == key->valuestring; });
}

std::string Tracker::ask(const std::string &message) {
  send(number_bytes(static_cast<int32_t>(message.size())) + message);
  const int32_t size = number_in(receive(sizeof size));
  if (size < 0 || size > most_of_an_answer)
    throw Failure(Exit::failed, cat("the tracker at ", at_.text(), " answers with ", size, " bytes"));
  std::string answer = receive(static_cast<size_t>(size));
  if (answer == "-1") throw Failure(Exit::failed, cat("the tracker at ", at_.text(), " refused ", message));
  return answer;
}

void Tracker::send(std::string_view bytes) {
  if (!write_all(socket_.get(), bytes)) fail_errno("write to the tracker at", at_.text(), errno);
}

std::string Tracker::receive(size_t size) {
  std::string bytes(size, '\0');
  for (size_t have = 0; have < size;) {
    const ssize_t found = recv(socket_.get(), bytes.data() + have, size - have, 0);
    if (found == 0) throw Failure(Exit::failed, cat("the tracker at ", at_.text(), " closed the connection"));
    if (found > 0) have += static_cast<size_t>(found);
    else if (errno != EINTR) fail_errno("read from the tracker at", at_.text(), errno);
  }
  return bytes;
}

}  // namespace opd::cli
