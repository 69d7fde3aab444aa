#include "control/control.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/fork_mutex.h"
#include "base/library_thread.h"
#include "base/log.h"
#include "base/path_pattern.h"
#include "control/connection.h"
#include "control/endpoint.h"
#include "control/requests.h"

namespace opd {
namespace {

constexpr size_t kMostClients = 8;
constexpr int64_t kMs = 1'000'000;

// Starts a thread that runs until the process ends.
bool start_thread(const char *name, void *(*body)(void *), void *argument) noexcept {
  pthread_t thread;
  if (!start_library_thread(name, body, argument, thread)) return false;
  pthread_detach(thread);
  return true;
}

void sleep_ns(int64_t ns) {
  const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  nanosleep(&time, nullptr);
}

// Root may inspect every process anyway.
bool is_of_our_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == ::geteuid() || peer.uid == 0);
}

// The state that a fork must handle: sockets and recordings. It changes only under `guard`.
class Server {
 public:
  Server(std::string pattern, WriteTrace write) : pattern_(std::move(pattern)), write_(write) {}

  bool start() noexcept { return start_thread("opdyno-control", &run, this); }

  void end() noexcept {
    const std::scoped_lock lock(guard_);
    is_ending_ = true;
    endpoint_.remove();
  }

  // Called in the child, which has none of these threads. The open descriptors are the parent's.
  void begin_again() noexcept {
    endpoint_.forget();
    for (Client &client : clients_) {
      client.recording = nullptr;
      if (client.fd >= 0) ::close(std::exchange(client.fd, -1));
    }
    is_child_ = true;
    if (has_process_number(pattern_)) start();
  }

 private:
  class Client final : public ControlledRecording {
   public:
    Recording &start(const RecordingOptions &options) override {
      const std::scoped_lock lock(server->guard_);
      recording = Recording::start(options);
      return *recording;
    }

    Server *server = nullptr;
    int fd = -1;  // -1: the slot is free
    Ref<Recording> recording;
  };

  static void *run(void *given) {
    auto &server = *static_cast<Server *>(given);
    // Most children soon execute another program, which would leave a stale socket behind.
    if (server.is_child_) sleep_ns(200 * kMs);
    if (server.open())
      for (;;) server.accept_next();
    return nullptr;
  }

  bool open() noexcept try {
    const std::scoped_lock lock(guard_);
    if (!is_ending_) endpoint_.open(expand_path(pattern_));
    return !is_ending_;
  } catch (const Exception &e) { return warn(e.error()->message); } catch (...) {
    return warn("out of memory");
  }
  static bool warn(const std::string &why) noexcept try {
    log_load_warning("OPDYNO_CONTROL: this process cannot be recorded from outside: " + why);
    return false;
  } catch (...) { return false; }

  void accept_next() noexcept {
    pollfd waiting{endpoint_.fd(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    Client *const client = accept();
    if (client && !start_thread("opdyno-client", &serve, client)) close(*client);
  }

  // Null if there is no client, or none that is permitted.
  Client *accept() noexcept {
    std::unique_lock lock(guard_);
    const int fd = ::accept4(endpoint_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      lock.unlock();
      if (errno != EAGAIN) sleep_ns(100 * kMs);  // for example, too many open files, which lasts
      return nullptr;
    }
    const auto place = std::ranges::find(clients_, -1, &Client::fd);
    const bool is_ours = is_of_our_user(fd);
    if (is_ours && place != clients_.end()) {
      place->fd = fd;
      place->server = this;
      return &*place;
    }
    Connection refused(fd);
    send_control_error(
        refused, is_ours ? "too many clients are connected to this process" : "this process belongs to another user");
    ::close(fd);
    return nullptr;
  }

  static void *serve(void *given) {
    auto &client = *static_cast<Client *>(given);
    Connection connection(client.fd);
    try {
      serve_control(connection, client, client.server->write_);
    } catch (const Exception &e) { send_control_error(connection, e.error()->message); } catch (...) {
      send_control_error(connection, "out of memory");
    }
    client.server->close(client);
    return nullptr;
  }

  void close(Client &client) noexcept {
    const std::scoped_lock lock(guard_);
    client.recording = nullptr;
    ::close(std::exchange(client.fd, -1));
  }

  const std::string pattern_;
  const WriteTrace write_;
  ForkMutex guard_{LockRank::kControl};
  Endpoint endpoint_;
  std::array<Client, kMostClients> clients_;
  bool is_ending_ = false, is_child_ = false;
};

Server *server;  // null: the variable is not set. Never destroyed: its threads run until the process ends

}  // namespace

void start_control(WriteTrace write) noexcept try {
  const char *const pattern = ::secure_getenv("OPDYNO_CONTROL");
  if (!pattern || !*pattern) return;
  server = new Server(pattern, write);
  // Registered after the handlers of the locks, which are therefore free in the child.
  pthread_atfork(nullptr, nullptr, [] { server->begin_again(); });
  std::atexit([] { server->end(); });
  server->start();
} catch (const std::bad_alloc &) {}  // there is no socket then

}  // namespace opd
