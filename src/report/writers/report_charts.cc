#include "report/writers/report_charts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/json_writer.h"
#include "report/metric_text.h"

namespace opd {

void append_html(std::string &out, std::string_view text) {
  std::string utf8, clean;
  append_utf8_text(utf8, text);
  append_printable(clean, utf8);
  constexpr std::string_view kSpecial = "&<>\"'", kNames[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  for (const char c : clean) {
    const size_t place = kSpecial.find(c);
    if (place == std::string_view::npos) out += c;
    else out += kNames[place];
  }
}

void append_time(std::string &out, double us) {
  const char *unit = us >= 1e6 ? " s" : us >= 1e3 ? " ms" : " µs";
  append_fixed(out, us >= 1e6 ? us / 1e6 : us >= 1e3 ? us / 1e3 : us, 2);
  out += unit;
}

std::optional<double> number_of(Metric metric) {
  if (metric.is_integer()) return static_cast<double>(metric.count());
  if (metric.is_number() && std::isfinite(metric.number())) return metric.number();
  return std::nullopt;
}
double duration_of(const ReportRows &rows, size_t row) {
  return std::max(0.0, number_of(rows.cell(row, ReportRows::kDuration)).value_or(0));
}

double self_time_of(const ReportRows &rows, size_t row) {
  const size_t self = rows.find(kSelfColumn);
  const auto us = self == SIZE_MAX ? std::nullopt : number_of(rows.cell(row, self));
  return us ? std::max(0.0, *us) : duration_of(rows, row);
}

double total_time_of(const ReportRows &rows) {
  double longest = 0, sum = 0;
  for (const auto &[device, metrics] : rows.report().devices())
    for (const auto &[name, metric] : metrics)
      if (name == rows.headers()[ReportRows::kDuration]) longest = std::max(longest, number_of(metric).value_or(0));
  for (size_t row = 0; row < rows.num_calls(); ++row) sum += self_time_of(rows, row);
  return longest > 0 ? longest : sum;
}

std::vector<size_t> by_self_time(const ReportRows &rows) {
  std::vector<size_t> order(rows.num_calls());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return self_time_of(rows, a) > self_time_of(rows, b); });
  return order;
}

namespace {

// Keeps the first `head` code points, and as many of the last ones as fit.
std::string without_middle(std::string_view text, size_t most, size_t head) {
  std::vector<std::string_view> points;
  for (size_t i = 0; i < text.size(); i += points.back().size())
    points.push_back(text.substr(i, std::max<size_t>(1, utf8_length(text.substr(i)))));
  std::string out;
  for (size_t i = 0; i < points.size(); ++i) {
    const bool cut = points.size() > most && i == head;
    if (cut) out += "…", i = points.size() - (most - 1 - head);
    if (i < points.size()) append(out, points[i]);
  }
  return out;
}

bool are_apart(const std::vector<std::string> &shown, const std::vector<std::string> &names) {
  std::map<std::string_view, std::string_view> name_of;
  for (size_t i = 0; i < names.size(); ++i)
    if (name_of.emplace(shown[i], names[i]).first->second != names[i]) return false;
  return true;
}

}  // namespace

std::string shortened(std::string_view text, size_t most) { return without_middle(text, most, most / 2); }

std::vector<std::string> shortened_apart(const std::vector<std::string> &names, size_t most) {
  std::vector<std::string> shown;
  for (const std::string &name : names) shown.push_back(shortened(name, most));
  for (size_t head = most; head-- > 0 && !are_apart(shown, names);)
    for (size_t i = 0; i < names.size(); ++i) shown[i] = without_middle(names[i], most, head);
  if (are_apart(shown, names)) return shown;
  // The names differ in several places, so no cut shows all differences.
  std::map<std::string_view, size_t> numbers;
  for (const std::string &name : names) numbers.emplace(name, numbers.size() + 1);
  for (size_t i = 0; i < names.size(); ++i) {
    if (width_of(names[i]) <= most) continue;
    const std::string number = concat("~", numbers[names[i]]);
    shown[i] = shortened(names[i], most - std::min(most, number.size())) + number;
  }
  return shown;
}

void append_label(std::string &out, const ReportRows &rows, size_t row) {
  append_html(out, rows.text(row, ReportRows::kName));
  if (const std::string shapes = rows.text(row, ReportRows::kShapes); !shapes.empty()) append_html(out += ": ", shapes);
  if (rows.num_totals() > 1) append_html(out += " on ", rows.text(row, ReportRows::kDevice));
}

namespace {

void append_share(std::string &out, double us, double total) {
  append_time(out, us);
  if (total > 0) append_fixed(out += " · ", us / total * 100, 1), out += " %";
}

}  // namespace

// A bar's length is its share of the total. Bars are HTML boxes, not SVG, so that they fit any window.
void append_bars(std::string &out, const ReportRows &rows) {
  constexpr size_t kMost = 20;
  const auto order = by_self_time(rows);
  const size_t shown = order.size() > kMost + 1 ? kMost : order.size();
  const double total = total_time_of(rows);
  out +=
      "<div class=\"bars\" role=\"img\" aria-label=\"Time of each operator as bars; the table below has the "
      "numbers\">\n";
  for (size_t i = 0; i < shown; ++i) {
    const double us = self_time_of(rows, order[i]);
    append_label(out += "<div class=\"row\" title=\"", rows, order[i]);
    append_html(out += "\"><span class=\"who\">", rows.text(order[i], ReportRows::kName));
    out += "</span><span class=\"track\"><span class=\"bar\" style=\"width:";
    append_fixed(out, total > 0 ? std::clamp(us / total, 0.0, 1.0) * 100 : 0, 2);
    append_share(out += "%\"></span></span><span class=\"soft\">", us, total);
    out += "</span></div>\n";
  }
  out += "</div>\n";
  if (shown == order.size()) return;
  double rest = 0;
  for (size_t i = shown; i < order.size(); ++i) rest += self_time_of(rows, order[i]);
  append(out += "<p class=\"soft\">and ", order.size() - shown);
  append_share(out += " others: ", rest, total);
  out += "</p>\n";
}

}  // namespace opd
