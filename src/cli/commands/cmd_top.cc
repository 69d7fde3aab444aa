// `opdyno top`: the activity of another process's operators, second by second.

#include <algorithm>

#include "cli/bench/bench.h"
#include "cli/commands/command.h"
#include "cli/support/control_client.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

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
  const cJSON *row = nullptr;
  cJSON_ArrayForEach(row, json_member(interval, "rows")) {
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
    if (args.has("once")) return Exit::ok;
  }
}

}  // namespace opd::cli
