// `opdyno record`: records another process from outside.
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>

#include "cli/commands/command.h"
#include "cli/show/forms.h"
#include "cli/support/control_client.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/support/progress.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

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
    if (size <= 0 || size > most_of_a_piece) throw Failure(Exit::failed, "what the process sent is no trace");
    recorded.content += client.receive_bytes(static_cast<size_t>(size));
  }
}

}  // namespace

Exit run_record(const Args &args) {
  const std::string path = args.value("output").value_or("trace.json.gz");
  const auto name = args.value("form");
  const TraceForm &form = name ? trace_form(*name) : path == "-" ? trace_form("chrome") : trace_form_of_file(path);
  const int64_t time_ns = args.duration_ns("seconds").value_or(10'000'000'000);
  if (time_ns > 86'400'000'000'000) fail_usage("option '--seconds' takes a time of at most 24h");
  JsonWriter request;
  request.begin_object().key("do").string("record").key("form").string(form.name);
  request.key("gzip").boolean(is_gzip_file(path)).key("memory").boolean(args.has("memory"));
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

}  // namespace opd::cli
