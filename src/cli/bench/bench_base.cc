// An earlier result of `opdyno bench --json`, for comparison.
#include <algorithm>
#include <numeric>

#include "cli/bench/bench.h"
#include "cli/support/file.h"
#include "cli/support/json.h"

namespace opd::cli {

namespace {

[[noreturn]] void fail_file(std::string problem) { throw Failure(Exit::failed, std::move(problem), OPD_BAD_FORMAT); }

// Reads the mean of each repeat; each thread has one result per repeat.
Benchmark read_times(const cJSON *row, const std::string &path, size_t threads) {
  const cJSON *results = json_member(row, "results_us"), *one = nullptr;
  std::vector<double> seconds;
  cJSON_ArrayForEach(one, results) {
    if (!cJSON_IsNumber(one)) fail_file(cat(path, ": results_us holds something else than numbers"));
    seconds.push_back(one->valuedouble * 1e-6);
  }
  if (!cJSON_IsArray(results) || seconds.empty())
    fail_file(cat(path, " is not what bench --json prints: it lacks results_us"));
  if (seconds.size() % threads)
    fail_file(cat(path, ": results_us has ", seconds.size(), " results of ", threads, " threads"));
  for (size_t i = 0; i < seconds.size(); i += threads)
    seconds[i / threads] = std::accumulate(&seconds[i], &seconds[i] + threads, 0.0) / static_cast<double>(threads);
  seconds.resize(seconds.size() / threads);
  return attempt(Exit::failed, path, [&] { return Benchmark::of(seconds); });
}

Sizes read_sizes(const cJSON *row, const std::string &path) {
  Sizes sizes;
  const cJSON *one = nullptr;
  cJSON_ArrayForEach(one, json_member(row, "sizes")) {
    if (!cJSON_IsNumber(one) || !one->string || !(one->valuedouble >= 0 && one->valuedouble < 9e18))
      fail_file(cat(path, ": sizes holds something else than sizes"));
    sizes.emplace_back(one->string, static_cast<int64_t>(one->valuedouble));
  }
  return sizes;
}

std::optional<int64_t> read_setting(const cJSON *all, const char *name, int64_t least, const std::string &path) {
  constexpr int64_t most = int64_t{1} << 53;
  const cJSON *number = json_member(all, name);
  if (!number) return std::nullopt;
  if (cJSON_IsNumber(number) && number->valuedouble >= static_cast<double>(least) &&
      number->valuedouble <= static_cast<double>(most))
    if (const auto whole = static_cast<int64_t>(number->valuedouble); static_cast<double>(whole) == number->valuedouble)
      return whole;
  fail_file(cat(path, ": ", name, " is no whole number from ", least, " to ", most));
}

std::optional<std::string> read_text(const cJSON *all, const char *name, const std::string &path) {
  const cJSON *text = json_member(all, name);
  if (!text) return std::nullopt;
  if (!cJSON_IsString(text)) fail_file(cat(path, ": ", name, " is no text"));
  return text->valuestring;
}

std::optional<std::vector<std::string>> read_arguments(const cJSON *row, const std::string &path) {
  const cJSON *arguments = json_member(row, "arguments"), *one = nullptr;
  if (!arguments) return std::nullopt;
  std::vector<std::string> texts;
  bool is_good = cJSON_IsArray(arguments);
  cJSON_ArrayForEach(one, arguments) {
    is_good &= cJSON_IsString(one) != 0;
    if (is_good) texts.emplace_back(one->valuestring);
  }
  if (!is_good) fail_file(cat(path, ": arguments holds something else than texts"));
  return texts;
}

std::string arguments_text(const std::vector<std::string> &arguments) {
  return arguments.empty() ? "no arguments" : printable(join(arguments, ", "));
}

}  // namespace

BenchBase::BenchBase(const std::string &path) : path_(path) {
  const std::string text = read_file(path);
  const Json json(cJSON_ParseWithLength(text.data(), text.size()));
  const cJSON *rows = json_member(json.get(), "rows"), *row = nullptr;
  concurrency_ = read_setting(json.get(), "concurrency", 1, path).value_or(1);
  flushed_bytes_ = read_setting(json.get(), "flushed_bytes", 0, path);
  threads_ = read_setting(json.get(), "threads", 1, path);
  function_ = read_text(json.get(), "function", path);
  const auto threads = static_cast<size_t>(concurrency_);
  is_sweep_ = cJSON_IsArray(rows);
  const auto add = [&](const cJSON *its) {
    rows_.push_back({read_sizes(its, path), read_arguments(its, path), read_text(its, "clock", path),
                     read_times(its, path, threads)});
  };
  if (!is_sweep_) add(json.get());
  cJSON_ArrayForEach(row, rows) add(row);
}

const BenchBase::Row *BenchBase::find(const Sizes &sizes) const {
  const auto sorted = [](Sizes all) { return std::sort(all.begin(), all.end()), all; };
  for (const Row &row : rows_)
    if (sorted(row.sizes) == sorted(sizes)) return &row;
  return nullptr;
}

void BenchBase::refuse(const std::string &why) const { fail_usage(cat(path_, " ", why)); }

void BenchBase::check_fits(const BenchPlan &plan, const std::vector<Sizes> &rows) const {
  if (is_sweep_ != plan.is_sweep)
    refuse(is_sweep_ ? "holds a sweep over sizes; compare it with the same --sweep"
                     : "holds no sweep; compare it without --sweep");
  if (concurrency_ != plan.options.concurrency)
    refuse(
        cat("was measured with ", counted(concurrency_, "thread"), "; compare it with --concurrency ", concurrency_));
  if (flushed_bytes_.value_or(plan.options.cache_flush_bytes) != plan.options.cache_flush_bytes)
    refuse(*flushed_bytes_ > 0 ? cat("was measured with cold caches, ", *flushed_bytes_,
                                     " bytes copied before each call; compare it with --flush-cache=", *flushed_bytes_)
                               : "was measured with warm caches; compare it without --flush-cache");
  for (const Sizes &sizes : rows)
    if (!find(sizes)) refuse(cat("has no row for ", sizes_text(sizes)));
}

void BenchBase::check_function(const std::string &function, int64_t threads) const {
  if (function_.value_or(function) != function)
    refuse(cat("measured the function ", printable(*function_), ", not ", printable(function)));
  if (threads && threads_.value_or(threads) != threads)
    refuse(cat("was measured with ", counted(*threads_, "thread"), " of parallel kernels, not ", threads,
               "; compare it with --threads ", *threads_));
}

void BenchBase::check_arguments(const Sizes &sizes, const std::vector<std::string> &arguments) const {
  const Row &row = *find(sizes);
  if (row.arguments.value_or(arguments) != arguments)
    refuse(cat("was measured with other arguments", sizes.empty() ? "" : cat(" at ", sizes_text(sizes)), ": ",
               arguments_text(*row.arguments), ", not ", arguments_text(arguments)));
}

// Each row has its own test. The level is divided among the tests, so that all together err no more often than one.
void BenchBase::compare(BenchResult &result, opd_diff_options options) const {
  options.level /= static_cast<double>(result.rows.size());
  for (BenchRow &row : result.rows) {
    const Row &base = *find(row.sizes);
    if (base.clock.value_or(clock_name(row.stats)) != clock_name(row.stats))
      refuse(cat("was measured by the ", printable(*base.clock), "'s clock, not by the ", clock_name(row.stats), "'s"));
    row.diff.emplace(Benchmark::diff(base.times, row.times, &options), options);
  }
}

}  // namespace opd::cli
