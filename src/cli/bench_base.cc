// An earlier result of `opdyno bench --json`, to compare with.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench.h"
#include "file.h"
#include "json.h"
#include "runs.h"

namespace opd::cli {

namespace {

// The mean of each repeat, to which each thread gave a result.
Benchmark read_times(const cJSON *row, const std::string &path, size_t threads) {
  const cJSON *results = json_member(row, "results_us"), *one = nullptr;
  std::vector<double> seconds;
  cJSON_ArrayForEach(one, results) {
    if (!cJSON_IsNumber(one)) throw Failure(Exit::failed, cat(path, ": results_us holds something else than numbers"));
    seconds.push_back(one->valuedouble * 1e-6);
  }
  if (!cJSON_IsArray(results) || seconds.empty())
    throw Failure(Exit::failed, cat(path, " is not what bench --json prints: it lacks results_us"));
  if (seconds.size() % threads)
    throw Failure(Exit::failed, cat(path, ": results_us has ", seconds.size(), " results of ", threads, " threads"));
  for (size_t i = 0; i < seconds.size(); i += threads)
    seconds[i / threads] = std::accumulate(&seconds[i], &seconds[i] + threads, 0.0) / static_cast<double>(threads);
  seconds.resize(seconds.size() / threads);
  Benchmark made;
  check(opd_benchmark_create(seconds.data(), seconds.size(), made.out()), Exit::failed, path);
  return made;
}

Sizes read_sizes(const cJSON *row, const std::string &path) {
  Sizes sizes;
  const cJSON *one = nullptr;
  cJSON_ArrayForEach(one, json_member(row, "sizes")) {
    if (!cJSON_IsNumber(one) || !one->string || !(one->valuedouble >= 0 && one->valuedouble < 9e18))
      throw Failure(Exit::failed, cat(path, ": sizes holds something else than sizes"));
    sizes.emplace_back(one->string, static_cast<int64_t>(one->valuedouble));
  }
  return sizes;
}

int64_t read_setting(const cJSON *all, const char *name, int64_t otherwise) {
  const cJSON *number = json_member(all, name);
  return cJSON_IsNumber(number) && std::abs(number->valuedouble) < 9e18 ? static_cast<int64_t>(number->valuedouble)
                                                                        : otherwise;
}

}  // namespace

BenchBase::BenchBase(const std::string &path) : path_(path) {
  const std::string text = read_file(path);
  const Json json(cJSON_ParseWithLength(text.data(), text.size()));
  const cJSON *rows = json_member(json.get(), "rows"), *row = nullptr;
  concurrency_ = std::max<int64_t>(1, read_setting(json.get(), "concurrency", 1));
  flushed_bytes_ = read_setting(json.get(), "flushed_bytes", 0);
  const auto threads = static_cast<size_t>(concurrency_);
  is_sweep_ = cJSON_IsArray(rows);
  if (!is_sweep_) rows_.push_back({{}, read_times(json.get(), path, threads)});
  cJSON_ArrayForEach(row, rows) rows_.push_back({read_sizes(row, path), read_times(row, path, threads)});
}

const Benchmark *BenchBase::find(const Sizes &sizes) const {
  const auto sorted = [](Sizes all) { return std::sort(all.begin(), all.end()), all; };
  for (const Row &row : rows_)
    if (sorted(row.sizes) == sorted(sizes)) return &row.times;
  return nullptr;
}

void BenchBase::check_fits(const BenchPlan &plan, const std::vector<Sizes> &rows) const {
  const auto refuse = [&](auto... parts) { throw Failure(Exit::usage, cat(path_, " ", parts...)); };
  if (is_sweep_ != plan.is_sweep)
    refuse(is_sweep_ ? "holds a sweep over sizes; compare it with the same --sweep"
                     : "holds no sweep; compare it without --sweep");
  if (concurrency_ != plan.options.concurrency)
    refuse("was measured with ", counted(concurrency_, "thread"), "; compare it with --concurrency ", concurrency_);
  if ((flushed_bytes_ > 0) != (plan.options.cache_flush_bytes > 0))
    refuse(flushed_bytes_ > 0 ? "was measured with cold caches; compare it with --flush-cache"
                              : "was measured with warm caches; compare it without --flush-cache");
  for (const Sizes &sizes : rows)
    if (!find(sizes)) refuse("has no row for ", sizes_text(sizes));
}

// Each row is a test of its own; so that all of them together err no more often than one, each may err less often.
Exit BenchBase::compare(const BenchResult &result, const Args &args, bool is_printed) const {
  opd_diff_options options = diff_options(args);
  options.level /= static_cast<double>(result.rows.size());
  Exit code = Exit::ok;
  for (const BenchRow &row : result.rows) {
    Diff diff;
    check(opd_benchmark_diff(find(row.sizes)->get(), row.times.get(), &options, diff.out()), Exit::failed);
    if (is_printed)
      print(cat("\n", row.sizes.empty() ? "" : cat(sizes_text(row.sizes), ":\n"), diff_table(diff, TableStyle::text),
                open_text(diff, share_of(args, "fail-above", options.min_effect))));
    const Exit its = judge(diff, args, row.sizes.empty() ? "bench" : cat("bench, ", sizes_text(row.sizes)));
    if (its != Exit::ok) code = its;
  }
  return code;
}

}  // namespace opd::cli
