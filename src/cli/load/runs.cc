// Sets of runs on the command line, and the options to compare them.
#include "cli/load/runs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/load/report_csv.h"
#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::optional<Report> try_parse(std::string_view json) {
  try {
    return Report::from_json(json);
  } catch (const opdyno::Error &) { return std::nullopt; }
}

}  // namespace

// A report may span several lines; if the file has one report per line,
// its first line is a complete one.
std::vector<Report> read_reports(const std::string &path) {
  const std::string text = read_file(path), name = path == "-" ? "standard input" : path;
  const std::string_view all = trim(text);
  if (is_report_csv(all)) {
    std::vector<Report> only;
    only.push_back(report_of_csv(all, name));
    return only;
  }
  const size_t first_end = all.find('\n');
  if (first_end == std::string_view::npos || !try_parse(all.substr(0, first_end)))
    return {attempt(Exit::failed, name, [&] { return Report::from_json(all); })};
  std::vector<Report> reports;
  size_t number = 1;
  for (size_t begin = 0, end; begin < all.size(); begin = end + 1, ++number) {
    end = std::min(all.find('\n', begin), all.size());
    const std::string_view line = trim(all.substr(begin, end - begin));
    if (line.empty()) continue;
    reports.push_back(attempt(Exit::failed, cat(name, ", line ", number), [&] { return Report::from_json(line); }));
  }
  return reports;
}

// A killed process may have left no complete block except those in FILE.live.
bool are_recordings(const std::string &words) {
  constexpr std::string_view kMagic = "opdynoE1";
  const auto begins_so = [&](const std::string &path) {
    char begin[kMagic.size()];
    std::ifstream file(path, std::ios::binary);
    return file.read(begin, sizeof begin) && std::string_view(begin, sizeof begin) == kMagic;
  };
  return std::ranges::all_of(split(words, ','), [&](std::string_view word) {
    const std::string path(word);
    return std::filesystem::is_regular_file(path) && (begins_so(path) || begins_so(path + ".live"));
  });
}

Trace read_recording(const std::string &path) {
  return attempt(Exit::refused, path, [&] { return Trace::load(path.c_str()); });
}

std::vector<Report> read_runs(const std::string &words, opd_trace_view view) {
  namespace fs = std::filesystem;
  std::vector<Report> reports;
  const auto add = [&](const std::string &path) {
    for (Report &report : read_reports(path)) reports.push_back(std::move(report));
  };
  for (const std::string_view word : split(words, ',')) {
    if (word.empty()) fail_usage(cat("'", words, "' has an empty file name; separate names by a comma alone"));
    if (are_recordings(std::string(word))) {
      reports.push_back(read_recording(std::string(word)).report(view));
      continue;
    }
    std::error_code error;
    if (!fs::is_directory(fs::path(word), error)) {
      add(std::string(word));
      continue;
    }
    std::vector<std::string> files;
    for (fs::directory_iterator entry(fs::path(word), error), end; !error && entry != end; entry.increment(error))
      if (const auto type = entry->path().extension(); type == ".json" || type == ".jsonl")
        files.push_back(entry->path().string());
    if (error) fail_errno("read", word, error.value());
    if (files.empty()) throw Failure(Exit::failed, cat("the directory ", word, " holds no .json or .jsonl files"));
    std::sort(files.begin(), files.end());
    for (const std::string &file : files) add(file);
  }
  return reports;
}

double share_of(const Args &args, std::string_view name, double otherwise) {
  const std::optional<std::string> text = args.value(name);
  if (!text) return otherwise;
  const bool in_percent = text->ends_with('%');
  const std::optional<double> number = read_double(trim(std::string_view(*text).substr(0, text->size() - in_percent)));
  if (!number || !(*number >= 0) || *number > 1e5)
    fail_usage(cat("option '--", name, "' takes a share as 3% or 0.03, not '", *text, "'"));
  if (!in_percent && *number >= 1)
    fail_usage(cat("option '--", name, "' takes a share as 3% or 0.03, and ", *text, " without a % would be ",
                   significant(*number * 100, 6), " %; write ", *text, "%, or ", significant(*number * 100, 6),
                   "% if that is meant"));
  return in_percent ? *number / 100 : *number;
}

opd_diff_options diff_options(const Args &args) {
  auto options = opdyno::defaults(opd_diff_options_init);
  options.min_effect = share_of(args, "min-effect", options.min_effect);
  options.min_share = share_of(args, "min-share", options.min_share);
  if (options.min_share > 1) fail_usage("option '--min-share' takes a share of the time, at most 100%");
  options.fail_above = share_of(args, "fail-above", options.fail_above);
  options.is_paired = args.has("paired");
  return options;
}

}  // namespace opd::cli
