#include "control/control.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/fork_mutex.h"
#include "base/log.h"
#include "base/path_pattern.h"
#include "base/signals.h"

namespace opd {
namespace {

constexpr size_t kMostClients = 8;
constexpr int64_t kMs = 1'000'000;
constexpr int kBacklog = 16;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor &) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

sockaddr_un address_of(const std::string &path) {
  sockaddr_un address{};
  require(path.size() < sizeof address.sun_path, "the path of a socket has at most ", sizeof address.sun_path - 1,
          " bytes, but ", path, " has ", path.size());
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int new_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

int bind_to(int fd, const sockaddr_un &address) {
  return ::bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 ? 0 : errno;
}

void sleep_ns(int64_t ns) {
  const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  nanosleep(&time, nullptr);
}

// A lock on the directory of a path. If two processes find the same stale socket, only one of them replaces it. If
// another process keeps the lock, or the directory cannot be read, no lock is held.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string &path)
      : directory_(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (int turn = 0; turn < 20 && ::flock(directory_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++turn)
      sleep_ns(10 * kMs);
  }

 private:
  static std::string directory_of(const std::string &path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
  }
  Descriptor directory_;  // closing it releases the lock
};

// Removes the path if it is a socket on which no process listens.
void remove_stale(const std::string &path, const sockaddr_un &address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    fail_errno("cannot listen on", path, errno);
  }
  if (!S_ISSOCK(status.st_mode)) fail(OPD_IO, path, " exists and is not a socket; it is left alone");
  const Descriptor probe(new_socket());
  if (probe.get() < 0) fail_errno("cannot listen on", path, errno);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 || errno == EAGAIN)
    fail(OPD_IO, path, " is in use: another process listens there; it is left alone");
  if (errno != ECONNREFUSED) fail_errno("cannot listen on", path, errno);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_errno("cannot replace", path, errno);
}

// A listening Unix socket, bound to a path, that only its user may open.
class Endpoint {
 public:
  // Replaces a stale socket, but neither one on which a process listens nor another file. Takes at most a fraction of a
  // second. Throws OPD_IO, or OPD_INVALID_ARGUMENT if the path is too long.
  void open(const std::string &path) {
    const sockaddr_un address = address_of(path);
    Descriptor made(new_socket());
    // Set the mode before binding, so that no other user can ever open it: the path gets the socket's mode.
    if (made.get() < 0 || ::fchmod(made.get(), 0600) != 0) fail_errno("cannot listen on", path, errno);
    const DirectoryLock lock(path);
    int error = bind_to(made.get(), address);
    if (error == EADDRINUSE) {
      remove_stale(path, address);
      error = bind_to(made.get(), address);
    }
    struct stat status {};
    if (!error && (::lstat(path.c_str(), &status) != 0 || ::listen(made.get(), kBacklog) != 0)) error = errno;
    if (error) fail_errno("cannot listen on", path, error);
    path_ = path, device_ = status.st_dev, inode_ = status.st_ino;
    fd_ = made.release();
  }
  int fd() const { return fd_; }
  // Removes the path if it still belongs to this socket.
  void remove() noexcept {
    struct stat status {};
    if (path_.empty() || ::lstat(path_.c_str(), &status) != 0) return;
    if (status.st_dev == device_ && status.st_ino == inode_) ::unlink(path_.c_str());
  }
  // Called in a forked child, where the socket and its path are the parent's.
  void forget() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    path_.clear();
  }

 private:
  int fd_ = -1;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Starts a thread that runs until the process ends.
bool start_thread(const char *name, void *(*body)(void *), void *argument) noexcept {
  pthread_t thread;
  if (!start_library_thread(name, body, argument, thread)) return false;
  pthread_detach(thread);
  return true;
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
  struct Client {
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
    log_variable_warning("OPDYNO_CONTROL: this process cannot be recorded from outside: " + why);
    return false;
  } catch (...) { return false; }

  void accept_next() noexcept {
    pollfd waiting{endpoint_.fd(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    Client *const client = accept();
    if (client && !start_thread("opdyno-client", &serve, client)) close(*client);
  }

  // Returns null if no client is waiting, or if the client was refused.
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
    send_control_error(
        fd, is_ours ? "too many clients are connected to this process" : "this process belongs to another user");
    ::close(fd);
    return nullptr;
  }

  static void *serve(void *given) {
    auto &client = *static_cast<Client *>(given);
    const auto start = [&client](const RecordingOptions &options) -> Recording & {
      const std::scoped_lock lock(client.server->guard_);
      client.recording = Recording::start(options);
      return *client.recording;
    };
    try {
      serve_control(client.fd, start, client.server->write_);
    } catch (const Exception &e) { send_control_error(client.fd, e.error()->message); } catch (...) {
      send_control_error(client.fd, "out of memory");
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
