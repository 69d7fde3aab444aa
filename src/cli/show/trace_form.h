// Forms of traces, by name and by the suffix of a file.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/face.h"

namespace opd::cli {

struct TraceForm {
  std::string_view name;  // of --form, and in requests to other processes
  opd_trace_format format;
  std::vector<std::string_view> suffixes;  // without ".gz"
};

const std::vector<TraceForm> &trace_forms();
// Both fail with Exit::usage if there is none.
const TraceForm &trace_form(std::string_view name);
const TraceForm &trace_form_of_file(const std::string &path);
bool is_gzip_file(const std::string &path);  // "….gz"

}  // namespace opd::cli
