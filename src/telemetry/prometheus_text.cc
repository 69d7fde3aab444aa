// Writes metrics as text for Prometheus. Source: Prometheus, "Exposition formats"; OpenMetrics 1.0.0.
#include <cmath>

#include "base/json_writer.h"
#include "base/text.h"
#include "telemetry/metric.h"

namespace opd {
namespace {

void append_escaped(std::string &out, std::string_view text, bool is_label) {
  std::string valid;
  append_utf8_text(valid, text);
  for (const char c : valid) {
    if (c == '\\') out += "\\\\";
    else if (c == '\n') out += "\\n";
    else if (c == '"' && is_label) out += "\\\"";
    else out += c;
  }
}

void append_number(std::string &out, double number) {
  if (std::isnan(number)) out += "NaN";
  else if (std::isinf(number)) out += number < 0 ? "-Inf" : "+Inf";
  else if (number == std::floor(number) && std::abs(number) < 1e15) append(out, static_cast<int64_t>(number));
  else append(out, number);
}

class Writer {
 public:
  explicit Writer(bool open_metrics) : open_metrics_(open_metrics) {}

  void add(const Series &series) {
    if (series.points.empty()) return;
    const bool is_counter = series.kind == SeriesKind::kCounter;
    const char *const kind = is_counter ? "counter" : series.kind == SeriesKind::kGauge ? "gauge" : "histogram";
    // The header has the name of the samples in the older format, that of the family in OpenMetrics.
    const std::string name = series.name + (is_counter && !open_metrics_ ? "_total" : "");
    out_ += concat("# HELP ", name, " ");
    append_escaped(out_, series.help, open_metrics_);
    out_ += concat("\n# TYPE ", name, " ", kind, "\n");
    for (const Point &point : series.points) {
      if (series.kind == SeriesKind::kHistogram) add_histogram(series.name, point);
      else add_sample(series.name + (is_counter ? "_total" : ""), point.labels, point.value);
    }
  }

  std::string take() {
    if (open_metrics_) out_ += "# EOF\n";
    return std::move(out_);
  }

 private:
  void add_sample(std::string_view name, const Labels &labels, double value, std::string_view bound = "") {
    out_ += name;
    char before = '{';
    for (const auto &[key, text] : labels) {
      out_ += before;
      out_ += key;
      out_ += "=\"";
      append_escaped(out_, text, true);
      out_ += '"';
      before = ',';
    }
    if (!bound.empty()) out_ += concat(before, "le=\"", bound, "\""), before = ',';
    if (before == ',') out_ += '}';
    out_ += ' ';
    append_number(out_, value);
    out_ += '\n';
  }

  void add_histogram(const std::string &name, const Point &point) {
    uint64_t below = 0;
    for (size_t i = 0; i < DurationHistogram::kBounds.size(); ++i) {
      below += point.histogram.counts[i];
      std::string bound;
      append(bound, DurationHistogram::kBounds[i]);
      if (open_metrics_ && bound.find_first_of(".e") == bound.npos) bound += ".0";
      add_sample(name + "_bucket", point.labels, static_cast<double>(below), bound);
    }
    const auto count = static_cast<double>(point.histogram.count);
    add_sample(name + "_bucket", point.labels, count, "+Inf");
    add_sample(name + "_sum", point.labels, point.histogram.sum);
    add_sample(name + "_count", point.labels, count);
  }

  const bool open_metrics_;
  std::string out_;
};

}  // namespace

std::string prometheus_text(const std::vector<Series> &all, bool open_metrics) {
  Writer writer(open_metrics);
  for (const Series &series : all) writer.add(series);
  return writer.take();
}

const char *prometheus_type(bool open_metrics) {
  return open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                      : "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace opd
