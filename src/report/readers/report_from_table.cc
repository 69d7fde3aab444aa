// Reads a text table back. All cells of a column end at the same place, those of the first column begin there. So the
// header shows where columns lie. A line is as wide as the header: in bytes if TVM wrote it, in characters if opdyno
// did.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/json_writer.h"
#include "report/collector_failures.h"
#include "report/metric_text.h"
#include "report/report.h"

namespace opd {
namespace {

constexpr MetricKind kFixedKinds[] = {MetricKind::kString, MetricKind::kDuration, MetricKind::kPercent,
                                      MetricKind::kString, MetricKind::kCount,    MetricKind::kString};
constexpr size_t kNumFixed = std::size(kTvmColumns);

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// ---- numbers

// The size of a digit group separator at the front of `text`; 0 if there is none.
size_t separator_size(std::string_view text) {
  for (const std::string_view known : {".", ",", "'", " ", "\u00A0", "\u202F", "\u2019"})
    if (text.starts_with(known)) return known.size();
  return 0;
}

// Converts a number with any locale's separators to the C locale. If the kind has decimals, the last dot or comma is
// the decimal point; otherwise separators must stand before three digits. Returns "" if it is not a number.
std::string plain_number(std::string_view text, bool has_decimals) {
  if (text == "nan" || text == "inf" || text == "-inf") return std::string(text);
  std::string out(text.substr(0, text.starts_with('-')));
  size_t point = std::string::npos, last_group = 0;
  for (size_t i = out.size(); i < text.size(); ++i) {
    if (is_digit(text[i])) {
      out += text[i], ++last_group;
      continue;
    }
    if (i == 0 || !is_digit(text[i - 1])) return "";
    if (text[i] == 'e' && has_decimals) return out += text.substr(i);
    const size_t size = separator_size(text.substr(i));
    if (!size || i + size >= text.size() || !is_digit(text[i + size])) return "";
    if (has_decimals && (text[i] == '.' || text[i] == ',')) {
      if (point != std::string::npos) out.erase(point, 1);
      point = out.size();
      out += '.';
    }
    last_group = 0;
    out += text[i += size];
    ++last_group;
  }
  const bool grouped = last_group != static_cast<size_t>(std::count_if(out.begin(), out.end(), is_digit));
  return !has_decimals && grouped && last_group != 3 ? "" : out;
}

template <class T>
std::optional<T> number(std::string_view text, bool has_decimals) {
  const std::string plain = plain_number(text, has_decimals);
  T value{};
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (plain.empty() || error != std::errc() || end != plain.data() + plain.size()) return std::nullopt;
  return value;
}

// Guesses the kind of a text in a column that the table's layout does not fix. Ratios have two digits and durations two
// decimals, so three digits after a separator are a group.
MetricKind guess(std::string_view text) {
  if (text == kBelowShortest) return MetricKind::kRatio;
  if (!number<double>(text, true)) return MetricKind::kString;
  const size_t separator = text.find_last_of(".,");
  const bool grouped = separator != std::string_view::npos && text.size() - separator == 4;
  if (text.find_first_of("en") != std::string_view::npos) return MetricKind::kRatio;  // with an exponent, or not finite
  return (separator == std::string_view::npos || grouped) && number<int64_t>(text, false) ? MetricKind::kCount
                                                                                          : MetricKind::kRatio;
}

MetricKind kind_by_unit(std::string_view name, MetricKind kind) {
  if (kind == MetricKind::kString) return kind;
  if (name.ends_with("(us)")) return MetricKind::kDuration;
  if (name.ends_with("(%)") || name.ends_with("Percent")) return MetricKind::kPercent;
  if (name.ends_with("(Hz)")) return MetricKind::kRatio;
  return kind;
}

// ---- the table

class TableReader {
 public:
  explicit TableReader(std::string_view text) { split(text); }

  Ref<Report> read() {
    if (lines_.empty()) bad(0, "is missing: a table begins with its columns");
    num_rows_ = static_cast<size_t>(
        std::find_if(lines_.begin(), lines_.end(), [](auto line) { return trimmed(line).empty(); }) - lines_.begin());
    in_bytes_ = std::all_of(lines_.begin(), lines_.begin() + static_cast<ptrdiff_t>(num_rows_),
                            [&](auto line) { return line.size() == lines_[0].size(); });
    read_header();
    for (size_t line = 1; line < num_rows_; ++line) rows_.push_back(cells_of(line));
    find_kinds();
    add_rows();
    read_configuration();
    return builder_.finish();
  }

 private:
  using Cells = std::vector<std::pair<size_t, std::string_view>>;  // by column

  [[noreturn]] void bad(size_t line, std::string_view problem) const {
    fail(OPD_BAD_FORMAT, "report: line ", num_above_ + line + 1, " of the table ", problem);
  }

  void split(std::string_view text) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      std::string_view line = text.substr(begin, end - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!is_utf8(line)) bad(lines_.size(), "is not UTF-8");
      lines_.push_back(line);
      begin = end + 1;
    }
    // The configuration names failed collectors again.
    while (num_above_ < lines_.size() && is_collector_failure(lines_[num_above_])) ++num_above_;
    if (num_above_ > 0 && num_above_ < lines_.size() && lines_[num_above_].empty()) ++num_above_;
    lines_.erase(lines_.begin(), lines_.begin() + static_cast<ptrdiff_t>(num_above_));
  }

  // The index of the byte `width` behind the byte `begin` of a line; the line's size if it is shorter.
  size_t place_after(std::string_view line, size_t begin, size_t width) const {
    if (in_bytes_) return std::min(begin + width, line.size());
    for (; begin < line.size() && width; --width) begin += utf8_length(line.substr(begin));
    return begin;
  }
  size_t width_of(std::string_view text) const { return in_bytes_ ? text.size() : opd::width_of(text); }

  void read_header() {
    const std::string_view line = lines_[0];
    size_t width = 0;  // of the text before `done`
    for (size_t begin = line.find_first_not_of(' '), done = 0; begin < line.size();) {
      const size_t end = std::min(line.find("  ", begin), line.size());
      names_.push_back(trimmed(line.substr(begin, end - begin)));
      const size_t name_end = begin + names_.back().size();
      ends_.push_back(width += width_of(line.substr(done, name_end - done)));
      done = name_end;
      begin = line.find_first_not_of(' ', end);
    }
    if (names_.size() < kNumFixed || !std::equal(std::begin(kTvmColumns), std::end(kTvmColumns), names_.begin()))
      bad(0,
          "is not that of a report: its columns begin with Name, Duration (us), Percent, Device, Count and Argument "
          "Shapes");
  }

  // Returns only cells that are not empty, so that a small text cannot ask for much memory.
  Cells cells_of(size_t number) const {
    std::string_view line = lines_[number];
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    Cells cells;
    const auto add = [&](size_t column, std::string_view text) {
      if (text = trimmed(text); !text.empty()) cells.emplace_back(column, text);
    };
    // The first two columns share one range: the second has a cell if text ends where that column ends.
    size_t end = place_after(line, 0, ends_[1]);
    const std::string_view both = line.substr(0, end);
    size_t split = both.size();
    if (width_of(both) == ends_[1] && !both.ends_with(' ')) {
      split = both.rfind("  ");
      if (split == std::string_view::npos) split = 0;
    }
    add(0, both.substr(0, split));
    add(1, both.substr(split));
    for (size_t i = 2; i < ends_.size() && end < line.size(); ++i) {
      if (line[end] != ' ') bad(number, concat("has text across the end of the column ", names_[i - 1]));
      const size_t begin = end;
      end = place_after(line, begin, ends_[i] - ends_[i - 1]);
      add(i, line.substr(begin, end - begin));
    }
    if (end < line.size()) bad(number, "is wider than the columns");
    return cells;
  }
  static std::string_view cell(const Cells &row, size_t column) {
    for (const auto &[place, text] : row)
      if (place == column) return text;
    return "";
  }

  void find_kinds() {
    kinds_.assign(names_.size(), MetricKind::kNone);
    for (const auto &row : rows_)
      for (const auto &[column, text] : row) {
        MetricKind &kind = kinds_[column];
        const MetricKind found = guess(text);
        if (kind == MetricKind::kNone || found == MetricKind::kString) kind = found;
        else if (kind != MetricKind::kString && found == MetricKind::kRatio) kind = found;
      }
    for (size_t i = 0; i < names_.size(); ++i)
      kinds_[i] = i < kNumFixed ? kFixedKinds[i] : kind_by_unit(names_[i], kinds_[i]);
  }

  Metric metric_of(size_t line, size_t column, std::string_view text) {
    return metric_of(line, names_[column], kinds_[column], text);
  }
  Metric metric_of(size_t line, std::string_view name, MetricKind kind, std::string_view text) {
    if (kind == MetricKind::kString) return builder_.text(text);
    if (kind == MetricKind::kCount) {
      const auto count = number<int64_t>(text, false);
      if (!count) bad(line, concat("has \"", text.substr(0, 60), "\" as its ", name, ", which is a count"));
      return Metric::of_count(*count);
    }
    if (kind == MetricKind::kDuration && text == kBelowShortest) return Metric::of_number(kind, 0);
    const auto value = number<double>(text, true);
    if (!value) bad(line, concat("has \"", text.substr(0, 60), "\" as its ", name, ", which is a number"));
    return Metric::of_number(kind, *value);
  }

  // First calls; then, optionally, a rule and the sums; then the totals, which have a device but no share.
  void add_rows() {
    const auto is_total = [](const Cells &row) {
      return cell(row, 0) == "Total" && cell(row, 2).empty() && !cell(row, 3).empty();
    };
    size_t totals = rows_.size();
    while (totals > 0 && is_total(rows_[totals - 1])) --totals;
    const bool sums = totals >= 2 && cell(rows_[totals - 1], 0) == "Sum" && cell(rows_[totals - 2], 0) == "----------";
    for (size_t row = 0; row < (sums ? totals - 2 : totals); ++row) {
      builder_.begin_row();
      for (size_t kind = 1; kind <= static_cast<size_t>(RowKind::kBuiltins); ++kind)
        if (cell(rows_[row], 0) == computed_row_title(static_cast<RowKind>(kind)))
          builder_.set_row_kind(static_cast<RowKind>(kind));
      for (const auto &[column, text] : rows_[row])
        if (!builder_.set(builder_.column(names_[column]), metric_of(row + 1, column, text)))
          bad(0, concat("has the column ", names_[column], " twice"));
    }
    for (size_t row = totals; row < rows_.size(); ++row) {
      const std::string_view device = cell(rows_[row], 3);
      if (!builder_.begin_device(device)) bad(row + 1, concat("is a second total of ", device));
      for (const auto &[column, text] : rows_[row])
        builder_.set_device(names_[column], metric_of(row + 1, column, text));
    }
  }

  void read_configuration() {
    for (size_t line = num_rows_; line < lines_.size(); ++line) {
      const std::string_view text = trimmed(lines_[line]);
      const bool title = line == num_rows_ + 1 && text == "Configuration";
      if (text.empty() || title || (line == num_rows_ + 2 && text == "-------------")) continue;
      size_t name = 0;  // where a collector's name begins
      for (const std::string_view entry : {kCollectorErrorEntry, kCollectorNoteEntry})
        if (text.starts_with(entry)) name = entry.size();
      const size_t colon = text.find(": ", name);
      const std::string_view key = text.substr(0, text.ends_with(':') && colon == text.npos ? text.size() - 1 : colon);
      if (colon == text.npos && !text.ends_with(':')) bad(line, "is no entry of the configuration, as key: value");
      const std::string_view value = colon == text.npos ? "" : text.substr(colon + 2);
      if (!builder_.configure(key, metric_of(line, key, kind_by_unit(key, guess(value)), value)))
        bad(line, concat("has the entry ", key, " a second time"));
    }
  }

  std::vector<std::string_view> lines_;  // without those above the table
  size_t num_above_ = 0;
  size_t num_rows_ = 0;  // lines of the table, its header included
  bool in_bytes_ = true;
  std::vector<std::string_view> names_;
  std::vector<size_t> ends_;  // of the columns, in bytes or characters
  std::vector<Cells> rows_;
  std::vector<MetricKind> kinds_;
  ReportBuilder builder_;
};

}  // namespace

Ref<Report> Report::from_table(std::string_view text) { return TableReader(text).read(); }

}  // namespace opd
