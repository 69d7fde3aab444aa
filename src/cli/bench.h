// What `opdyno bench` measures: how, the times, and the forms in which they are shown.
#pragma once
#include <string>
#include <vector>

#include "failure.h"
#include "handle.h"
#include "quality.h"
#include "sweep.h"

namespace opd::cli {

using Benchmark = Handle<opd_benchmark>;

// What the options say. Fails with Exit::usage.
struct BenchPlan {
  opd_evaluator_options options;
  bool is_sweep;

  static BenchPlan from(const Args &args);
};

struct BenchRow {
  BenchRow(Sizes sizes, Benchmark times);

  Sizes sizes;  // of the sweep; none without one
  Benchmark times;
  opd_benchmark_stats stats{};
};

struct BenchResult {
  std::string function;
  BenchPlan plan;
  std::vector<BenchRow> rows;  // one at least
  std::vector<MachineQuality::Entry> quality;
};

std::string bench_json(const BenchResult &result);
std::string bench_csv(const BenchResult &result);
std::string bench_text(const BenchResult &result);

// What --json printed before, to compare with.
class BenchBase {
 public:
  // Fails with Exit::failed for a file that holds something else.
  explicit BenchBase(const std::string &path);
  // Fails with Exit::failed unless there is a row for each of `rows`, measured in the same way.
  void check_fits(const BenchPlan &plan, const std::vector<Sizes> &rows) const;
  // Prints what changed where `is_printed`, and tells what is too slow. Exit::mismatch if something is.
  Exit compare(const BenchResult &result, const Args &args, bool is_printed) const;

 private:
  const Benchmark *find(const Sizes &sizes) const;

  struct Row {
    Sizes sizes;
    Benchmark times;
  };
  std::string path_;
  std::vector<Row> rows_;
  bool is_sweep_ = false;
  int64_t concurrency_ = 1, flushed_bytes_ = 0;
};

}  // namespace opd::cli
