// Sets of runs on the command line, and what is said of their differences.
#pragma once
#include <string>
#include <vector>

#include "args.h"
#include "failure.h"
#include "handle.h"

namespace opd::cli {

using Diff = Handle<opd_diff>;

// Of a file: a report as JSON, one a line, or a text table. Fails with Exit::failed.
std::vector<Report> read_reports(const std::string &path);
// `words`: such files or folders of JSON ones, with commas between. Fails with Exit::failed.
std::vector<Report> read_runs(const std::string &words);

// An option that is a share, as "3%" or "0.03".
double share_of(const Args &args, std::string_view name, double otherwise);
opd_diff_options diff_options(const Args &args);  // of --min-effect

opd_diff_operator operator_of(const Diff &diff, size_t index);
std::string percent_text(double share);  // "+2.1 %"

enum class TableStyle { text, markdown };
std::string diff_table(const Diff &diff, TableStyle style);
// Of which operators the data cannot tell whether they are slower by more than `effect`, and how many runs could; "" of
// none.
std::string open_text(const Diff &diff, double effect, TableStyle style);
// Names the operators that are slower by more than --fail-above on standard error, for Exit::mismatch.
Exit judge(const Diff &diff, const Args &args, std::string_view command);

}  // namespace opd::cli
