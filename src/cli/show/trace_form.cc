#include "cli/show/trace_form.h"

#include <algorithm>
#include <cctype>

#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::string names_of_all() {
  std::string names;
  for (const TraceForm &form : trace_forms()) names += cat(names.empty() ? "" : ", ", form.name);
  return names;
}

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

const std::vector<TraceForm> &trace_forms() {
  static const std::vector<TraceForm> all = {{"speedscope", OPD_TRACE_SPEEDSCOPE, {".speedscope.json", ".speedscope"}},
                                             {"memory_raw", OPD_TRACE_MEMORY_TIMELINE_RAW, {".memory.raw.json"}},
                                             {"memory", OPD_TRACE_MEMORY_TIMELINE, {".memory.json"}},
                                             {"memory_html", OPD_TRACE_MEMORY_TIMELINE_HTML, {".memory.html"}},
                                             {"chrome", OPD_TRACE_CHROME, {".json"}},
                                             {"perfetto", OPD_TRACE_PERFETTO, {".pftrace", ".perfetto-trace"}},
                                             {"otlp", OPD_TRACE_OTLP, {".otlp", ".otlp.pb"}},
                                             {"pprof", OPD_TRACE_PPROF, {".pb", ".pprof"}},
                                             {"html", OPD_TRACE_HTML, {".html", ".htm"}},
                                             {"flame", OPD_TRACE_FLAME_SVG, {".svg"}},
                                             {"stacks", OPD_TRACE_STACKS, {".stacks", ".folded"}},
                                             {"table", OPD_TRACE_TABLE, {".txt"}}};
  return all;
}

const TraceForm &trace_form(std::string_view name) {
  for (const TraceForm &form : trace_forms())
    if (form.name == name) return form;
  fail_usage(cat("--form: '", name, "' is none of ", names_of_all()));
}

bool is_gzip_file(const std::string &path) { return in_lower_case(path).ends_with(".gz"); }

const TraceForm &trace_form_of_file(const std::string &path) {
  std::string name = in_lower_case(path);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (const TraceForm &form : trace_forms())
    for (const std::string_view suffix : form.suffixes)
      if (name.ends_with(suffix)) return form;
  fail_usage(cat("the suffix of ", path, " names no form of a trace; name it by --form: ", names_of_all()));
}

}  // namespace opd::cli
