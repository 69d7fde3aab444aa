// `opdyno record` and `opdyno top`: record another process from outside, and show what its operators do, second by
// second.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/bench/bench.h"
#include "cli/commands/command.h"
#include "cli/show/forms.h"
#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/support/progress.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr size_t most_of_a_line = 16 << 20;

// If the environment of this command has OPDYNO_CONTROL, the command may itself listen on that socket.
void refuse_ourselves(int fd, const std::string &path) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == getpid())
    throw Failure(Exit::failed, cat("no other process listens at ", path,
                                    "; OPDYNO_CONTROL is set for this command, too, which took the path"));
}

// The client of the socket of a process that runs with OPDYNO_CONTROL (docs/tracing.md).
class ControlClient {
 public:
  // Fails with Exit::failed if no process listens there.
  explicit ControlClient(const std::string &path) : path_(path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
      fail_usage(cat("the path of a socket has at most ", sizeof address.sun_path - 1, " bytes, but ", path, " has ",
                     path.size()));
    std::memcpy(address.sun_path, path.data(), path.size());
    socket_ = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket_ || connect(fd(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0) {
      if (errno == ENOENT || errno == ECONNREFUSED)
        throw Failure(Exit::failed, cat("no process listens at ", path, "; start it with OPDYNO_CONTROL=", path));
      fail_errno("connect to", path, errno);
    }
    refuse_ourselves(fd(), path);
  }

  int fd() const { return socket_.get(); }

  // If it fails, the process has sent the reason, which is read next.
  void send(const std::string &line) { write_all(fd(), line + '\n'); }

  // The next line of the process, with texts that are safe for the terminal; null at its end. Fails with Exit::failed
  // if the process reports an error, or if the line is not an answer.
  Json receive() {
    size_t end = 0;
    for (size_t seen = 0; (end = received_.find('\n', seen)) == std::string::npos;) {
      seen = received_.size();
      if (seen > most_of_a_line) throw Failure(Exit::failed, cat("what listens at ", path_, " is not opdyno"));
      if (!fill()) return nullptr;
    }
    Json line(cJSON_ParseWithLength(received_.data(), end));
    received_.erase(0, end + 1);
    if (!line) throw Failure(Exit::failed, cat("what listens at ", path_, " is not opdyno"));
    make_printable(line.get());
    if (const std::string error = json_string(line.get(), "error"); !error.empty()) throw Failure(Exit::failed, error);
    return line;
  }

  std::string receive_bytes(size_t count) {
    while (received_.size() < count)
      if (!fill()) throw Failure(Exit::failed, "the process ended before all was received");
    std::string bytes = received_.substr(0, count);
    received_.erase(0, count);
    return bytes;
  }

  // Reads the first answer: "python3 (process 1234)". The request begins then.
  std::string receive_begin() {
    const Json line = receive();
    const cJSON *const process = json_member(line.get(), "recording");
    if (!process) throw Failure(Exit::failed, cat("what listens at ", path_, " did not start a recording"));
    return cat(json_string(process, "process"), " (process ", json_number(process, "pid"), ")");
  }

 private:
  // Returns false if the process sends nothing more.
  bool fill() {
    char block[1 << 16];
    pollfd waiting{fd(), POLLIN, 0};  // ThreadSanitizer runs signal handlers here, but not in recv()
    while (poll(&waiting, 1, -1) < 0 && errno == EINTR) {}
    ssize_t got;
    while ((got = recv(fd(), block, sizeof block, 0)) < 0 && errno == EINTR) {}
    if (got > 0) received_.append(block, static_cast<size_t>(got));
    return got > 0;
  }

  const std::string path_;
  Descriptor socket_;
  std::string received_;
};

// ---- record

volatile sig_atomic_t connection = -1;  // descriptor of the connection

// The first Ctrl-C ends the recording, and its events still arrive. The second one ends this program.
void stop_recording(int) {
  constexpr char request[] = "{\"do\":\"stop\"}\n";
  const int before = errno;
  send(connection, request, sizeof request - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  errno = before;
}

void stop_on_signals(int fd) {
  connection = fd;
  struct sigaction action {};
  action.sa_handler = stop_recording;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

struct Recorded {
  std::string content;
  int64_t spans = 0, dropped = 0;
};

Recorded receive_trace(ControlClient &client) {
  constexpr int64_t most_of_a_piece = 1 << 20;
  Recorded recorded;
  for (;;) {
    const Json line = client.receive();
    if (!line) throw Failure(Exit::failed, "the process ended before its trace was received");
    if (const cJSON *const done = json_member(line.get(), "done")) {
      recorded.spans = json_number(done, "spans"), recorded.dropped = json_number(done, "dropped");
      return recorded;
    }
    const int64_t size = json_number(line.get(), "bytes");
    if (size <= 0 || size > most_of_a_piece) throw Failure(Exit::failed, "what the process sent is not a trace");
    recorded.content += client.receive_bytes(static_cast<size_t>(size));
  }
}

// ---- top

double number(const cJSON *object, const char *member) {
  const cJSON *const value = json_member(object, member);
  return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

std::string ns_text(double ns) {
  if (ns < 1e3) return cat(fixed(ns, 0), " ns");
  if (ns < 1e6) return cat(fixed(ns * 1e-3, 2), " µs");
  if (ns < 1e9) return cat(fixed(ns * 1e-6, 2), " ms");
  return cat(fixed(ns * 1e-9, 2), " s");
}

TextTable table_of(const cJSON *interval, size_t most_rows) {
  TextTable table = {{{"Name", "Calls/s", "Share", "Mean", "Self", "Threads"}}, {}, {5, 4, 3, 2, 1}, 12};
  const double seconds = std::max(number(interval, "ns"), 1.0) * 1e-9, all = number(interval, "recorded_ns");
  for (const cJSON *row : json_items(json_member(interval, "rows"))) {
    if (table.lines.size() > most_rows) break;
    const double count = number(row, "count"), self = number(row, "self_ns");
    const std::string kind = json_string(row, "kind");
    table.lines.push_back({cat(json_string(row, "name"), kind == "call" ? "" : cat(" (", kind, ")")),
                           rate_text(count / seconds), cat(fixed(all > 0 ? self / all * 100 : 0, 1), " %"),
                           count > 0 ? ns_text(number(row, "full_ns") / count) : "", ns_text(self),
                           fixed(number(row, "threads"), 0)});
  }
  return table;
}

std::string title_of(const std::string &process, const cJSON *interval) {
  const double ns = std::max(number(interval, "ns"), 1.0);
  const double threads = number(interval, "threads");
  std::string title = cat(process, ": ", fixed(ns * 1e-9, 2), " s, ", counted(static_cast<int64_t>(threads), "thread"));
  if (threads > 0)
    title +=
        cat(", ", fixed(number(interval, "recorded_ns") / ns / threads * 100, 0), " % of their time in what follows");
  if (const double dropped = number(interval, "dropped"); dropped > 0)
    title += cat(", ", fixed(dropped, 0), " dropped");
  return title + "\n";
}

void show(const std::string &process, const cJSON *interval, bool is_first) {
  const Screen screen = output_screen();
  if (!screen.is_terminal)
    return print(
        cat(is_first ? "" : "\n", title_of(process, interval), table_of(interval, SIZE_MAX).columns(SIZE_MAX)));
  const size_t lines = screen.height > 4 ? static_cast<size_t>(screen.height) : 24;
  const auto width = static_cast<size_t>(screen.width);
  // Each line is replaced and the rest of the screen cleared, so that nothing flickers.
  std::string text = cat(shortened(title_of(process, interval), width), table_of(interval, lines - 3).columns(width));
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4) text.replace(at, 1, "\033[K\n");
  print(cat(is_first ? "\033[2J" : "", "\033[H", text, "\033[J"));
}

}  // namespace

Exit run_record(const Args &args) {
  const std::string path = args.value("output").value_or("trace.json.gz");
  const TraceForm &form = trace_form_of(args, path);
  const int64_t time_ns = args.duration_ns("seconds").value_or(10'000'000'000);
  if (time_ns > 86'400'000'000'000) fail_usage("option '--seconds' takes a time of at most 24h");
  JsonWriter request;
  request.begin_object().key("do").string("record").key("form").string(form.name);
  request.key("gzip").boolean(lower_case(path).ends_with(".gz")).key("memory").boolean(args.has("memory"));
  request.key("seconds").number(static_cast<double>(time_ns) * 1e-9);
  request.key("max_events").number(args.integer("max-events", 1 << 20, 1, INT64_MAX)).end_object();
  ControlClient client(args.words()[0]);
  stop_on_signals(client.fd());
  client.send(request.take());
  const std::string process = client.receive_begin();
  Progress progress;
  progress.stage(cat("recording ", process, "; Ctrl-C ends it and keeps what was recorded"));
  const Recorded recorded = receive_trace(client);
  progress.clear();
  write_file(path, recorded.content);
  if (path != "-") print(cat(path, ": ", counted(recorded.spans, "span"), " of ", process, "\n"));
  if (recorded.dropped)
    print_message(cat("opdyno record: ", recorded.dropped,
                      " calls and ranges found no room in the trace and are left out; --max-events gives more\n"));
  return Exit::ok;
}

Exit run_top(const Args &args) {
  const int64_t interval_ns = args.duration_ns("interval").value_or(1'000'000'000);
  constexpr int64_t least = 10'000'000, most = 86'400'000'000'000;
  if (interval_ns < least || interval_ns > most) fail_usage("option '--interval' takes a time from 10ms to 24h");
  JsonWriter request;
  request.begin_object().key("do").string("top").key("interval").number(static_cast<double>(interval_ns) * 1e-9);
  request.end_object();
  ControlClient client(args.words()[0]);
  client.send(request.take());
  const std::string process = client.receive_begin();
  for (bool is_first = true;; is_first = false) {
    const Json line = client.receive();
    if (!line) throw Failure(Exit::failed, cat(process, " has ended"));
    show(process, json_member(line.get(), "interval"), is_first);
    if (args.has("once") || is_output_closed()) return Exit::ok;
  }
}

}  // namespace opd::cli
