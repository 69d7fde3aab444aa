#include "profiler/collector_run.h"

#include <algorithm>

#include "value/dtype.h"

namespace opd {

// ---- one thread

CollectorRun::CollectorRun(CollectorSet &set) : set_(set), costs_(set.members_.size()), totals_(set.devices_.size()) {
  reserve(64);
}

void CollectorRun::reserve(size_t calls) {
  if (began_.capacity() >= calls) return;
  states_.reserve(2 * calls * costs_.size());
  began_.reserve(2 * calls);
}

// reserve() has made room, so every state can be kept.
uint64_t CollectorRun::begin(DLDevice device) noexcept {
  const uint64_t first = ticks_of(set_.clock_);
  uint64_t ticks = first;
  const bool is_own = std::exchange(is_busy_, true);
  for (size_t i = 0; i < costs_.size(); ++i) {
    CollectorSet::Member &member = set_.members_[i];
    void *state = nullptr;
    if (!is_own && !member.has_failed.load(std::memory_order_relaxed))
      set_.attempt(member, [&] { state = member.collector->start(device); });
    states_.push_back(state);
    const uint64_t now = ticks_of(set_.clock_);
    costs_[i] += now - ticks;
    ticks = now;
  }
  is_busy_ = is_own;
  began_.push_back(ticks);
  return ticks - first;
}

uint64_t CollectorRun::end(MetricRows &out, uint64_t row) noexcept {
  if (&out == &dropped_) out.clear();
  out.begin_row(row);
  const uint64_t begin = ticks_of(set_.clock_);
  uint64_t ticks = begin;
  const bool is_own = std::exchange(is_busy_, true);
  const size_t first = states_.size() - costs_.size();
  for (size_t i = costs_.size(); i-- > 0;) {
    void *const state = states_[first + i];
    if (!state) continue;
    CollectorSet::Member &member = set_.members_[i];
    set_.attempt(member, [&] { member.collector->stop(state, out); });
    const uint64_t now = ticks_of(set_.clock_);
    costs_[i] += now - ticks;
    ticks = now;
  }
  is_busy_ = is_own;
  states_.resize(first);
  began_.pop_back();
  return ticks - begin;
}

void CollectorRun::end_down_to(size_t depth) noexcept {
  while (began_.size() > depth) end(dropped_, 0);
}

void CollectorRun::begin_call(DLDevice device) {
  reserve(began_.size() + 1);
  const bool is_outermost = is_between_calls();
  const uint64_t cost = begin(device);
  if (is_outermost) outermost_cost_ += cost;
}

void CollectorRun::end_call(uint64_t begin, uint64_t sequence) noexcept {
  while (began_.back() > begin) end(dropped_, 0);
  const uint64_t cost = end(sequence < set_.max_rows_ ? rows_ : dropped_, sequence);
  if (is_between_calls()) outermost_cost_ += cost;
}

size_t CollectorRun::begin_run() {
  const size_t depth = began_.size();
  reserve(depth + totals_.size());
  for (const DLDevice device : set_.devices_) begin(device);
  return depth;
}

void CollectorRun::end_run(size_t depth) noexcept {
  end_down_to(depth + totals_.size());  // calls that an error left open
  for (size_t i = totals_.size(); i-- > 0;) end(totals_[i], runs_);
  ++runs_;
}

// ---- all of them

CollectorSet::CollectorSet(std::span<const Ref<Collector>> collectors, std::span<const DLDevice> devices,
                           uint64_t max_rows, bool is_session)
    : members_(collectors.size()),
      devices_(devices.begin(), devices.end()),
      max_rows_(max_rows),
      is_session_(is_session) {
  for (size_t i = 0; i < collectors.size(); ++i) members_[i].collector = collectors[i];
  for (Member &member : members_)
    attempt(member, [&] {
      if (!member.collector->claim())
        fail(OPD_FAILED_PRECONDITION, "the collector is in use by another run, or stands twice in the list");
      member.is_claimed = true;
      member.collector->init(devices);
    });
}

// A collector that fails is not started again on any thread.
template <class F>
void CollectorSet::attempt(Member &member, F &&body) noexcept {
  try {
    body();
  } catch (...) {
    Ref<Error> error = current_error();
    std::scoped_lock lock(guard_);
    if (!member.error) member.error = std::move(error);
    member.has_failed.store(true, std::memory_order_relaxed);
  }
}

void CollectorSet::finish() noexcept {
  for (CollectorRun &run : runs_) run.finish();
  for (size_t i = members_.size(); i-- > 0;)
    if (std::exchange(members_[i].is_claimed, false)) {
      members_[i].collector->finish();
      members_[i].collector->give_back();
    }
}

Ref<Error> CollectorSet::first_error() const {
  for (const Member &member : members_)
    if (member.error) return member.error;
  return nullptr;
}

uint64_t CollectorSet::cost_of(size_t member) const {
  uint64_t ticks = 0;
  for (const CollectorRun &run : runs_) ticks += run.costs_[member];
  return ticks;
}

uint64_t CollectorSet::outermost_cost() const {
  uint64_t ticks = 0;
  for (const CollectorRun &run : runs_) ticks += run.outermost_cost_;
  return ticks;
}

// ---- the report

namespace {

Metric in_report(ReportBuilder &builder, const MetricRows &rows, Metric metric) {
  return metric.kind == MetricKind::kString ? builder.text(rows.texts()[metric.text()]) : metric;
}

struct Sum {                // of one metric over the runs
  bool is_largest = false;  // for columns whose cells join to the largest
  Metric total;
  size_t runs = 0;
  void add(Metric metric) {
    const bool alike = runs++ > 0 && metric.kind == total.kind;
    if (!alike || metric.is_text()) total = metric;
    else if (is_largest)
      total = metric.is_integer() ? (metric.count() > total.count() ? metric : total)
                                  : (metric.number() > total.number() ? metric : total);
    else if (metric.is_integer()) total.bits = Metric::of_count(total.count() + metric.count()).bits;
    else total = Metric::of_number(metric.kind, total.number() + metric.number());
  }
  Metric result() const {
    const bool is_mean =
        total.kind == MetricKind::kRatio || total.kind == MetricKind::kHertz || total.kind == MetricKind::kPercent;
    return is_mean ? Metric::of_number(total.kind, total.number() / static_cast<double>(runs)) : total;
  }
};

}  // namespace

void CollectorRun::set_row(ReportBuilder &builder, uint64_t sequence) {
  const auto &cells = rows_.cells();
  while (columns_.size() < rows_.names().size()) columns_.push_back(builder.column(rows_.names()[columns_.size()]));
  for (; next_cell_ < cells.size() && cells[next_cell_].row <= sequence; ++next_cell_)
    if (const auto &cell = cells[next_cell_]; cell.row == sequence && rows_.names()[cell.name] != kRowKindColumn)
      builder.set(columns_[cell.name], in_report(builder, rows_, cell.metric));
}

void CollectorSet::set_device(ReportBuilder &builder, DLDevice device) const {
  size_t place = 0;
  while (place < devices_.size() && !same(devices_[place], device)) ++place;
  if (place == devices_.size()) return;
  std::vector<std::string> names;  // in the order of their first appearance
  std::unordered_map<std::string, Sum> sums;
  for (const CollectorRun &run : runs_) {
    const MetricRows &rows = run.totals_[place];
    std::vector<Sum *> known(rows.names().size());
    for (const auto &[row, name, metric] : rows.cells()) {
      if (!known[name]) {
        const auto [sum, is_new] = sums.try_emplace(rows.names()[name]);
        if (is_new) names.push_back(sum->first);
        sum->second.is_largest = meaning_of_column(sum->first).join == Join::kMax;
        known[name] = &sum->second;
      }
      known[name]->add(in_report(builder, rows, metric));
    }
  }
  for (const std::string &name : names)  // collectors cannot set TVM's columns, even if the totals lack them
    if (std::ranges::find(kTvmColumns, name) == std::end(kTvmColumns)) builder.set_device(name, sums[name].result());
}

std::string CollectorSet::note_of(const Member &member) const {
  std::string note = member.collector->note();
  const std::string shared = is_session_ ? member.collector->shared() : "";
  if (!shared.empty()) note += concat(note.empty() ? "" : "; ", shared, ", with what other calls do at the same time");
  return note;
}

void CollectorSet::configure(ReportBuilder &builder, const ClockCalibration &line) const {
  for (size_t i = 0; i < members_.size(); ++i) {
    const Member &member = members_[i];
    std::string name = member.collector->name();
    int32_t times = 1;
    for (size_t j = 0; j < i; ++j) times += members_[j].collector->name() == name;
    if (times > 1) name += concat(" #", times);
    builder.configure(concat("Collector cost: ", name, " (us)"),
                      Metric::of_number(MetricKind::kDuration, line.duration_ns(cost_of(i)) / 1000));
    if (member.error) builder.configure(concat(kCollectorErrorEntry, name), builder.text(member.error->message));
    if (const std::string note = note_of(member); !note.empty())
      builder.configure(concat("Collector note: ", name), builder.text(note));
  }
}

}  // namespace opd
