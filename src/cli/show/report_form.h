// Output forms of reports. Files get the form of their suffix; a terminal gets a form that fits its width.
#pragma once
#include <string>
#include <string_view>

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
// The table for standard output, or its summary.
std::string shown_table(const Report &report, const Args &args);

}  // namespace opd::cli
