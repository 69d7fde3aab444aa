#include "report/writers/report_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "report/writers/report_charts.h"
#include "value/dtype.h"

namespace opd {
namespace {

constexpr std::string_view kBold = "\033[1m", kDim = "\033[2m", kYellow = "\033[33m", kBlue = "\033[34m",
                           kReset = "\033[0m";
constexpr size_t kGap = 2, kLeastName = 16, kMostOther = 14, kLeastShapes = 12, kBar = 8;

// Formats a time with three digits and a unit: "0.42 µs", "812 µs", "1.06 ms", "12.3 s".
std::string short_time(double us) {
  if (!std::isfinite(us) || us < 0) return "";
  std::string out;
  if (us < kShortestShown / 2) return concat(kBelowShortest, " µs");
  const double scaled = us >= 999.5e3 ? us / 1e6 : us >= 999.5 ? us / 1e3 : us;
  append_fixed(out, scaled, scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0);
  return out += us >= 999.5e3 ? " s" : us >= 999.5 ? " ms" : " µs";
}

std::string percent_text(double percent) {
  std::string out;
  append_fixed(out, percent, 1);
  return out += " %";
}

// Formats a count as "12.3M", because full counts are often wider than a column. A mean may be "0.1".
std::string short_count(double number) {
  constexpr std::string_view kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t unit = 0;
  while (std::abs(number) >= 999.5 && unit + 1 < std::size(kUnits)) number /= 1000, ++unit;
  std::string out;
  const bool is_whole = unit == 0 && std::abs(number - std::round(number)) < 0.05;
  append_fixed(out, number, is_whole || std::abs(number) >= 99.95 ? 0 : 1);
  return out += kUnits[unit];
}

std::string short_dtype(std::string_view dtype) {
  for (const auto &[name, letter] :
       {std::pair<std::string_view, std::string_view>{"float", "f"}, {"uint", "u"}, {"int", "i"}, {"bfloat", "bf"}})
    if (dtype.starts_with(name) && dtype.size() > name.size() && dtype[name.size()] <= '9')
      return concat(letter, dtype.substr(name.size()));
  return std::string(dtype);
}

// Writes "float32[4, 784], float32[784, 10]" as "4x784 784x10 f32", like inputs of the program. If that is longer than
// `most`, whole shapes are left out at the end, because a part of a shape would look like another shape.
std::string short_shapes(std::string_view text, size_t most) {
  struct Part {
    std::string dtype, dims;
  };
  std::vector<Part> parts;
  while (!text.empty()) {
    const ShapeText shape = take_shape(text);
    Part &part = parts.emplace_back(Part{short_dtype(shape.dtype), ""});
    for (const char c : shape.dims)
      if (c == ',') part.dims += 'x';
      else if (c != '[' && c != ']' && c != ' ') part.dims += c;
  }
  const bool is_uniform = !parts.empty() && std::ranges::all_of(parts, [&](const Part &part) {
    return part.dtype == parts[0].dtype && !part.dims.empty();
  });
  const auto with = [&](size_t shown, bool has_dtype) {
    std::string out;
    for (size_t i = 0; i < shown; ++i) {
      const Part &part = parts[i];
      out += out.empty() ? "" : " ";
      if (is_uniform || part.dims.empty()) out += part.dims.empty() ? part.dtype : part.dims;
      else append(out += part.dims + 'x', part.dtype);
    }
    if (shown < parts.size()) out += " …";
    if (is_uniform && has_dtype) append(out += ' ', parts[0].dtype);
    return out;
  };
  for (const bool has_dtype : {true, false})
    for (size_t shown = parts.size(); shown > 0; --shown)
      if (std::string out = with(shown, has_dtype); width_of(out) <= most) return out;
  return parts.empty() ? "" : "…";
}

constexpr double kFarFromPeak = 30, kNearPeak = 60;  // percent; a kernel has much room below, little above
constexpr double kMuchDispatch = 20;                 // percent of the time

void append_percent(std::string &out, double percent) {
  append_fixed(out, percent, percent < 9.95 ? 1 : 0);
  out += " %";
}

// The calls of one operator, for all shapes together.
struct Leader {
  std::string name;
  double us = 0;
  double peak_us = 0, peak_sum = 0;  // time of calls with a known share of the peak; sum of time times share
};

Leader leader_of(const ReportRows &rows) {
  const size_t peak_column = rows.find(kPeakShareColumn);
  std::map<std::string, Leader> operators;
  const Leader *longest = nullptr;
  for (size_t row = 0; row < rows.num_calls(); ++row) {
    if (rows.kind(row) != RowKind::kCall) continue;
    std::string name = rows.text(row, ReportRows::kName);
    Leader &each = operators[name];
    const double us = self_time_of(rows, row);
    each.name = std::move(name);
    each.us += us;
    if (const auto peak = peak_column == SIZE_MAX ? std::nullopt : number_of(rows.cell(row, peak_column)))
      each.peak_us += us, each.peak_sum += *peak * us;
    if (!longest || each.us > longest->us) longest = &each;
  }
  return longest ? *longest : Leader();
}

double dispatch_time_of(const ReportRows &rows) {
  double us = 0;
  for (size_t row = 0; row < rows.num_calls(); ++row)
    if (rows.kind(row) == RowKind::kDispatch) us += self_time_of(rows, row);
  return us;
}

// Draws a bar in eighths of a character.
std::string bar_of(double share, size_t width) {
  constexpr std::string_view kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double filled = std::clamp(share, 0.0, 1.0) * static_cast<double>(width) * 8;
  const auto eighths = static_cast<size_t>(std::llround(filled));
  std::string out;
  for (size_t i = 0; i < eighths / 8; ++i) out += "█";
  append(out, kParts[eighths % 8]);
  return out;
}

class Summary {
 public:
  Summary(const ReportRows &rows, const SummaryOptions &options)
      : rows_(rows), options_(options), total_us_(total_time_of(rows)) {
    order_ = by_self_time(rows);
    if (!options.sorted) std::iota(order_.begin(), order_.end(), size_t{0});
    shown_ = rows.num_calls();
    if (options.most_rows && shown_ > options.most_rows + 1) shown_ = options.most_rows;  // "1 more" takes a row, too
  }

  std::string write() {
    for (const std::string &warning : warnings_of(rows_.report())) add_paragraph(warning, kYellow);
    choose_columns();
    add_lines();
    add_rest();
    add_totals();
    if (!hidden_.empty()) add_paragraph(concat("Also measured: ", hidden_), kDim);
    if (const std::string conclusion = conclusion_of(rows_); !conclusion.empty()) {
      out_ += '\n';
      add_paragraph(conclusion, kBold);
    }
    add_paragraph(wait_text_of(rows_), kYellow);
    return std::move(out_);
  }

 private:
  struct Shown {
    std::string header;
    std::vector<std::string> cells;
    bool is_text = false;
    std::string_view color = {};
    size_t width = 0;
  };

  template <class Text>
  Shown column(std::string_view header, const Text &text, bool is_text = false) const {
    Shown made{std::string(header), {}, is_text, {}, width_of(header)};
    for (size_t i = 0; i < shown_; ++i) {
      made.cells.push_back(text(order_[i]));
      made.width = std::max(made.width, width_of(made.cells.back()));
    }
    return made;
  }
  void shorten(Shown &shown, size_t most) const {
    if (shown.width <= most) return;
    for (std::string &cell : shown.cells) cell = shortened(cell, most);
    shown.header = shortened(shown.header, most);
    shown.width = most;
  }
  // Adds a column if there is room.
  bool add(Shown shown) {
    const size_t gap = columns_.empty() ? 0 : kGap;
    if (used_ + gap + shown.width > options_.width) return false;
    used_ += gap + shown.width;
    columns_.push_back(std::move(shown));
    return true;
  }

  double share_of(size_t row) const { return total_us_ > 0 ? self_time_of(rows_, row) / total_us_ : 0; }

  // If the report is of several runs, sums are shown per run.
  std::string metric_text(size_t row, size_t column) const {
    Metric metric = rows_.cell(row, column);
    const RunMedians *const runs = rows_.run_medians();
    if (const bool is_sum = metric.is_integer() || metric.kind == MetricKind::kDuration;
        runs && is_sum && meaning_of_column(rows_.headers()[column]).join == Join::kByKind) {
      const double mean = number_of(metric).value_or(0) / static_cast<double>(runs->num_runs);
      if (metric.is_integer()) return short_count(mean);
      metric = Metric::of_number(metric.kind, mean);
    }
    if (metric.kind == MetricKind::kDuration) return short_time(metric.number());
    if (metric.is_integer()) return short_count(static_cast<double>(metric.count()));
    if (metric.kind == MetricKind::kPercent) return percent_text(metric.number());
    return rows_.text(row, column);
  }

  static bool is_spread(std::string_view name) {  // of calls; the summary of several runs shows medians per run
    return name == kRunMedianColumn || name == kMedianColumn || name == kMinColumn || name == kMaxColumn;
  }

  // The most important columns come first; those that do not fit are left out.
  void choose_columns() {
    const auto text = [&](size_t place) { return [this, place](size_t row) { return metric_text(row, place); }; };
    Shown name = column(
        "Operator", [&](size_t row) { return rows_.text(row, ReportRows::kName); }, true);
    const size_t most = std::max(kLeastName, options_.width / 4);
    name.cells = shortened_apart(name.cells, most);
    name.width = std::min(name.width, most);
    add(std::move(name));
    const size_t self = rows_.find(kSelfColumn), peak = rows_.find(kPeakShareColumn);
    const RunMedians *const runs = rows_.run_medians();
    if (runs) add(column("Median", [&](size_t row) { return short_time(runs->self_us[row]); }));
    else add(column("Time", text(self == SIZE_MAX ? ReportRows::kDuration : self)));
    add(column("Share", [&](size_t row) { return total_us_ > 0 ? percent_text(share_of(row) * 100) : ""; }));
    if (options_.colored && total_us_ > 0) {
      Shown bar = column(
          "", [&](size_t row) { return bar_of(share_of(row), kBar); }, true);
      bar.color = kBlue, bar.width = kBar;
      add(std::move(bar));
    }
    add(column("Calls", text(ReportRows::kCount)));
    if (peak != SIZE_MAX) add(column("Of peak", [&](size_t row) { return peak_text(rows_.cell(row, peak)); }));
    if (self != SIZE_MAX && runs) add(column("With inner", [&](size_t row) { return short_time(runs->us[row]); }));
    else if (self != SIZE_MAX) add(column("With inner", text(ReportRows::kDuration)));
    add_others(false);
    const size_t left = options_.width - std::min(options_.width, used_ + kGap);
    if (left >= kLeastShapes)
      add(column(
          "Shapes", [&](size_t row) { return short_shapes(rows_.text(row, ReportRows::kShapes), left); }, true));
    add_others(true);
  }

  // The roof is memory bandwidth. Caches are faster, so shares above 100 % are not shown exactly.
  static std::string peak_text(Metric share) {
    if (!share.is_number()) return "";
    return share.number() > 100 ? ">100 %" : percent_text(share.number());
  }

  void add_others(bool minor) {
    for (size_t i = ReportRows::kShapes + 1; i < rows_.headers().size(); ++i) {
      const std::string_view name = rows_.headers()[i];
      if (name == kSelfColumn || name == kPeakShareColumn || name == kErrorColumn || name == kWaitedColumn ||
          (rows_.run_medians() && is_spread(name)) || meaning_of_column(name).is_minor != minor)
        continue;
      std::string header;
      append_printable(header, name);
      constexpr std::string_view kUnit = " (us)";  // cells of times have a unit of their own
      const bool is_time = header.ends_with(kUnit);
      Shown shown = column(
          is_time ? header.substr(0, header.size() - kUnit.size()) : header,
          [&](size_t row) { return metric_text(row, i); }, rows_.is_text_column(i));
      shorten(shown, kMostOther);
      if (!add(std::move(shown))) append(hidden_ += hidden_.empty() ? "" : ", ", header);
    }
  }

  void add_lines() {
    add_line(kBold, [](const Shown &shown) -> const std::string & { return shown.header; });
    for (size_t i = 0; i < shown_; ++i)
      add_line(rows_.kind(order_[i]) == RowKind::kCall ? "" : kDim,
               [i](const Shown &shown) -> const std::string & { return shown.cells[i]; });
  }
  template <class Cell>
  void add_line(std::string_view style, const Cell &cell_of) {
    std::string line;
    for (const Shown &shown : columns_) {
      const std::string &cell = cell_of(shown);
      const std::string padding(shown.width - std::min(shown.width, width_of(cell)), ' ');
      line += line.empty() ? "" : std::string(kGap, ' ');
      if (!shown.is_text) line += padding;
      line += paint(cell, style.empty() ? shown.color : style);
      if (shown.is_text) line += padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out_ += line + "\n";
  }

  void add_rest() {
    if (shown_ == rows_.num_calls()) return;
    double rest = 0;
    for (size_t i = shown_; i < order_.size(); ++i) rest += share_of(order_[i]);
    std::string text = counted(rows_.num_calls() - shown_, "more row");
    if (total_us_ > 0) text += ", " + percent_text(rest * 100);
    add_paragraph(text, kDim);
  }

  void add_totals() {
    const RunMedians *const runs = rows_.run_medians();
    for (const auto &[device, metrics] : rows_.report().devices()) {
      std::string line;
      for (const auto &[name, metric] : metrics) {
        if (name == rows_.headers()[ReportRows::kDuration])
          if (const auto us = number_of(metric)) line += concat("Total ", short_time(runs ? runs->total_us : *us));
        if (name == rows_.headers()[ReportRows::kCount] && metric.is_integer() && metric.count() > 1)
          line += runs ? concat(", median of ", runs->num_shown, " runs,") : concat(" in ", metric.count(), " runs");
      }
      append_printable(line += " on ", device);
      add_paragraph(line, "");
    }
  }

  std::string paint(std::string_view text, std::string_view style) const {
    if (!options_.colored || style.empty() || text.empty()) return std::string(text);
    return concat(style, text, kReset);
  }

  // Adds text, broken into lines that fit.
  void add_paragraph(std::string_view text, std::string_view style) {
    std::string line;
    const auto flush = [&] {
      if (!line.empty()) out_ += paint(line, style) + "\n";
      line.clear();
    };
    while (!text.empty()) {
      const size_t end = std::min(text.find(' '), text.size());
      const std::string_view word = text.substr(0, end);
      if (!line.empty() && width_of(line) + 1 + width_of(word) > options_.width) flush();
      append(line += line.empty() ? "" : " ", word);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    flush();
  }

  const ReportRows &rows_;
  const SummaryOptions &options_;
  const double total_us_;
  std::vector<size_t> order_;  // rows of calls in the order shown
  size_t shown_ = 0, used_ = 0;
  std::vector<Shown> columns_;
  std::string hidden_;  // names of columns that did not fit
  std::string out_;
};

}  // namespace

std::string summary_of(const ReportRows &rows, const SummaryOptions &options) { return Summary(rows, options).write(); }

std::string conclusion_of(const ReportRows &rows) {
  const Leader leader = leader_of(rows);
  const double total = total_time_of(rows), dispatch_us = dispatch_time_of(rows);
  if (!(leader.us > 0) || !(total > 0)) return {};
  std::string out = leader.name;
  append_percent(out += " takes ", leader.us / total * 100);
  out += " of the time";
  const double peak = leader.peak_us > 0 ? std::min(100.0, leader.peak_sum / leader.peak_us) : 0;
  const bool is_far = peak > 0 && peak < kFarFromPeak;
  if (peak > 0) {
    append_percent(out += is_far ? " but reaches " : " at ", peak);
    out += " of peak";
  }
  const double dispatch = dispatch_us / total * 100;
  if (dispatch >= kMuchDispatch) {
    append_percent(out += "; dispatch ", dispatch);
    return out += ": fewer and larger operators would help";
  }
  if (is_far) out += ": a faster kernel would help";
  if (peak >= kNearPeak) out += ": only less work would help";
  if (dispatch_us > 0) append_percent(out += "; dispatch ", dispatch);
  return out;
}

std::string wait_text_of(const ReportRows &rows) {
  if (const RunMedians *runs = rows.run_medians()) return runs->wait_text();
  return wait_text(waited_share(rows.report()));
}

std::vector<std::string> collector_failures_of(const Report &report) {
  std::vector<std::string> lines;
  for (const auto &[name, metric] : report.configuration()) {
    if (!name.starts_with(kCollectorErrorEntry)) continue;
    std::string &line = lines.emplace_back("collector ");
    append_printable(line, std::string_view(name).substr(kCollectorErrorEntry.size()));
    line += " failed: ";
    if (metric.is_text()) append_printable(line, report.text(metric.text()));
  }
  return lines;
}

std::vector<std::string> warnings_of(const Report &report) {
  std::vector<std::string> warnings = collector_failures_of(report);
  const auto text_of = [&](Metric metric) {
    std::string text;
    if (metric.is_text()) append_printable(text, report.text(metric.text()));
    else if (metric.is_integer()) append(text, metric.count());
    return text;
  };
  for (const auto &[name, metric] : report.configuration()) {
    if (name == kDroppedEntry) warnings.push_back(concat(text_of(metric), " calls found no room and have no row"));
    if (name == kNoteEntry) warnings.push_back(text_of(metric));
  }
  // A nested call ends before its callers, so the first error is the cause of theirs.
  Cells errors(report.find_column(kErrorColumn)), names(report.find_column("Name"));
  for (size_t row = 0; row < report.num_rows() && report.find_column(kErrorColumn); ++row) {
    const Metric error = errors.at(row), name = names.at(row);
    if (!error.is_text()) continue;
    warnings.push_back(concat(text_of(name), " failed: ", text_of(error)));
    break;
  }
  return warnings;
}

}  // namespace opd
