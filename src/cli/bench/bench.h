// `opdyno bench`: its options, the measured times, and their output forms.
#pragma once
#include <string>
#include <vector>

#include "cli/bench/machine_quality.h"
#include "cli/load/runner.h"
#include "cli/load/target.h"
#include "cli/show/diff_view.h"
#include "cli/support/face.h"
#include "cli/support/failure.h"
#include "cli/support/json.h"

namespace opd::cli {

// The settings from the options. Fails with Exit::usage.
struct BenchPlan {
  opd_evaluator_options options;
  bool is_sweep;

  static BenchPlan from(const Args &args);
  // The settings for TVM's servers, which warm up with one call. Fails with Exit::usage if the options ask for more.
  BenchPlan for_tvms(const Args &args) const;
};

struct BenchRow {
  Sizes sizes;                         // sizes of the sweep; empty without one
  std::vector<std::string> arguments;  // tensors as "float32[2, 3]", other values as text
  Benchmark times;
  opd_benchmark_stats stats = times.stats();
  std::optional<DiffView> diff = {};  // change since the base
};

struct BenchResult {
  std::string function;
  int64_t threads;  // threads of parallel kernels; 0: unknown
  BenchPlan plan;
  std::vector<BenchRow> rows;  // at least one
  std::vector<MachineQuality::Entry> quality;
  std::string machine = {};  // the machine's name
};

// Parts of the text form.
std::string time_text(double seconds);                                         // has a unit that fits
std::string columns_text(const std::vector<std::vector<std::string>> &cells);  // the first line has the titles
std::string clock_name(const opd_benchmark_stats &stats);                      // "device" or "host"
std::string rate_text(double rate);
std::string interval_text(const opd_benchmark_stats &is);                                 // interval of the median
std::string machine_text(const std::vector<MachineQuality::Entry> &quality);              // one line
void write_quality(JsonWriter &json, const std::vector<MachineQuality::Entry> &quality);  // a member: "quality"

Exit run_bench_copies(const Args &args);  // --copies

std::string bench_json(const BenchResult &result);
std::string bench_csv(const BenchResult &result);
std::string bench_text(const BenchResult &result);
// The changes against the base; "" without a base.
std::string bench_changes(const BenchResult &result);

}  // namespace opd::cli
