// Reads reports as runs: for each operator one sum per run.
#include <array>
#include <cfloat>
#include <cmath>
#include <unordered_map>

#include "stats/diff.h"

namespace opd {
namespace {

constexpr size_t kNoText = SIZE_MAX;
constexpr std::string_view kTurn = "Turn";

struct KeyHash {
  size_t operator()(const std::array<size_t, 3> &key) const {
    size_t hash = 0;
    for (const size_t part : key) hash = (hash ^ part) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return hash;
  }
};

std::string key_of(std::string_view name, std::string_view shapes, std::string_view device) {
  return concat(name, '\0', shapes, '\0', device);
}

double value_of(Metric metric) { return metric.is_integer() ? static_cast<double>(metric.count()) : metric.number(); }

int64_t turn_of(Metric metric) { return metric.is_integer() && metric.count() >= 0 ? metric.count() : -1; }

// The turn in a report of one run. A merged report has a column instead.
int64_t turn_of(const Report &report) {
  for (const auto &[key, metric] : report.configuration())
    if (key == kTurn) return turn_of(metric);
  return -1;
}

// The cells of a report that a diff needs, row by row.
struct RunRow {
  explicit RunRow(const Report &report, const DiffOptions &options)
      : values(report.find_column(options.metric)),
        selves(options.is_time() ? report.find_column(kSelfColumn) : nullptr),
        depths(inner_column(report, options, kDepthColumn)),
        recursive(inner_column(report, options, kRecursiveColumn)),
        counts(report.find_column("Count")),
        names(report.find_column("Name")),
        shapes(report.find_column("Argument Shapes")),
        devices(report.find_column("Device")),
        runs(report.find_column("Run")),
        turns(report.find_column(kTurn)) {}

  void read(size_t row) {
    const auto text_place = [row](Cells &cells) {
      const Metric cell = cells.at(row);
      return cell.is_text() ? cell.text() : kNoText;
    };
    texts = {text_place(names), text_place(shapes), text_place(devices)};
    value = values.at(row), self = selves.at(row), count = counts.at(row), run = runs.at(row), turn = turns.at(row);
    is_nested = is_positive(depths.at(row)), is_recursive = is_positive(recursive.at(row));
  }

  std::array<size_t, 3> texts{};  // name, shapes, device: places among the texts of the report, or kNoText
  Metric value, self, count, run, turn;
  // For metrics that include nested calls. is_nested: another row's value includes this one. is_recursive: that row is
  // of the same operator.
  bool is_nested = false, is_recursive = false;

 private:
  static const Column *inner_column(const Report &report, const DiffOptions &options, std::string_view name) {
    return meaning_of_column(options.metric).includes_inner ? report.find_column(name) : nullptr;
  }
  static bool is_positive(Metric metric) { return metric.kind == MetricKind::kCount && metric.count() > 0; }

  Cells values, selves, depths, recursive, counts, names, shapes, devices, runs, turns;
};

class RunReader {
 public:
  RunReader(Diff &diff, RunValues DiffOperator::*side, std::vector<int64_t> &turns, std::vector<double> &program_calls,
            std::string_view name)
      : diff_(diff), side_(side), turns_(turns), program_calls_(program_calls), side_name_(name) {}

  // Adds a report. Its runs follow those of earlier reports.
  void add(const Report &report) {
    if (num_reports_ == 0)
      for (size_t i = 0; i < diff_.operators.size(); ++i)
        operators_.emplace(key_of(diff_.operators[i].name, diff_.operators[i].shapes, diff_.operators[i].device), i);
    const size_t place = num_reports_++;
    const std::string &metric = diff_.options.metric;
    const bool has_runs = report.find_column("Run") != nullptr;
    if (!report.find_column(metric) && report.num_rows())
      fail(OPD_NOT_FOUND, "report ", place, " of those ", side_name_, " has no column \"", metric, "\"");
    const auto text = [&](size_t part) { return part == kNoText ? std::string_view() : report.text(part); };
    std::unordered_map<std::array<size_t, 3>, size_t, KeyHash> known;  // equal texts have equal places
    runs_.clear();
    RunRow cells(report, diff_.options);
    for (size_t row = 0; row < report.num_rows(); ++row) {
      cells.read(row);
      const auto &key = cells.texts;
      if (has_runs && !cells.run) continue;                      // a row for all runs together
      if (report.row_kind(row) == RowKind::kProfiler) continue;  // the recording's time, not the program's
      const uint32_t run = run_of(report, cells);
      if (!cells.value) continue;
      if (cells.value.is_text() || !(value_of(cells.value) >= 0) || std::isinf(value_of(cells.value)))
        fail(OPD_INVALID_ARGUMENT, "row ", row, " of report ", place, " of those ", side_name_, " has a \"", metric,
             "\" that is not a number from 0");
      const auto [found, is_first] = known.emplace(key, 0);
      if (is_first) {
        const auto [entry, is_new] =
            operators_.emplace(key_of(text(key[0]), text(key[1]), text(key[2])), diff_.operators.size());
        if (is_new) {
          DiffOperator &made = diff_.operators.emplace_back();
          made.name = text(key[0]), made.shapes = text(key[1]), made.device = text(key[2]);
        }
        found->second = entry->second;
      }
      const double value = value_of(cells.value), calls = cells.count.is_integer() ? value_of(cells.count) : 1;
      if (report.row_kind(row) == RowKind::kDispatch) program_calls_[run] += calls;  // counts calls of the program
      (diff_.operators[found->second].*side_).add(run, cells.is_recursive ? 0 : value, calls);
      // The time of a function includes the functions that it calls. The total must not count them twice.
      const bool has_self = cells.self.is_number() && value_of(cells.self) >= 0 && std::isfinite(value_of(cells.self));
      (diff_.total.*side_).add(run, has_self ? value_of(cells.self) : cells.is_nested ? 0 : value, calls);
    }
    if (!runs_.empty()) return;
    turns_.push_back(turn_of(report));  // a run may have no calls
    program_calls_.push_back(0);
  }

 private:
  uint32_t run_of(const Report &report, const RunRow &row) {
    const auto number = static_cast<uint32_t>(turns_.size());
    const auto [found, is_new] = runs_.emplace(row.run ? row.run.bits : ~uint64_t{0}, number);
    if (is_new) {
      turns_.push_back(row.turn ? turn_of(row.turn) : turn_of(report));
      program_calls_.push_back(0);
    }
    return found->second;
  }

  Diff &diff_;
  RunValues DiffOperator::*side_;
  std::vector<int64_t> &turns_;         // one per run
  std::vector<double> &program_calls_;  // one per run
  std::string_view side_name_;
  size_t num_reports_ = 0;
  std::unordered_map<std::string, size_t> operators_;  // key to index in the diff
  std::unordered_map<uint64_t, uint32_t> runs_;        // runs of the current report
};

}  // namespace

// Sums stop at the largest number instead of becoming infinite: no test can use infinite values.
void RunValues::add(uint32_t run, double value, double num_calls) {
  auto place = runs.end();
  if (!runs.empty() && runs.back() >= run) place = std::lower_bound(runs.begin(), runs.end(), run);
  const auto index = place - runs.begin();
  if (place == runs.end() || *place != run) {
    runs.insert(place, run);
    values.insert(values.begin() + index, 0);
    calls.insert(calls.begin() + index, 0);
  }
  double &sum = values[static_cast<size_t>(index)];
  sum = std::min(sum + value, DBL_MAX);
  calls[static_cast<size_t>(index)] += num_calls;
}

Ref<Diff> Diff::of_reports(std::span<const Report *const> before, std::span<const Report *const> after,
                           DiffOptions options) {
  auto diff = make_object<Diff>(std::move(options));
  RunReader old_runs(*diff, &DiffOperator::before, diff->turns_before, diff->program_calls_before, "before");
  for (const Report *report : before) old_runs.add(*report);
  RunReader new_runs(*diff, &DiffOperator::after, diff->turns_after, diff->program_calls_after, "after");
  for (const Report *report : after) new_runs.add(*report);
  diff->add_computed_rows();
  diff->divide_by_program_calls();
  diff->compare();
  return diff;
}

void Diff::add_computed_rows() {
  DiffOperator replaced;
  replaced.kind = DiffRow::kReplaced, replaced.name = "(replaced)";
  const auto add = [](RunValues &sum, const RunValues &one) {
    for (size_t i = 0; i < one.runs.size(); ++i) sum.add(one.runs[i], one.values[i], one.calls[i]);
  };
  for (const DiffOperator &one : operators) {
    if (one.is_tested()) continue;
    add(replaced.before, one.before);
    add(replaced.after, one.after);
  }
  if (replaced.is_tested()) operators.push_back(std::move(replaced));
  total.kind = DiffRow::kTotal, total.name = "(total)";
  if (operators.size() > 1) operators.push_back(std::move(total));  // a single operator is the total
}

// Sums over ten calls of the program cannot be compared with sums over one. If the number of program calls is known for
// all runs, and it differs, times and calls are divided by it.
void Diff::divide_by_program_calls() {
  double least = INFINITY, most = 0;
  for (const auto *side : {&program_calls_before, &program_calls_after})
    for (const double calls : *side) least = std::min(least, calls), most = std::max(most, calls);
  is_per_call_ = least > 0 && least < most;
  if (!is_per_call_) return;
  const auto divide = [](RunValues &side, const std::vector<double> &program_calls) {
    for (size_t i = 0; i < side.runs.size(); ++i) {
      side.values[i] /= program_calls[side.runs[i]];
      side.calls[i] /= program_calls[side.runs[i]];
    }
  };
  for (DiffOperator &one : operators) {
    divide(one.before, program_calls_before);
    divide(one.after, program_calls_after);
  }
}

// If each run of both sides has a distinct turn, runs of the same turn are pairs. Otherwise runs are paired in their
// order, if requested.
void Diff::find_pairs() {
  using Places = std::unordered_map<int64_t, uint32_t>;
  std::string obstacle;
  const auto places_of = [&](const std::vector<int64_t> &turns, std::string_view side) {
    Places places;
    for (uint32_t run = 0; run < turns.size(); ++run) {
      if (turns[run] < 0) obstacle = concat("run ", run, " ", side, " has no turn");
      else if (!places.emplace(turns[run], run).second) obstacle = concat("turn ", turns[run], " occurs twice ", side);
    }
    return places;
  };
  const Places before = places_of(turns_before, "before"), after = places_of(turns_after, "after");
  const bool has_turns = !before.empty() && !after.empty();
  if (has_turns && obstacle.empty()) {
    for (uint32_t run = 0; run < num_before(); ++run)
      if (const auto found = after.find(turns_before[run]); found != after.end())
        pairs_.emplace_back(run, found->second);
    if (pairs_.empty()) obstacle = "no turn occurs both before and after";
  }
  if (pairs_.empty() && options.is_paired) {
    if (num_before() != num_after())
      fail(OPD_INVALID_ARGUMENT,
           "runs without turns can be compared in pairs only if both sides have as many, but there are ", num_before(),
           " before and ", num_after(), " after");
    for (uint32_t run = 0; run < num_before(); ++run) pairs_.emplace_back(run, run);
  } else if (pairs_.empty() && has_turns) {
    pairing_note_ = concat("The runs are not compared as pairs, though they have turns: ", obstacle, ".");
  }
  is_paired_ = !pairs_.empty();
}

}  // namespace opd
