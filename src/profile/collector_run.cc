#include "profile/collector_run.h"

#include "value/dtype.h"

namespace opd {

CollectorRun::CollectorRun(std::span<const Ref<Collector>> collectors, std::span<const DLDevice> devices,
                           uint64_t max_rows)
    : max_rows_(max_rows) {
  members_.reserve(collectors.size());
  for (const auto &collector : collectors) members_.push_back({collector, false, 0, nullptr});
  for (const DLDevice device : devices) totals_.push_back({device, {}});
  began_.reserve(64);
  states_.reserve(64 * members_.size());
  for (Member &member : members_)
    attempt(member, [&] {
      if (!member.collector->claim())
        fail(OPD_FAILED_PRECONDITION, "the collector is in use by another run, or stands twice in the list");
      member.claimed = true;
      member.collector->init(devices);
    });
}

// What fails is not started any more.
template <class F>
void CollectorRun::attempt(Member &member, F &&body) noexcept {
  try {
    body();
  } catch (...) {
    Ref<Error> error = current_error();
    if (!member.error) member.error = std::move(error);
  }
}

void CollectorRun::begin(DLDevice device) {
  // First, so that whatever is started is kept.
  if (began_.size() == began_.capacity()) began_.reserve(2 * began_.size()), states_.reserve(2 * states_.size());
  uint64_t ticks = ticks_of(clock_);
  for (Member &member : members_) {
    void *state = nullptr;
    if (!member.error) attempt(member, [&] { state = member.collector->start(device); });
    states_.push_back(state);
    const uint64_t now = ticks_of(clock_);
    member.cost += now - ticks;
    ticks = now;
  }
  began_.push_back(ticks);
}

void CollectorRun::end(MetricRows &out, uint64_t row) noexcept {
  if (&out == &dropped_) out.clear();
  out.begin_row(row);
  uint64_t ticks = ticks_of(clock_);
  for (size_t i = members_.size(); i-- > 0;) {
    Member &member = members_[i];
    if (void *state = states_[states_.size() - members_.size() + i]) {
      attempt(member, [&] { member.collector->stop(state, out); });
      const uint64_t now = ticks_of(clock_);
      member.cost += now - ticks;
      ticks = now;
    }
  }
  states_.resize(states_.size() - members_.size());
  began_.pop_back();
}

void CollectorRun::begin_call(DLDevice device) { begin(device); }

void CollectorRun::end_call(uint64_t begin, uint64_t sequence) noexcept {
  while (began_.back() > begin) end(dropped_, 0);
  end(sequence < max_rows_ ? rows_ : dropped_, sequence);
}

void CollectorRun::begin_total() {
  for (const Total &total : totals_) begin(total.device);
}

void CollectorRun::end_total() noexcept {
  while (began_.size() > totals_.size()) end(dropped_, 0);  // an error left them open
  for (size_t i = totals_.size(); i-- > 0;) end(totals_[i].rows, runs_);
  ++runs_;
}

void CollectorRun::finish() noexcept {
  while (!began_.empty()) end(dropped_, 0);
  for (size_t i = members_.size(); i-- > 0;)
    if (std::exchange(members_[i].claimed, false)) {
      members_[i].collector->finish();
      members_[i].collector->give_back();
    }
}

Ref<Error> CollectorRun::first_error() const {
  for (const Member &member : members_)
    if (member.error) return member.error;
  return nullptr;
}

namespace {

Metric in_report(ReportBuilder &builder, const MetricRows &rows, Metric metric) {
  return metric.kind == MetricKind::kString ? builder.text(rows.texts()[metric.text()]) : metric;
}

struct Sum {  // of one metric over the runs
  Metric total;
  size_t runs = 0;
  void add(Metric metric) {
    const bool alike = runs++ > 0 && metric.kind == total.kind;
    if (!alike || metric.is_text()) total = metric;
    else if (metric.is_integer()) total.bits = Metric::of_count(total.count() + metric.count()).bits;
    else total = Metric::of_number(metric.kind, total.number() + metric.number());
  }
  Metric result() const {
    const bool is_mean = total.is_rate() || total.kind == MetricKind::kPercent;
    return is_mean ? Metric::of_number(total.kind, total.number() / static_cast<double>(runs)) : total;
  }
};

}  // namespace

uint64_t CollectorRun::cost() const {
  uint64_t ticks = 0;
  for (const Member &member : members_) ticks += member.cost;
  return ticks;
}

void CollectorRun::set_row(ReportBuilder &builder, uint64_t sequence) {
  const auto &cells = rows_.cells();
  while (columns_.size() < rows_.names().size()) columns_.push_back(builder.column(rows_.names()[columns_.size()]));
  for (; next_cell_ < cells.size() && cells[next_cell_].row <= sequence; ++next_cell_)
    if (const auto &cell = cells[next_cell_]; cell.row == sequence)
      builder.set(columns_[cell.name], in_report(builder, rows_, cell.metric));
}

void CollectorRun::set_device(ReportBuilder &builder, DLDevice device) {
  for (const Total &total : totals_) {
    if (!same(total.device, device)) continue;
    std::vector<Sum> sums(total.rows.names().size());
    for (const auto &cell : total.rows.cells()) sums[cell.name].add(cell.metric);
    for (size_t i = 0; i < sums.size(); ++i)
      if (sums[i].runs) builder.set_device(total.rows.names()[i], in_report(builder, total.rows, sums[i].result()));
    return;
  }
}

void CollectorRun::configure(ReportBuilder &builder, const ClockLine &line) {
  for (const Member &member : members_) {
    std::string name = member.collector->name();
    int32_t times = 1;
    for (const Member *other = members_.data(); other != &member; ++other) times += other->collector->name() == name;
    if (times > 1) name += concat(" #", times);
    builder.configure(concat("Collector cost: ", name, " (us)"),
                      Metric::of_number(MetricKind::kDuration, line.duration_ns(member.cost) / 1000));
    if (member.error) builder.configure(concat("Collector error: ", name), builder.text(member.error->message));
    if (const std::string note = member.collector->note(); !note.empty())
      builder.configure(concat("Collector note: ", name), builder.text(note));
  }
}

}  // namespace opd
