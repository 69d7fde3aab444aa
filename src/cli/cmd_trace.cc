// `opdyno trace`: what the file of a recording holds, also if its process was killed.
#include "command.h"
#include "file.h"
#include "page_server.h"
#include "text.h"
#include "trace_form.h"

namespace opd::cli {

namespace {

constexpr std::string_view actions = "view, recover or table";

std::string summary(const std::string &path, const Trace &trace) {
  const size_t spans = trace.report(OPD_TRACE_EVENTS).count();
  std::string text = cat(path, ": ", counted(static_cast<int64_t>(spans), "span"));
  if (trace.dropped()) text += cat("; ", trace.dropped(), " more found no room, were overwritten or are damaged");
  return text + "\n";
}

// Without --output the page is served.
void view(const Args &args, const Trace &trace) {
  const auto output = args.value("output");
  if (!output) return serve_trace("trace", trace);
  const auto name = args.value("form");
  trace.save(output->c_str(), name ? trace_form(*name).format : OPD_TRACE_HTML);
}

void recover(const Args &args, const std::string &file, const Trace &trace) {
  const std::string output = args.value("output").value_or(file + ".json.gz");
  const auto name = args.value("form");
  const TraceForm &form = name ? trace_form(*name) : output == "-" ? trace_form("chrome") : trace_form_of_file(output);
  if (output == "-") return print(trace.write(form.format));
  trace.save(output.c_str(), form.format);
  print(summary(output, trace));
}

}  // namespace

Exit run_trace(const Args &args) {
  const std::string &action = args.words()[0], &file = args.words()[1];
  if (action != "view" && action != "recover" && action != "table")
    fail_usage(cat("opdyno trace takes ", actions, ", not '", action, "'"));
  if (const auto output = args.value("output")) {
    if (action == "table") fail_usage("opdyno trace table has no --output; it prints");
    for (const std::string &read : {file, file + ".live"}) refuse_overwriting(read, *output);
  }
  const Trace trace = attempt(Exit::refused, file, [&] { return Trace::load(file.c_str()); });
  if (action == "view") view(args, trace);
  else if (action == "recover") recover(args, file, trace);
  else print(cat(trace.table(), summary(file, trace)));
  return Exit::ok;
}

}  // namespace opd::cli
