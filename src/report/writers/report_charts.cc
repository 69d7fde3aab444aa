#include "report/writers/report_charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "base/json_writer.h"

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
  if (const RunMedians *runs = rows.run_medians(); runs && row < rows.num_calls()) return runs->us[row];
  return std::max(0.0, number_of(rows.cell(row, ReportRows::kDuration)).value_or(0));
}

double self_time_of(const ReportRows &rows, size_t row) {
  if (const RunMedians *runs = rows.run_medians(); runs && row < rows.num_calls()) return runs->self_us[row];
  const size_t self = rows.find(kSelfColumn);
  const auto us = self == SIZE_MAX ? std::nullopt : number_of(rows.cell(row, self));
  return us ? std::max(0.0, *us) : duration_of(rows, row);
}

double total_time_of(const ReportRows &rows) {
  if (const RunMedians *runs = rows.run_medians()) return runs->sum_self_us;
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

// ---- speed over arithmetic intensity, below the roof that the machine's peaks form

namespace {

struct Point {
  size_t row;
  double intensity, speed, share;
};

// Both axes are logarithmic.
class Roofline {
 public:
  Roofline(const ReportRows &rows, double peak, double bandwidth, std::vector<Point> points)
      : rows_(rows), peak_(peak), bandwidth_(bandwidth), points_(std::move(points)) {
    double left = peak / bandwidth, right = left, low = peak;
    for (const auto &point : points_) {
      left = std::min(left, point.intensity), right = std::max(right, point.intensity);
      low = std::min(low, point.speed);
    }
    left_ = std::floor(std::log10(left) - 0.5), right_ = std::ceil(std::log10(right) + 0.5);
    low_ = std::floor(std::log10(low)), high_ = std::ceil(std::log10(peak) + 0.2);
  }

  std::string draw() {
    put(out_, "<div class=\"chart\"><svg viewBox=\"0 0 ", kChartWidth, " ", kHeight,
        "\" role=\"img\" aria-label=\"Roofline: speed over arithmetic intensity; the table below has the numbers\">\n");
    draw_axes();
    draw_roof();
    for (const auto &point : points_) draw_point(point);
    for (const auto &point : points_) draw_name(point);
    out_ += "</svg></div>\n";
    return std::move(out_);
  }

 private:
  static constexpr double kChartWidth = 1000, kHeight = 460, kLeft = 80, kRight = 980, kTop = 20, kBottom = 400;

  double x(double intensity) const {
    return kLeft + (std::log10(intensity) - left_) / (right_ - left_) * (kRight - kLeft);
  }
  double y(double speed) const { return kBottom - (std::log10(speed) - low_) / (high_ - low_) * (kBottom - kTop); }
  static double radius(const Point &point) { return 5 + 13 * std::sqrt(point.share); }

  void draw_axes() {
    const auto step = [](double span) { return std::ceil(span / 12); };  // foreign numbers may span a large range
    for (double power = left_; power <= right_; power += step(right_ - left_)) {
      const double at = x(std::pow(10, power));
      put(out_, "<path class=\"axis\" d=\"M", at, " ", kTop, "V", kBottom, "\"/><text class=\"soft\" x=\"", at,
          "\" y=\"", kBottom + 20, "\" text-anchor=\"middle\">", power_of_ten(power), "</text>\n");
    }
    for (double power = low_; power <= high_; power += step(high_ - low_)) {
      const double at = y(std::pow(10, power));
      put(out_, "<path class=\"axis\" d=\"M", kLeft, " ", at, "H", kRight, "\"/><text class=\"soft\" x=\"", kLeft - 8,
          "\" y=\"", at + 4, "\" text-anchor=\"end\">", power_of_ten(power), "</text>\n");
    }
    put(out_, "<text class=\"soft\" x=\"", (kLeft + kRight) / 2, "\" y=\"", kBottom + 44,
        "\" text-anchor=\"middle\">Arithmetic intensity (FLOP/byte)</text><text class=\"soft\" "
        "transform=\"translate(20 ",
        (kTop + kBottom) / 2, ") rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>\n");
  }
  static std::string power_of_ten(double power) {
    std::string out;
    append_general(out, std::pow(10, power), 6);
    return out;
  }

  // The slope begins at the left or at the bottom edge of the picture.
  void draw_roof() {
    const double ridge = peak_ / bandwidth_, start = std::max(std::pow(10, left_), std::pow(10, low_) / bandwidth_);
    put(out_, "<path class=\"roof\" d=\"M", x(start), " ", y(start * bandwidth_), "L", x(ridge), " ", y(peak_), "H",
        kRight, "\"/><text x=\"", kRight, "\" y=\"", y(peak_) - 8, "\" text-anchor=\"end\">");
    append_general(out_, peak_, 4);
    out_ += " GFLOP/s</text>";
    const double middle = std::sqrt(start * ridge), at_x = x(middle), at_y = y(middle * bandwidth_);
    const double angle = std::atan2(y(peak_) - y(start * bandwidth_), x(ridge) - x(start)) * 180 / 3.141592653589793;
    put(out_, "<text transform=\"translate(", at_x, " ", at_y, ") rotate(", angle,
        ")\" y=\"-8\" text-anchor=\"middle\">");
    append_general(out_, bandwidth_, 4);
    out_ += " GB/s</text>\n";
  }

  void draw_point(const Point &point) {
    put(out_, "<circle class=\"dot\" cx=\"", x(point.intensity), "\" cy=\"", y(point.speed), "\" r=\"", radius(point),
        "\"><title>");
    append_label(out_, rows_, point.row);
    append_general(out_ += ": ", point.speed, 4);
    append_general(out_ += " GFLOP/s at ", point.intensity, 4);
    out_ += " FLOP/byte</title></circle>\n";
  }

  // Leaves out names that would overlap an earlier one. Called for the longest operator first.
  void draw_name(const Point &point) {
    constexpr double kHigh = 16, kWide = 7.2;
    if (named_.size() == 8) return;
    const std::string name = shortened(rows_.text(point.row, ReportRows::kName), 24);
    const double wide = kWide * static_cast<double>(name.size());  // or less: characters may have several bytes
    const bool left = x(point.intensity) + radius(point) + wide > kRight;
    const double begin = x(point.intensity) + (left ? -radius(point) - 5 - wide : radius(point) + 5);
    const std::array<double, 2> place{begin, y(point.speed) + 4};
    for (const auto &[other, width] : named_)
      if (std::abs(other[1] - place[1]) < kHigh && other[0] < begin + wide && begin < other[0] + width) return;
    named_.emplace_back(place, wide);
    put(out_, "<text class=\"name\" x=\"", left ? begin + wide : begin, "\" y=\"", place[1],
        left ? "\" text-anchor=\"end\">" : "\">");
    append_html(out_, name);
    out_ += "</text>\n";
  }

  const ReportRows &rows_;
  double peak_, bandwidth_;
  std::vector<Point> points_;
  double left_, right_, low_, high_;  // exponents of ten
  std::vector<std::pair<std::array<double, 2>, double>> named_;
  std::string out_;
};

double positive_entry(const Report &report, std::string_view key) {
  for (const auto &[name, metric] : report.configuration())
    if (name == key) return number_of(metric).value_or(0);
  return 0;
}

bool can_be_drawn(double number) { return number > 1e-30 && number < 1e30; }

}  // namespace

void append_roofline(std::string &out, const ReportRows &rows) {
  const double peak = positive_entry(rows.report(), "Peak GFLOP/s");
  const double bandwidth = positive_entry(rows.report(), "Peak Bandwidth (GB/s)");
  const size_t speeds = rows.find("GFLOP/s"), intensities = rows.find("Arithmetic Intensity (FLOP/byte)");
  if (!can_be_drawn(peak) || !can_be_drawn(bandwidth) || speeds == SIZE_MAX || intensities == SIZE_MAX) return;
  std::vector<Point> points;
  double total = 0;
  for (const size_t row : by_self_time(rows)) {
    total += duration_of(rows, row);
    const double speed = number_of(rows.cell(row, speeds)).value_or(0);
    const double intensity = number_of(rows.cell(row, intensities)).value_or(0);
    if (can_be_drawn(speed) && can_be_drawn(intensity))
      points.push_back({row, intensity, speed, duration_of(rows, row)});
  }
  if (points.empty()) return;
  for (auto &point : points) point.share = total > 0 ? point.share / total : 0;
  out +=
      "<h2>Roofline</h2>\n<p class=\"soft\">How fast each operator computes, for how much it computes per byte. Larger "
      "dots took longer.</p>\n";
  out += Roofline(rows, peak, bandwidth, std::move(points)).draw();
}

}  // namespace opd
