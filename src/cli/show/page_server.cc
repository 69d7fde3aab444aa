#include "cli/show/page_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/net.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr size_t most_of_a_request = 8192;
constexpr size_t most_clients = 64;
constexpr auto patience = 5s;  // limit for a client that sends or reads slowly

int interruption[2] = {-1, -1};  // a pipe that has input after Ctrl-C

void interrupt(int) {
  const int before = errno;
  [[maybe_unused]] const ssize_t written = write(interruption[1], "", 1);
  errno = before;
}

// Waits for the event on the socket. False: it took too long, the client is gone, or Ctrl-C came.
bool wait_for(int fd, short event, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd waiting[] = {{fd, event, 0}, {interruption[0], POLLIN, 0}};
    const int found = poll(waiting, 2, left > 0 ? static_cast<int>(left) : 0);
    if (found < 0 && errno == EINTR) continue;
    return found > 0 && !waiting[1].revents && (waiting[0].revents & event);
  }
}

// Reads the part of a request that has arrived. False: a part is missing.
bool read_request(int client, std::string &head) {
  char block[1024];
  const ssize_t got = recv(client, block, sizeof block, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got > 0) head.append(block, static_cast<size_t>(got));
  return got <= 0 || head.size() > most_of_a_request || head.find("\r\n\r\n") != std::string::npos;
}

// The first line of a request whose head is complete; else "".
std::string_view first_line(std::string_view head) {
  return head.find("\r\n\r\n") == head.npos ? "" : head.substr(0, head.find("\r\n"));
}

void send_all(int client, std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait_for(client, POLLOUT, Clock::now() + patience)) return;
    const ssize_t sent = send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return;
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

}  // namespace

PageServer::PageServer(std::string page) : page_(std::move(page)), path_(cat("/", random_name(), "/")) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // with a port that the system chooses
  socklen_t size = sizeof address;
  auto *const any = reinterpret_cast<sockaddr *>(&address);
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0 || bind(listener_, any, size) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, any, &size) != 0)
    fail_errno("listen on", "127.0.0.1", errno);
  address_ = cat("http://127.0.0.1:", ntohs(address.sin_port), path_);
}

PageServer::~PageServer() {
  for (const Client &client : clients_) close(client.fd);
  close(listener_);
}

void PageServer::answer(int client, std::string_view request) const {
  const bool is_head = request.starts_with("HEAD ");
  if (!is_head && !request.starts_with("GET ")) return;
  const std::string_view target = request.substr(is_head ? 5 : 4);
  const bool is_page = target.substr(0, target.find(' ')) == path_;
  const std::string_view body = is_page ? std::string_view(page_) : "There is no such page.\n";
  std::string answer = cat("HTTP/1.1 ", is_page ? "200 OK" : "404 Not Found", "\r\nContent-Type: text/",
                           is_page ? "html" : "plain", "; charset=utf-8\r\nContent-Length: ", body.size(),
                           "\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n");
  send_all(client, answer);
  if (!is_head) send_all(client, body);
}

void PageServer::serve_until_interrupted() {
  if (pipe(interruption) != 0) fail_errno("make", "a pipe", errno);
  struct sigaction action {};
  action.sa_handler = interrupt;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  while (wait_for_clients()) {}
}

// A browser keeps connections that it does not use yet. So the server waits for all clients at once. False: Ctrl-C
// came.
bool PageServer::wait_for_clients() {
  std::vector<pollfd> waiting{{interruption[0], POLLIN, 0}, {listener_, POLLIN, 0}};
  for (const Client &client : clients_) waiting.push_back({client.fd, POLLIN, 0});
  int most_ms = -1;
  if (!clients_.empty()) {  // the oldest one is the first
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(clients_.front().until - Clock::now()).count();
    most_ms = left > 0 ? static_cast<int>(left) : 0;
  }
  if (poll(waiting.data(), waiting.size(), most_ms) < 0) return errno == EINTR;
  if (waiting[0].revents) return false;
  const auto now = Clock::now();
  std::vector<Client> kept;
  for (size_t i = 0; i < clients_.size(); ++i) {
    Client &client = clients_[i];
    if (waiting[2 + i].revents && read_request(client.fd, client.head)) end(client);
    else if (client.until <= now) end(client);
    else kept.push_back(std::move(client));
  }
  clients_ = std::move(kept);
  if (!waiting[1].revents) return true;
  if (clients_.size() == most_clients) end(clients_.front()), clients_.erase(clients_.begin());
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) clients_.push_back({fd, now + patience, {}});
  return true;
}

void PageServer::end(const Client &client) const {
  answer(client.fd, first_line(client.head));
  shutdown(client.fd, SHUT_WR);
  close(client.fd);
}

// The address is printed as the last line, once a browser can open it.
void serve_trace(std::string_view command, const Trace &trace) {
  PageServer server(trace.write(OPD_TRACE_HTML));
  print_message(cat("opdyno ", command, ": ", server.address(), " shows the trace; Ctrl-C ends this\n"));
  server.serve_until_interrupted();
}

}  // namespace opd::cli
