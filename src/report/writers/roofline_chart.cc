// Draws speed over arithmetic intensity, below the roof that the machine's peaks form.
#include <algorithm>
#include <array>
#include <cmath>

#include "report/metric_text.h"
#include "report/writers/report_charts.h"

namespace opd {
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
  static constexpr double kHeight = 460, kLeft = 80, kRight = 980, kTop = 20, kBottom = 400;

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

  // Called for the longest first; names that would overlap an earlier one are left out.
  void draw_name(const Point &point) {
    constexpr double kHigh = 16, kWide = 7.2;
    if (named_.size() == 8) return;
    const std::string name = shortened(rows_.text(point.row, ReportRows::kName), 24);
    const double wide = kWide * static_cast<double>(name.size());  // an upper bound, because characters may have
                                                                   // several bytes
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
