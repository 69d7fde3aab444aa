#include "profile/report_charts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json_writer.h"
#include "profile/metric_text.h"

namespace opd {

void append_html(std::string &out, std::string_view text) {
  std::string clean;
  append_utf8_text(clean, text);
  for (const char c : clean) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        append_printable(out, {&c, 1});
    }
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

std::vector<size_t> by_duration(const ReportRows &rows) {
  std::vector<size_t> order(rows.num_calls());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return duration_of(rows, a) > duration_of(rows, b); });
  return order;
}

std::string shortened(std::string_view text, size_t most) {
  std::vector<std::string_view> points;
  for (size_t i = 0; i < text.size(); i += points.back().size())
    points.push_back(text.substr(i, std::max<size_t>(1, utf8_length(text.substr(i)))));
  std::string out;
  for (size_t i = 0; i < points.size(); ++i) {
    const bool cut = points.size() > most && i == most / 2;
    if (cut) i = points.size() - (most - 1 - most / 2);
    append(out += cut ? "…" : "", points[i]);
  }
  return out;
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

// ---- bars

constexpr double kBarHeight = 26, kBarLeft = 310, kBarRight = 840;

struct Bar {
  std::string name, title;
  double us;
};

void append_bar(std::string &out, const Bar &bar, double y, double longest, double total) {
  const double width = std::max(1.0, longest > 0 ? (kBarRight - kBarLeft) * bar.us / longest : 0);
  put(out, "<g><title>", bar.title, "</title><text x=\"", kBarLeft - 10, "\" y=\"", y + 18, "\" text-anchor=\"end\">",
      bar.name, "</text><rect class=\"bar\" x=\"", kBarLeft, "\" y=\"", y + 3, "\" width=\"", width, "\" height=\"",
      kBarHeight - 6, "\" rx=\"2\"/><text class=\"soft\" x=\"", kBarLeft + width + 8, "\" y=\"", y + 18, "\">");
  append_share(out, bar.us, total);
  out += "</text></g>\n";
}

// What percentages are of: the longest of the devices' totals, as in the table.
double total_of(const ReportRows &rows) {
  double longest = 0, sum = 0;
  for (const auto &[device, metrics] : rows.report().devices())
    for (const auto &[name, metric] : metrics)
      if (name == rows.headers()[ReportRows::kDuration]) longest = std::max(longest, number_of(metric).value_or(0));
  for (size_t row = 0; row < rows.num_calls(); ++row) sum += duration_of(rows, row);
  return longest > 0 ? longest : sum;
}

}  // namespace

void append_bars(std::string &out, const ReportRows &rows) {
  constexpr size_t kMost = 20;
  const auto order = by_duration(rows);
  const size_t shown = order.size() > kMost + 1 ? kMost : order.size();
  const double total = total_of(rows), longest = order.empty() ? 0 : duration_of(rows, order[0]);
  put(out, "<div class=\"chart\"><svg viewBox=\"0 0 ", kChartWidth, " ", static_cast<double>(shown) * kBarHeight + 2,
      "\" role=\"img\" aria-label=\"Time of each operator as bars; the table below has the numbers\">\n");
  for (size_t i = 0; i < shown; ++i) {
    Bar bar{"", "", duration_of(rows, order[i])};
    append_html(bar.name, shortened(rows.text(order[i], ReportRows::kName), 38));
    append_label(bar.title, rows, order[i]);
    append_bar(out, bar, static_cast<double>(i) * kBarHeight, longest, total);
  }
  out += "</svg></div>\n";
  if (shown == order.size()) return;
  double rest = 0;
  for (size_t i = shown; i < order.size(); ++i) rest += duration_of(rows, order[i]);
  append(out += "<p class=\"soft\">and ", order.size() - shown);
  append_share(out += " others: ", rest, total);
  out += "</p>\n";
}

}  // namespace opd
