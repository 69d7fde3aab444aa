// `opdyno serve`: a server of TVM's RPC. Each client has a process of its own, so what one does cannot reach another.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>

#include "command.h"
#include "failure.h"
#include "file.h"
#include "net.h"
#include "serve_metrics.h"
#include "text.h"

namespace opd::cli {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto tracker_period = 2s;      // between two questions to the tracker, and two tries to reach it
constexpr int most_unused_periods = 10;  // after which a key that a client got but does not use is replaced

struct Settings {
  Endpoint listen;
  std::optional<Endpoint> tracker;
  std::string key;
  int64_t most_sessions;
  opd_rpc_serve_options session;
  std::optional<Endpoint> metrics;
};

class Server {
 public:
  explicit Server(Settings settings) : settings_(std::move(settings)) {
    listener_ = listen_at(settings_.listen);
    if (settings_.metrics) metrics_.emplace(settings_.metrics->text());
    sigset_t handled;
    sigemptyset(&handled);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&handled, signal);
    sigprocmask(SIG_BLOCK, &handled, &usual_signals_);
    signals_ = Descriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) fail_errno("make", "a descriptor of signals", errno);
  }

  void run() {
    print(cat("serving at ", settings_.listen.text(), settings_.key.empty() ? "" : ", key " + settings_.key, "\n"));
    if (!is_loopback(listener_.get()))
      print_message(
          "opdyno serve: warning: who reaches this address and knows the key may run programs as this user\n");
    if (metrics_) print_message(cat("opdyno serve: metrics are at http://", metrics_->address(), "/metrics\n"));
    while (is_running_) {
      if (settings_.tracker) keep_registered();
      const bool has_room = static_cast<int64_t>(children_.size()) < settings_.most_sessions;
      pollfd waited[] = {{signals_.get(), POLLIN, 0}, {has_room ? listener_.get() : -1, POLLIN, 0}};
      const int wait_ms = settings_.tracker ? static_cast<int>(std::chrono::milliseconds(tracker_period).count()) : -1;
      if (poll(waited, 2, wait_ms) < 0 && errno != EINTR) fail_errno("wait at", settings_.listen.text(), errno);
      if (waited[0].revents) handle_signals();
      if (waited[1].revents) accept_client();
    }
    for (const auto &[child, number] : children_) kill(child, SIGTERM);
  }

 private:
  // ---- the tracker: it gives the key of one session to one client

  void keep_registered() {
    const auto now = Clock::now();
    if (now < next_question_) return;
    next_question_ = now + tracker_period;
    try {
      if (!tracker_) {
        tracker_.emplace(*settings_.tracker, settings_.key, std::stoi(settings_.listen.port));
        match_key_.clear();
      }
      const bool has_room = static_cast<int64_t>(children_.size()) < settings_.most_sessions;
      if (!match_key_.empty()) unused_periods_ = tracker_->is_taken(match_key_) ? unused_periods_ + 1 : 0;
      if (!has_room || (!match_key_.empty() && unused_periods_ < most_unused_periods)) return;
      match_key_ = cat(settings_.key, ":", random_name());
      unused_periods_ = 0;
      tracker_->offer(match_key_);
    } catch (const Failure &failure) {
      print_message(cat("opdyno serve: ", failure.what(), "; trying again\n"));
      tracker_.reset();
    }
  }

  // ---- clients

  void accept_client() {
    const Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return;  // it went away
    const int64_t number = ++last_number_;
    print_message(cat("session ", number, " of ", peer_of(connection.get()), " begins\n"));
    if (metrics_) metrics_->begin_session(number);
    const pid_t parent = getpid(), child = fork();
    if (child < 0) {
      const int error = errno;
      if (metrics_) metrics_->end_session(number, "no_process");
      return print_message(cat("opdyno serve: cannot start a process: ", strerror(error), "\n"));
    }
    if (child == 0) serve(connection.get(), number, parent);
    children_[child] = number;
    if (tracker_) match_key_.clear();  // the next client gets another key
  }

  // In the child.
  [[noreturn]] void serve(int connection, int64_t number, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // the parent ended before
    sigprocmask(SIG_SETMASK, &usual_signals_, nullptr);
    listener_.reset(), signals_.reset(), tracker_.reset();
    opd_rpc_serve_options options = settings_.session;
    options.key = settings_.key.c_str();
    // Between two keys of the tracker there is one that nobody knows.
    const std::string match_key = settings_.tracker && match_key_.empty() ? random_name() : match_key_;
    options.match_key = match_key.empty() ? nullptr : match_key.c_str();
    try {
      opdyno::rpc_serve(connection, &options);
      if (metrics_) metrics_->note_end(OPD_OK);
      print_message(cat("session ", number, " ends\n"));
    } catch (const opdyno::Error &error) {
      if (metrics_) metrics_->note_end(error.code());
      print_message(cat("session ", number, " ends: ", printable(message_of(error)), "\n"));
    } catch (const std::exception &error) { print_message(cat("session ", number, " ends: ", error.what(), "\n")); }
    _exit(0);  // all has been said
  }

  void handle_signals() {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) == sizeof info)
      if (info.ssi_signo != SIGCHLD) is_running_ = false;
    int status;
    for (pid_t child; (child = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = children_.find(child);
      if (found == children_.end()) continue;
      if (WIFSIGNALED(status))
        print_message(cat("session ", found->second, " ends: its process was ended by signal ", WTERMSIG(status), " (",
                          strsignal(WTERMSIG(status)), ")\n"));
      else if (WEXITSTATUS(status) != 0)  // of a function that the client called
        print_message(
            cat("session ", found->second, " ends: its process exited with code ", WEXITSTATUS(status), "\n"));
      if (metrics_)
        metrics_->end_session(found->second, WIFSIGNALED(status)        ? "crashed"
                                             : WEXITSTATUS(status) != 0 ? "exited"
                                                                        : "");
      children_.erase(found);
      next_question_ = {};  // the tracker may offer this server again
    }
  }

  Settings settings_;
  std::optional<ServeMetrics> metrics_;
  Descriptor listener_, signals_;
  sigset_t usual_signals_;
  std::map<pid_t, int64_t> children_;  // and the numbers of their sessions
  int64_t last_number_ = 0;
  bool is_running_ = true;
  std::optional<Tracker> tracker_;
  std::string match_key_;  // that the tracker gives to the next client; "": none
  int unused_periods_ = 0;
  Clock::time_point next_question_{};
};

}  // namespace

Exit run_serve(const Args &args) {
  Settings settings;
  settings.listen = parse_endpoint("listen", args.value("listen").value_or("127.0.0.1:9090"));
  if (const auto tracker = args.value("tracker")) settings.tracker = parse_endpoint("tracker", *tracker);
  settings.key = args.value("key").value_or("");
  if (settings.tracker && settings.key.empty()) fail_usage("option '--tracker' needs --key, the name to be found by");
  if (settings.key.find_first_of(" \n") != std::string::npos) fail_usage("option '--key' takes a name without spaces");
  constexpr int64_t usual_sessions = 16, most_sessions = 1024;
  settings.most_sessions = args.integer("sessions", settings.tracker ? 1 : usual_sessions, 1, most_sessions);
  if (const auto metrics = args.value("metrics")) settings.metrics = parse_endpoint("metrics", *metrics);
  settings.session = opdyno::defaults(opd_rpc_serve_options_init);
  settings.session.max_tensor_bytes = args.bytes("memory-limit").value_or(0);
  if (const auto files = args.bytes("file-limit")) settings.session.max_file_bytes = *files;
  settings.session.max_silence_ns = args.duration_ns("timeout").value_or(0);
  Server(std::move(settings)).run();
  return Exit::ok;
}

}  // namespace opd::cli
