#include "report/run_medians.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace opd {
namespace {

constexpr double kMostWaited = 0.01;  // a run waited if more than this part of its time was waiting
constexpr size_t kEnoughRuns = 5;     // fewer runs without a wait are not shown alone, unless they are half of all

struct Run {
  double us = 0, waited_us = 0;
  double placed_us = 0;  // the part of waited_us that belongs to rows whose time contains it
  bool waited() const { return waited_us > kMostWaited * us; }
};

// The time of one group in one run. The waits of nested calls are in waited_us, but not in own_waited_us.
struct Part {
  uint32_t group, run;
  double us, self_us, waited_us, own_waited_us;
};

double amount_of(Metric metric) {
  constexpr double kMost = 1e100;  // so that sums of hostile numbers stay finite
  const double number = metric.is_integer()  ? static_cast<double>(metric.count())
                        : metric.is_number() ? metric.number()
                                             : 0;
  return std::isnan(number) ? 0 : std::clamp(number, 0.0, kMost);
}

// The median, and a 95 % interval of it: the normal approximation of the binomial ranks.
struct Median {
  Median() = default;
  explicit Median(std::vector<double> &values) : count(values.size()) {
    if (values.empty()) return;
    std::ranges::sort(values);
    const size_t half = count / 2;
    middle = count % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
    const double n = static_cast<double>(count), rank = (n - 1.96 * std::sqrt(n)) / 2;
    const auto from = static_cast<size_t>(std::max(0.0, std::floor(rank)));
    low = values[from], high = values[count - 1 - from];
  }
  size_t count = 0;
  double middle = 0, low = 0, high = 0;
};

// The waits of nested calls, for rows in the order of the calls' ends: a nested call comes before its caller.
class NestedWaits {
 public:
  double add(size_t depth, double own_us) {  // the wait of the row, with its nested calls
    constexpr size_t kMostDepth = 1024;
    if (depth >= kMostDepth) return own_us;
    if (open_.size() < depth + 2) open_.resize(depth + 2);
    const double all = own_us + std::exchange(open_[depth + 1], 0);
    open_[depth] += all;
    return all;
  }

 private:
  std::vector<double> open_;  // index: depth
};

class Reader {
 public:
  Reader(const Report &report, std::span<const uint32_t> group_of_row) : report_(report), groups_(group_of_row) {}

  // Returns false if the rows are not of several whole runs of a program.
  bool read() {
    if (!report_.find_column(kRepeatColumn) || !all_calls_are_there()) return false;
    std::map<int64_t, uint32_t> places;  // by number of the run
    size_t num_dispatch = 0;
    NestedWaits nested;
    Cells numbers(report_.find_column(kRepeatColumn)), times(report_.find_column(kTvmColumns[1])),
        selves(report_.find_column(kSelfColumn)), depths(report_.find_column(kDepthColumn)),
        recursive(report_.find_column(kRecursiveColumn)), waits(report_.find_column(kWaitedColumn)),
        merged(report_.find_column("Run"));
    for (size_t row = 0; row < report_.num_rows(); ++row) {
      const Metric run_number = merged.at(row), number = numbers.at(row), self = selves.at(row), depth = depths.at(row),
                   nest = recursive.at(row);
      const double us = amount_of(times.at(row)), waited = amount_of(waits.at(row));
      const bool is_merged = run_number && !(run_number == number);  // of several profiles
      if (!number.is_integer() || is_merged) return false;
      const auto [place, is_new] = places.try_emplace(number.count(), static_cast<uint32_t>(runs.size()));
      if (is_new) runs.emplace_back();
      Run &run = runs[place->second];
      num_dispatch += report_.row_kind(row) == RowKind::kDispatch;
      if (!(amount_of(depth) > 0)) run.us += us;
      run.waited_us += waited;
      const double own_us = self ? amount_of(self) : us, placed = std::min(own_us, waited);
      run.placed_us += placed;
      const double with_nested = nested.add(static_cast<size_t>(std::min(amount_of(depth), 1e6)), placed);
      // The time of a recursive call is in that of the outermost one.
      const bool counts = !(amount_of(nest) > 0);
      parts.push_back({groups_[row], place->second, counts ? us : 0, own_us, counts ? with_nested : 0, placed});
    }
    return num_dispatch > 1 && num_dispatch == runs.size();
  }

  std::vector<Run> runs;
  std::vector<Part> parts;  // one for each row

 private:
  bool all_calls_are_there() const {
    return std::ranges::none_of(report_.configuration(),
                                [](const auto &entry) { return entry.first == kDroppedEntry; });
  }

  const Report &report_;
  const std::span<const uint32_t> groups_;
};

// Joins the parts of one group in one run.
void join(std::vector<Part> &parts) {
  std::ranges::sort(parts, {}, [](const Part &part) { return uint64_t{part.group} << 32 | part.run; });
  size_t kept = 0;
  for (const Part &part : parts) {
    if (kept && parts[kept - 1].group == part.group && parts[kept - 1].run == part.run) {
      Part &into = parts[kept - 1];
      into.us += part.us, into.self_us += part.self_us;
      into.waited_us += part.waited_us, into.own_waited_us += part.own_waited_us;
    } else {
      parts[kept++] = part;
    }
  }
  parts.resize(kept);
}

// Decides which runs are shown.
void choose_runs(RunMedians &made, const std::vector<Run> &runs) {
  double us = 0, waited = 0, placed = 0;
  for (const Run &run : runs) {
    us += run.us, waited += std::min(run.us, run.waited_us), placed += run.placed_us;
    made.num_shown += !run.waited();
  }
  made.num_runs = runs.size();
  made.waited_share = us > 0 ? waited / us : 0;
  if (made.num_shown >= std::min(kEnoughRuns, (made.num_runs + 1) / 2)) return;
  made.num_shown = made.num_runs;
  made.subtracts = placed > waited / 2;  // else it is not known which operators waited
}

// The median of a group that is in each shown run, else the mean.
Median typical(std::vector<double> &values, size_t num_shown) {
  Median median(values);
  if (values.size() >= num_shown) return median;
  double sum = 0;
  for (const double value : values) sum += value;
  median.middle = sum / static_cast<double>(num_shown);
  return median;
}

}  // namespace

std::optional<RunMedians> run_medians(const Report &report, std::span<const uint32_t> group_of_row, size_t num_groups) {
  Reader read(report, group_of_row);
  if (!read.read()) return std::nullopt;
  RunMedians made;
  choose_runs(made, read.runs);
  const bool shows_all = made.num_shown == made.num_runs;
  const auto is_shown = [&](uint32_t run) { return shows_all || !read.runs[run].waited(); };

  std::vector<double> totals;
  for (uint32_t run = 0; run < read.runs.size(); ++run)
    if (is_shown(run)) totals.push_back(read.runs[run].us - (made.subtracts ? read.runs[run].placed_us : 0));
  made.total_us = std::max(0.0, Median(totals).middle);

  std::vector<Part> &parts = read.parts;
  join(parts);
  made.us.resize(num_groups), made.self_us.resize(num_groups), made.mean_us.resize(num_groups);
  std::vector<double> num_parts(num_groups);
  for (const Part &part : parts) made.mean_us[part.group] += part.us, ++num_parts[part.group];
  for (size_t group = 0; group < num_groups; ++group) made.mean_us[group] /= std::max(1.0, num_parts[group]);

  std::erase_if(parts, [&](const Part &part) { return !is_shown(part.run); });
  std::vector<double> all, selves;
  Median first, second;  // the two groups that take longest
  for (size_t begin = 0, end; begin < parts.size(); begin = end) {
    const uint32_t group = parts[begin].group;
    all.clear(), selves.clear();
    for (end = begin; end < parts.size() && parts[end].group == group; ++end) {
      const Part &part = parts[end];
      all.push_back(std::max(0.0, part.us - (made.subtracts ? part.waited_us : 0)));
      selves.push_back(std::max(0.0, part.self_us - (made.subtracts ? part.own_waited_us : 0)));
    }
    const Median self = typical(selves, made.num_shown);
    made.us[group] = typical(all, made.num_shown).middle, made.self_us[group] = self.middle;
    if (all.size() < made.num_shown) made.mean_us[group] = made.us[group];
    made.sum_self_us += self.middle;
    if (self.middle > first.middle) second = std::exchange(first, self);
    else if (self.middle > second.middle) second = self;
  }
  constexpr size_t kLeastRuns = 10, kManyRuns = 50;
  constexpr double kShareKnown = 0.05, kTie = 0.01;
  const auto width = [&](const Median &median) { return (median.high - median.low) / made.sum_self_us; };
  const bool is_ordered = first.low >= second.high || std::max(width(first), width(second)) <= kTie;
  const bool are_free = made.waited_share <= kMostWaited || !shows_all;
  made.is_settled = first.count >= (are_free ? kLeastRuns : kManyRuns) && is_ordered && width(first) <= kShareKnown;
  return made;
}

double waited_share(const Report &report) {
  const Column *const column = report.find_column(kWaitedColumn);
  if (!column) return 0;
  double us = 0, waited = 0;
  Cells times(report.find_column(kTvmColumns[1])), depths(report.find_column(kDepthColumn)), waits(column);
  for (size_t row = 0; row < report.num_rows(); ++row) {
    const double each = amount_of(times.at(row));
    if (!(amount_of(depths.at(row)) > 0)) us += each;
    waited += amount_of(waits.at(row));
  }
  return us > 0 ? std::min(1.0, waited / us) : 0;
}

std::string wait_text(double share) {
  if (share <= kMostWaited) return {};
  std::string out = "the program waited ";
  append_fixed(out, share * 100, share < 0.0995 ? 1 : 0);
  return out += " % of the time for a processor";
}

std::string RunMedians::wait_text() const {
  std::string out = opd::wait_text(waited_share);
  if (out.empty()) return {};
  out += "; ";
  if (num_shown < num_runs) return out += concat(num_shown, " of ", num_runs, " runs, which did not, are shown");
  if (subtracts) return out += "too few runs did not, so the waits are subtracted";
  return out += concat("too few runs did not, so all ", num_runs, " are shown");
}

}  // namespace opd
