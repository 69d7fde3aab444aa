// Forms of reports and traces, by name and by the suffix of a file. On a terminal, a report gets a form that fits its
// width.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/args.h"
#include "cli/support/face.h"

namespace opd::cli {

enum class ReportForm { table, csv, json, markdown, html };

ReportForm report_form(std::string_view name);  // a value of --as; fails with Exit::usage
// The form by the suffix of `path`: x.html, x.csv … Prints a message for another suffix.
ReportForm report_form_of_file(const std::string &path, ReportForm otherwise);

opd_report_write_options write_options(const Args &args);
std::string written(const Report &report, ReportForm form, const opd_report_write_options &options);

// Whether standard output gets a summary: on a terminal and with --top, unless --wide is given.
bool wants_summary(const Args &args);
std::string summary_of(const Report &report, const Args &args, opd_report_write_options options);
// Returns the table for standard output, or its summary.
std::string shown_table(const Report &report, const Args &args);

// Writes the files of --csv, --chrome, --view and --flame.
void write_profile(const Args &args, const Profile &profile);

struct TraceForm {
  std::string_view name;  // of --form, and in requests to other processes
  opd_trace_format format;
  std::vector<std::string_view> suffixes;  // without ".gz"
};

// Both functions fail with Exit::usage if there is no such form.
const TraceForm &trace_form(std::string_view name);
const TraceForm &trace_form_of(const Args &args, const std::string &path);  // of --form, or of the path's suffix

}  // namespace opd::cli
