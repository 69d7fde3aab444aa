#include "profile/diff_runs.h"

#include <array>
#include <cmath>

#include "profile/cells.h"

namespace opd {
namespace {

constexpr size_t kNone = SIZE_MAX;

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

}  // namespace

void RunReader::add(const Report &report) {
  if (num_reports_ == 0)
    for (size_t i = 0; i < diff_.operators.size(); ++i)
      operators_.emplace(key_of(diff_.operators[i].name, diff_.operators[i].shapes, diff_.operators[i].device), i);
  const size_t place = num_reports_++;
  const std::string &metric = diff_.plan.metric;
  const Column *values = report.find_column(metric);
  if (!values && report.num_rows())
    fail(OPD_NOT_FOUND, "report ", place, " of those ", side_name_, " has no column \"", metric, "\"");
  Cells value(values), name(report.find_column("Name")), shapes(report.find_column("Argument Shapes")),
      device(report.find_column("Device")), run(report.find_column("Run"));
  const auto text = [&](size_t part) { return part == kNone ? std::string_view() : report.text(part); };
  const auto text_place = [](Metric cell) { return cell.is_text() ? cell.text() : kNone; };

  const bool has_runs = report.find_column("Run") != nullptr;
  std::unordered_map<std::array<size_t, 3>, size_t, KeyHash> known;  // texts are interned: equal text, equal place
  std::unordered_map<uint64_t, uint32_t> runs;                       // of this report
  for (size_t row = 0; row < report.num_rows(); ++row) {
    const std::array<size_t, 3> key{text_place(name.at(row)), text_place(shapes.at(row)), text_place(device.at(row))};
    const Metric which = run.at(row), measured = value.at(row);
    if (has_runs && !which) continue;                               // of all runs together
    if (key[0] != kNone && text(key[0]) == "(profiler)") continue;  // ours, and not the program's
    const auto number = static_cast<uint32_t>(num_runs_ + runs.size());
    const uint32_t its_run = runs.emplace(which ? which.bits : ~uint64_t{0}, number).first->second;
    if (!measured) continue;
    if (measured.is_text() || !(value_of(measured) >= 0) || std::isinf(value_of(measured)))
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
    (diff_.operators[found->second].*side_).add(its_run, value_of(measured));
  }
  num_runs_ += runs.empty() ? 1 : static_cast<uint32_t>(runs.size());  // a run may have no calls
}

}  // namespace opd
