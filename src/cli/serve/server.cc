#include "cli/serve/server.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <map>

#include "cli/serve/serve_metrics.h"
#include "cli/serve/session.h"
#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto tracker_period = 2000ms;  // between two requests to the tracker, and two attempts to reach it
constexpr auto accept_pause = 1000ms;    // pause after a client could not be accepted
constexpr auto most_unheard = 5000ms;    // limit of a session whose client has gone; a running call does not notice it
constexpr int most_unused_periods = 10;  // periods after which a key that a client got but did not use is replaced
constexpr auto look_period = 1000ms;     // between two checks of the sessions
constexpr int most_looking = 20;         // checks of files take at most 1 / most_looking of the server's time
constexpr size_t most_unknown = 32;      // most clients that have connected but not yet sent the key

// Describes the sandbox and TLS: "files (Landlock ABI 7), no network; not: signals to others (Landlock ABI 6)".
std::string session_text(const opd_rpc_serve_options &options) {
  const Json facts = parse_json(opdyno::rpc_serve_describe(&options), "the description of sessions");
  const std::string fingerprint = json_string(facts.get(), "tls_fingerprint");
  const std::string tls = fingerprint.empty() ? "" : cat("\nTLS: the certificate's fingerprint is ", fingerprint);
  if (!options.sandbox) return cat("none", tls);
  const std::string enforced = join(json_strings(facts.get(), "enforced"), ", "),
                    missing = join(json_strings(facts.get(), "missing"), ", ");
  if (missing.empty()) return cat(enforced, tls);
  return cat(enforced, enforced.empty() ? "" : "; ", "not: ", missing, tls);
}

void warn(std::string_view what) { print_message(cat("opdyno serve: warning: ", what, "\n")); }

class Server {
 public:
  explicit Server(ServerSettings &settings)
      : settings_(settings), sandbox_(session_text(settings_.session)), folders_(settings_.user) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // descendants that lose their parents become children of this process
    listener_ = listen_at(settings_.listen);
    if (!is_loopback(listener_.get()) && !settings_.session.secret && !settings_.lets_anyone)
      fail_usage(
          cat("other machines reach ", settings_.listen.text(),
              ", and clients may run programs here: give --secret-file FILE, which opdyno's clients know, too, or "
              "--allow-anyone, which TVM's clients need"));
    if (settings_.metrics || !settings_.otlp.empty())
      metrics_.emplace(settings_.metrics ? settings_.metrics->text() : "", settings_.otlp);
    sigset_t handled;
    sigemptyset(&handled);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&handled, signal);
    sigprocmask(SIG_BLOCK, &handled, &usual_signals_);
    signals_ = Descriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) fail_errno("make", "a descriptor of signals", errno);
  }

  void run() {
    print(cat("serving at ", settings_.listen.text(), settings_.key.empty() ? "" : ", key " + settings_.key,
              "\nsandbox: ", sandbox_, "\n"));
    const bool is_reachable = !is_loopback(listener_.get()), has_secret = settings_.session.secret;
    if (is_reachable && !has_secret) warn("who reaches this address may run programs here");
    if (is_reachable && has_secret && !settings_.session.tls_certificate_file)
      warn("sessions are not encrypted; --tls-cert or an ssh tunnel does that");
    if (!settings_.session.sandbox) warn("without a sandbox, programs of clients can do all that this user can");
    if (geteuid() == 0 && settings_.user.empty())
      warn("sessions run as root; --user NAME has them run as another user");
    if (settings_.metrics)
      print_message(cat("opdyno serve: metrics are at http://", metrics_->address(), "/metrics\n"));
    forget_code();
    while (is_running_) {
      if (settings_.tracker) keep_registered();
      wait_for_events();
    }
    end_all_children();
    for (const auto &[process, child] : children_)
      if (metrics_) metrics_->end_session(child.number, "", "the server ended");
  }

 private:
  // A session's process. Its client is unknown until it has sent the key. Then the session waits for a place.
  struct Child {
    int64_t number;
    std::string match_key;
    SessionGate gate;
    SharedMemory<SharedSession> shared;
    Descriptor connection;  // detects that the client has gone, and tells it the end; empty once it has gone
    bool has_asked = false, has_place = false;
    std::optional<ForcedEnd> end{};
  };

  void wait_for_events() {
    const size_t unknown =
        static_cast<size_t>(std::ranges::count_if(children_, [](const auto &one) { return !one.second.has_asked; }));
    const size_t waiting = children_.size() - unknown - places_taken();
    const bool has_room = unknown + waiting < most_unknown, accepts = has_room && Clock::now() >= next_accept_;
    std::vector<pollfd> waited = {{signals_.get(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}};
    std::vector<pid_t> clients;
    for (auto &[process, child] : children_)
      if (!child.has_asked) waited.push_back({child.gate.descriptor(), POLLIN, 0});
    const size_t first_client = waited.size();
    for (auto &[process, child] : children_)
      if (child.connection) waited.push_back({child.connection.get(), POLLRDHUP, 0}), clients.push_back(process);
    const auto wait = has_room && !accepts ? accept_pause
                      : !children_.empty() ? look_period
                      : settings_.tracker  ? tracker_period
                                           : -1ms;
    const int wait_ms = ms_before_an_end(static_cast<int>(wait.count()));
    if (poll(waited.data(), waited.size(), wait_ms) < 0 && errno != EINTR)
      fail_errno("wait at", settings_.listen.text(), errno);
    for (size_t i = 2; i < first_client; ++i)
      if (waited[i].revents) note_question(waited[i].fd);
    for (size_t i = first_client; i < waited.size(); ++i)
      if (waited[i].revents) note_end_of_client(children_.at(clients[i - first_client]));
    if (waited[0].revents) handle_signals();
    look_at_files();
    have_operators_noted();
    end_overdue();
    give_places();
    if (waited[1].revents) accept_client();
    if (metrics_) metrics_->show();
  }

  // ---- sessions that do not end by themselves

  static void end(Child &child, ForcedEnd end) {
    if (child.end && (child.end->has_begun || child.end->next_step <= end.next_step)) return;
    child.end = std::move(end);
  }

  // Between two calls, the session notices the end of its client itself and ends before the limit.
  static void note_end_of_client(Child &child) {
    child.connection.reset();
    end(child, {Clock::now() + most_unheard, "its client has gone, and it did not end by itself", "broken", false});
  }

  void look_at_files() {
    const auto begin = Clock::now();
    if (begin < next_look_) return;
    const uint64_t most = settings_.session.max_file_bytes + kOwnBytesOfSession;
    for (auto &[process, child] : children_)
      if (folders_.bytes_of(child.number, most) > most)
        end(child,
            {begin, cat("its files take more of the disk than the ", most >> 20, " MiB that --file-limit allows"),
             "limit"});
    next_look_ = Clock::now() + std::max<Clock::duration>(look_period, most_looking * (Clock::now() - begin));
  }

  // Operators are noted in advance, because a process that the kernel ended for lack of memory cannot report what it
  // did.
  void have_operators_noted() {
    if (Clock::now() < next_note_) return;
    for (const auto &[process, child] : children_)
      if (child.has_place) kill(process, SIGURG);
    memory_.look();
    next_note_ = Clock::now() + look_period;
  }

  // The time in ms until the next forced end, but at most `most`; -1: without a limit.
  int ms_before_an_end(int most) const {
    for (const auto &[process, child] : children_) {
      if (!child.end || child.end->next_step == Clock::time_point::max()) continue;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(child.end->next_step - Clock::now()).count();
      const int ms = static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
      most = most < 0 ? ms : std::min(most, ms);
    }
    return most;
  }

  void end_overdue() {
    for (auto &[process, child] : children_)
      if (child.end && Clock::now() >= child.end->next_step) child.end->go_on(process, *child.shared);
  }

  // ---- places of sessions

  size_t places_taken() const {
    return static_cast<size_t>(std::ranges::count_if(children_, [](const auto &one) { return one.second.has_place; }));
  }

  void note_question(int gate) {
    for (auto &[process, child] : children_) {
      if (child.has_asked || child.gate.descriptor() != gate) continue;
      child.has_asked = true;
      if (!child.gate.has_asked() || !has_key(child)) child.gate.answer(false);  // or the process has ended
      else waiting_.push_back(process);
      return;
    }
  }

  // Whether the client has the tracker's current key, which is for one client.
  bool has_key(const Child &child) const {
    return !settings_.tracker || (!child.match_key.empty() && child.match_key == match_key_);
  }

  // Places are given in the order in which the clients became known.
  void give_places() {
    while (!waiting_.empty() && static_cast<int64_t>(places_taken()) < settings_.most_sessions) {
      const auto found = children_.find(waiting_.front());
      waiting_.pop_front();
      if (found == children_.end()) continue;
      Child &child = found->second;
      child.has_place = has_key(child);
      child.gate.answer(child.has_place);
      if (child.has_place) match_key_.clear();  // the next client gets another key
    }
  }

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
      const bool has_room = static_cast<int64_t>(places_taken()) < settings_.most_sessions;
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
    Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return refuse_for_now(errno);
    const int64_t number = ++last_number_;
    print_message(cat("session ", number, " of ", peer_of(connection.get()), " begins\n"));
    std::string folder;
    std::optional<SessionGate> gate;
    SharedMemory<SharedSession> shared;
    try {
      gate.emplace();
      shared = share_memory<SharedSession>();
      opd_rpc_progress_init(&shared->progress);
      folder = folders_.make(number);
      if (metrics_) metrics_->begin_session(number, *shared);
    } catch (const Failure &failure) {
      folders_.remove(number);
      return print_message(cat("session ", number, " ends: ", failure.what(), "\n"));
    }
    const pid_t parent = getpid(), child = fork();
    if (child < 0) {
      const int error = errno;
      folders_.remove(number);
      if (metrics_) metrics_->end_session(number, "no_process");
      return print_message(cat("opdyno serve: cannot start a process: ", strerror(error), "\n"));
    }
    if (child == 0) serve(connection.get(), number, parent, folder, *gate, *shared);
    gate->keep_servers_end();
    Child &made =
        children_.emplace(child, Child{number, match_key_, std::move(*gate), std::move(shared), std::move(connection)})
            .first->second;
    if (settings_.most_time)
      end(made, {Clock::now() + *settings_.most_time,
                 cat("its time, --session-limit ", settings_.most_time_text, ", was over"), "limit"});
  }

  // `error`: errno of accept4().
  void refuse_for_now(int error) {
    if (error == ECONNABORTED || error == EAGAIN || error == EINTR) return;  // the client has gone
    next_accept_ = Clock::now() + accept_pause;  // a missing resource, such as descriptors, is missing for a while
    print_message(cat("opdyno serve: cannot accept a client: ", strerror(error), "; trying again\n"));
  }

  // Runs in the child process.
  [[noreturn]] void serve(int connection, int64_t number, pid_t parent, const std::string &folder, SessionGate &gate,
                          SharedSession &shared) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // the parent ended before
    sigprocmask(SIG_SETMASK, &usual_signals_, nullptr);
    listener_.reset(), signals_.reset(), tracker_.reset(), folders_.forget(), children_.clear();
    detach_session();
    opd_rpc_serve_options options = settings_.session;
    options.work_folder = folder.c_str();
    options.key = settings_.key.c_str();
    // While the tracker has no key, a random key refuses all clients.
    const std::string match_key = settings_.tracker && match_key_.empty() ? random_name() : match_key_;
    options.match_key = match_key.empty() ? nullptr : match_key.c_str();
    struct InSession {
      SessionGate &gate;
      SpanChannel &spans;
    } in_session{gate, shared.spans};
    options.admit = [](void *given) -> opd_error * {
      return opdyno::guarded([given] {
        if (!static_cast<InSession *>(given)->gate.ask())
          throw Failure(Exit::failed, "another client has used the key of the tracker");
      });
    };
    options.user_data = &in_session, options.report_crashes = 1, options.progress = &shared.progress;
    if (metrics_ && metrics_->sends_spans())
      options.note_span = [](void *given, const opd_telemetry_value *span) {
        static_cast<InSession *>(given)->spans.note(*span);
      };
    try {
      opdyno::rpc_serve(connection, &options);
      if (metrics_) metrics_->note_end(OPD_OK);
      print_message(cat("session ", number, " ends\n"));
    } catch (const opdyno::Error &error) {
      if (metrics_) metrics_->note_end(error.code());
      print_message(cat("session ", number, " ends: ", printable(message_of(error)), "\n"));
    } catch (const std::exception &error) { print_message(cat("session ", number, " ends: ", error.what(), "\n")); }
    _exit(0);  // all messages are printed
  }

  void handle_signals() {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) == sizeof info)
      if (info.ssi_signo != SIGCHLD) is_running_ = false;
    int status;
    rusage used;
    for (pid_t child; (child = wait4(-1, &status, WNOHANG, &used)) > 0;) {
      const auto found = children_.find(child);
      if (found == children_.end()) continue;
      end_session(found->second, status, used);
      children_.erase(found);
      next_question_ = {};  // the tracker may offer this server again
      if (children_.empty()) forget_code();
    }
    // Processes that clients' programs have started end with their session.
    for (const pid_t orphan : children_of_this_process())
      if (!children_.contains(orphan)) kill(orphan, SIGKILL);
  }

  // Handles the end of a child's process.
  void end_session(Child &child, int status, const rusage &used) {
    memory_.look();
    const SessionEnd end = end_of_session(status, used, child.end, settings_.session.max_cpu_s, memory_, *child.shared);
    if (!end.why.empty()) print_message(cat("session ", child.number, " ends: ", end.why, "\n"));
    if (child.connection) tell_end(child.connection.get(), *child.shared);
    folders_.remove(child.number);
    if (metrics_) metrics_->end_session(child.number, end.outcome, end.why);
  }

  ServerSettings &settings_;
  const std::string sandbox_;
  SessionFolders folders_;
  std::optional<ServeMetrics> metrics_;
  Descriptor listener_, signals_;
  sigset_t usual_signals_;
  std::map<pid_t, Child> children_;
  std::deque<pid_t> waiting_;  // processes that wait for a place
  int64_t last_number_ = 0;
  bool is_running_ = true;
  std::optional<Tracker> tracker_;
  std::string match_key_;  // the tracker's key for the next client; "": none
  int unused_periods_ = 0;
  Clock::time_point next_question_{}, next_accept_{}, next_look_{}, next_note_{};
  MemoryWatch memory_;
};

}  // namespace

void serve(ServerSettings &settings) { Server(settings).run(); }

}  // namespace opd::cli
