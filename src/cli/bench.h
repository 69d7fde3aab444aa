// `opdyno bench`: its options, the measured times, and their output forms.
#pragma once
#include <string>
#include <vector>

#include "diff_view.h"
#include "face.h"
#include "failure.h"
#include "machine_noise.h"
#include "runs.h"
#include "sweep.h"

namespace opd::cli {

// The settings by the options. Fails with Exit::usage.
struct BenchPlan {
  opd_evaluator_options options;
  bool is_sweep;

  static BenchPlan from(const Args &args);
};

struct BenchRow {
  BenchRow(Sizes sizes, std::vector<std::string> arguments, Benchmark times);

  Sizes sizes;                         // of the sweep; empty without one
  std::vector<std::string> arguments;  // tensors as "float32[2, 3]", other values as text
  Benchmark times;
  opd_benchmark_stats stats;
  std::optional<DiffView> diff;  // against the base
};

struct BenchResult {
  std::string function;
  int64_t threads;  // of parallel kernels
  BenchPlan plan;
  std::vector<BenchRow> rows;  // at least one
  std::vector<MachineQuality::Entry> quality;
};

// Pieces of the text form.
std::string time_text(double seconds);                                         // in a fitting unit
std::string columns_text(const std::vector<std::vector<std::string>> &cells);  // the first line has the titles
std::string machine_text(const std::vector<MachineQuality::Entry> &quality);   // a line

Exit run_bench_copies(const Args &args);  // --copies

std::string bench_json(const BenchResult &result);
std::string bench_csv(const BenchResult &result);
std::string bench_text(const BenchResult &result);
// The changes against the base; "" without a base.
std::string bench_changes(const BenchResult &result);

// An earlier output of --json, for comparison.
class BenchBase {
 public:
  // Fails with Exit::failed for a file of other content.
  explicit BenchBase(const std::string &path);
  // These fail with Exit::usage if the base was measured in another way; settings that the file lacks count as equal.
  // The base must have a row for each of `rows`.
  void check_fits(const BenchPlan &plan, const std::vector<Sizes> &rows) const;
  void check_function(const std::string &function, int64_t threads) const;
  void check_arguments(const Sizes &sizes, const std::vector<std::string> &arguments) const;
  // Adds to each row its change.
  void compare(BenchResult &result, opd_diff_options options) const;

 private:
  struct Row {
    Sizes sizes;
    std::optional<std::vector<std::string>> arguments;
    Benchmark times;
  };
  const Row *find(const Sizes &sizes) const;
  [[noreturn]] void refuse(const std::string &why) const;

  std::string path_;
  std::vector<Row> rows_;
  bool is_sweep_ = false;
  int64_t concurrency_ = 1;
  std::optional<int64_t> flushed_bytes_, threads_;
  std::optional<std::string> function_;
};

}  // namespace opd::cli
