// Sets of runs on the command line, and the options to compare them.
#pragma once
#include <string>
#include <vector>

#include "cli/support/args.h"
#include "cli/support/face.h"

namespace opd::cli {

// Reads a file: a report as JSON, one report per line, or a text table. Fails with Exit::failed.
std::vector<Report> read_reports(const std::string &path);
// `words`: such files, files of recordings, or directories of JSON files, separated by commas. `view`: the meaning of a
// row in a run from a recording. Fails with Exit::failed.
std::vector<Report> read_runs(const std::string &words, opd_trace_view view);

// Whether all of the files, separated by commas, are recordings of a profiler.
bool are_recordings(const std::string &words);
Trace read_recording(const std::string &path);  // fails with Exit::refused

// The value of an option for a share: "3%", or a fraction below 1 such as "0.03". Fails with Exit::usage.
double share_of(const Args &args, std::string_view name, double otherwise);
opd_diff_options diff_options(const Args &args);  // from --min-effect, --min-share, --fail-above and --paired

}  // namespace opd::cli
