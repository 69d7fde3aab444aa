#include "telemetry/call_metrics.h"

#include <algorithm>

namespace opd {

void DurationHistogram::add(double seconds) {
  const auto bound = std::ranges::lower_bound(kBounds, seconds);
  ++counts[static_cast<size_t>(bound - kBounds.begin())];
  ++count;
  sum += seconds;
}

std::string_view failure_of(const Event &run) {
  EventItem item;
  for (size_t at = 0; next_item(run, at, item);)
    if (item.type == EventItem::Type::kFailure) return item.text;
  return {};
}

namespace {
const std::string &label_of(NameId name) {
  static const auto *const none = new std::string;  // never destroyed: threads may write while the process exits
  return name == kNoName ? *none : name_text(name);
}
}  // namespace

template <class Row, class Name>
Row &CallMetrics::row_of(Table<Row> &table, uint64_t key, const Name &name) {
  const auto found = table.places.find(key);
  if (found != table.places.end()) return table.rows[found->second];
  if (table.places.size() < max_series_) {
    table.rows.push_back({name()});
    table.places.emplace(key, table.rows.size() - 1);
    return table.rows.back();
  }
  ++num_folded_;
  if (table.other == SIZE_MAX) {
    Labels labels = name();
    for (auto &[label, text] : labels) text = "other";
    table.rows.push_back({std::move(labels)});
    table.other = table.rows.size() - 1;
  }
  return table.rows[table.other];
}

void CallMetrics::add(const TraceParts &parts) {
  for (const TraceTrack &track : parts.tracks) {
    for (const Event *run : track.runs) {
      if (run->is_open) continue;
      Function &row = row_of(functions_, uint64_t{run->location} << 32 | run->name, [run]() -> Labels {
        return {{"program", label_of(run->location)}, {"function", label_of(run->name)}};
      });
      row.durations.add(parts.duration_ns(length_ticks(*run)) / 1e9);
      if (failure_of(*run).data()) ++row.errors;
    }
    for (const Event *call : track.calls) {
      Operator &row = row_of(operators_, call->name, [call]() -> Labels {
        return {{"operator", label_of(call->name)}};
      });
      ++row.count;
      row.seconds += parts.duration_ns(length_ticks(*call)) / 1e9;
      if (!error_of(*call).empty()) ++row.errors;
    }
  }
}

void CallMetrics::write(std::vector<Series> &all, bool per_operator) const {
  using enum SeriesKind;
  Series calls{"opdyno_calls", "opdyno.calls", "{call}", "Calls of functions of programs that have ended.", kCounter};
  Series errors{"opdyno_call_errors", "opdyno.call.errors", "{call}", "Calls that ended with an error.", kCounter};
  Series durations{"opdyno_call_duration_seconds", "opdyno.call.duration", "s", "How long calls took.", kHistogram};
  for (const Function &row : functions_.rows) {
    calls.points.push_back({row.labels, static_cast<double>(row.durations.count)});
    errors.points.push_back({row.labels, static_cast<double>(row.errors)});
    durations.points.push_back({row.labels, 0, row.durations});
  }
  for (Series *series : {&calls, &errors, &durations}) all.push_back(std::move(*series));
  if (per_operator) {
    Series count{"opdyno_operator_calls", "opdyno.operator.calls", "{call}", "Calls of operators.", kCounter};
    Series failed{"opdyno_operator_errors", "opdyno.operator.errors", "{call}", "Calls of operators that failed.",
                  kCounter};
    Series seconds{"opdyno_operator_seconds", "opdyno.operator.time", "s", "Time in operators, with what they call.",
                   kCounter};
    for (const Operator &row : operators_.rows) {
      count.points.push_back({row.labels, static_cast<double>(row.count)});
      failed.points.push_back({row.labels, static_cast<double>(row.errors)});
      seconds.points.push_back({row.labels, row.seconds});
    }
    for (Series *series : {&count, &failed, &seconds}) all.push_back(std::move(*series));
  }
  all.push_back(single("opdyno_label_overflow", "opdyno.label.overflow", "{call}",
                       "Calls that are counted with the labels \"other\", since there are too many label sets.",
                       kCounter, static_cast<double>(num_folded_)));
}

}  // namespace opd
