#include "report/run_medians.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace opd {
namespace {

constexpr double kMostWaited = 0.01;  // a run waited if more than this part of its time was waiting
constexpr size_t kEnoughRuns = 5;     // fewer runs without a wait are not shown alone, unless they are half of all

struct Run {
  double us = 0, waited_us = 0;
  double share() const { return us > 0 ? std::min(1.0, waited_us / us) : 0; }
  bool waited() const { return share() > kMostWaited; }
};

// The time of one group in one run.
struct Part {
  uint32_t group, run;
  double us, self_us, waited_us;
  double ran() const { return us > waited_us ? 1 - waited_us / us : us > 0 ? 0 : 1; }  // share of the time
};

double amount_of(Metric metric) {
  const double number = metric.is_integer()  ? static_cast<double>(metric.count())
                        : metric.is_number() ? metric.number()
                                             : 0;
  return std::isfinite(number) ? std::max(0.0, number) : 0;
}

// The median, and a 95 % interval of it: the normal approximation of the binomial ranks.
struct Median {
  explicit Median(std::vector<double> &values) {
    if (values.empty()) return;
    std::ranges::sort(values);
    const size_t count = values.size(), half = count / 2;
    middle = count % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
    const double n = static_cast<double>(count), rank = (n - 1.96 * std::sqrt(n)) / 2;
    const auto from = static_cast<size_t>(std::max(0.0, std::floor(rank)));
    low = values[from], high = values[count - 1 - from];
  }
  double middle = 0, low = 0, high = 0;
};

class Reader {
 public:
  Reader(const Report &report, std::span<const uint32_t> group_of_row) : report_(report), groups_(group_of_row) {}

  // Returns false if the rows are not of several runs of a program.
  bool read() {
    if (!report_.find_column(kRunColumn)) return false;
    std::map<int64_t, uint32_t> places;  // by number of the run
    size_t num_dispatch = 0;
    Cells numbers(report_.find_column(kRunColumn)), times(report_.find_column(kTvmColumns[1])),
        selves(report_.find_column(kSelfColumn)), depths(report_.find_column(kDepthColumn)),
        recursive(report_.find_column(kRecursiveColumn)), waits(report_.find_column(kWaitedColumn));
    for (size_t row = 0; row < report_.num_rows(); ++row) {
      const Metric number = numbers.at(row), self = selves.at(row);
      const double us = amount_of(times.at(row)), waited = amount_of(waits.at(row));
      const bool is_nested = amount_of(depths.at(row)) > 0, is_recursive = amount_of(recursive.at(row)) > 0;
      if (!number.is_integer()) continue;
      const auto [place, is_new] = places.try_emplace(number.count(), static_cast<uint32_t>(runs.size()));
      if (is_new) runs.emplace_back();
      Run &run = runs[place->second];
      num_dispatch += report_.row_kind(row) == RowKind::kDispatch;
      if (!is_nested) run.us += us, run.waited_us += waited;
      parts.push_back({groups_[row], place->second, us, self ? amount_of(self) : us, waited});
      if (is_recursive) parts.back().us = 0;
    }
    return num_dispatch > 1 && num_dispatch == runs.size();
  }

  std::vector<Run> runs;
  std::vector<Part> parts;  // one for each row

 private:
  const Report &report_;
  const std::span<const uint32_t> groups_;
};

// Joins the parts of one group in one run.
void join(std::vector<Part> &parts) {
  std::ranges::sort(parts, {}, [](const Part &part) { return uint64_t{part.group} << 32 | part.run; });
  size_t kept = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool is_same = kept && parts[kept - 1].group == parts[i].group && parts[kept - 1].run == parts[i].run;
    if (!is_same) {
      parts[kept++] = parts[i];
      continue;
    }
    Part &into = parts[kept - 1];
    into.us += parts[i].us, into.self_us += parts[i].self_us, into.waited_us += parts[i].waited_us;
  }
  parts.resize(kept);
}

}  // namespace

std::optional<RunMedians> run_medians(const Report &report, std::span<const uint32_t> group_of_row, size_t num_groups) {
  Reader read(report, group_of_row);
  if (!read.read()) return std::nullopt;
  RunMedians made;
  made.num_runs = made.num_shown = read.runs.size();
  double us = 0, waited = 0;
  for (Run &run : read.runs) {
    run.waited_us = std::min(run.us, run.waited_us);
    us += run.us, waited += run.waited_us;
  }
  made.waited_share = us > 0 ? waited / us : 0;
  const auto num_free =
      static_cast<size_t>(std::ranges::count_if(read.runs, [](const Run &run) { return !run.waited(); }));
  made.subtracts = num_free < std::min(kEnoughRuns, (made.num_runs + 1) / 2);
  if (!made.subtracts) made.num_shown = num_free;
  const auto is_shown = [&](uint32_t run) { return made.subtracts || !read.runs[run].waited(); };

  std::vector<double> totals;
  for (uint32_t run = 0; run < read.runs.size(); ++run)
    if (is_shown(run)) totals.push_back(read.runs[run].us - (made.subtracts ? read.runs[run].waited_us : 0));
  made.total_us = Median(totals).middle;

  std::vector<Part> &parts = read.parts;
  join(parts);
  made.us.resize(num_groups), made.self_us.resize(num_groups), made.mean_us.resize(num_groups);
  std::vector<double> num_parts(num_groups);
  for (const Part &part : parts) made.mean_us[part.group] += part.us, ++num_parts[part.group];
  for (size_t group = 0; group < num_groups; ++group) made.mean_us[group] /= std::max(1.0, num_parts[group]);
  std::erase_if(parts, [&](const Part &part) { return !is_shown(part.run); });
  std::vector<double> all, selves;
  Median first(all), second(all);  // the two groups of operators that take longest
  for (size_t begin = 0, end; begin < parts.size(); begin = end) {
    const uint32_t group = parts[begin].group;
    all.clear(), selves.clear();
    for (end = begin; end < parts.size() && parts[end].group == group; ++end) {
      const double part = made.subtracts ? parts[end].ran() : 1;
      all.push_back(parts[end].us * part), selves.push_back(parts[end].self_us * part);
    }
    const Median self(selves);
    made.us[group] = Median(all).middle, made.self_us[group] = self.middle;
    made.sum_self_us += self.middle;
    if (self.middle > first.middle) second = std::exchange(first, self);
    else if (self.middle > second.middle) second = self;
  }
  constexpr size_t kLeastRuns = 10, kManyRuns = 50;
  constexpr double kShareKnown = 0.05, kTie = 0.01;
  const auto width = [&](const Median &median) { return (median.high - median.low) / made.sum_self_us; };
  const bool is_ordered = first.low >= second.high || std::max(width(first), width(second)) <= kTie;
  made.is_settled =
      made.num_shown >= (made.subtracts ? kManyRuns : kLeastRuns) && is_ordered && width(first) <= kShareKnown;
  return made;
}

double waited_share(const Report &report) {
  double us = 0, waited = 0;
  Cells times(report.find_column(kTvmColumns[1])), depths(report.find_column(kDepthColumn)),
      waits(report.find_column(kWaitedColumn));
  for (size_t row = 0; row < report.num_rows() && report.find_column(kWaitedColumn); ++row) {
    const double each = amount_of(times.at(row)), lost = amount_of(waits.at(row));
    if (!(amount_of(depths.at(row)) > 0)) us += each, waited += lost;
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
  if (subtracts) return out += concat("too few of ", num_runs, " runs did not, so this time is subtracted");
  return out += concat(num_shown, " of ", num_runs, " runs, which did not, are shown");
}

}  // namespace opd
