// Writes a trace as a text table like torch.profiler's: one row for each name, with times, memory and shapes.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "report/report_rows.h"
#include "trace_formats/trace_formats.h"
#include "value/dtype.h"

namespace opd {
namespace {

constexpr size_t kColumnWidth = 12, kSpacing = 2;

double total_of(const KeyAverage &row) { return static_cast<double>(row.total_ticks); }
double self_of(const KeyAverage &row) { return static_cast<double>(row.self_ticks); }
double mean_of(const KeyAverage &row) { return total_of(row) / static_cast<double>(row.count); }
double count_of(const KeyAverage &row) { return static_cast<double>(row.count); }
double flops_of(const KeyAverage &row) { return row.flop.value_or(0); }
double device_self_of(const KeyAverage &row) { return static_cast<double>(row.device.self); }
double device_total_of(const KeyAverage &row) { return static_cast<double>(row.device.total); }
double device_mean_of(const KeyAverage &row) { return device_total_of(row) / count_of(row); }
template <SpanMemory::Sum SpanMemory::*device, int64_t SpanMemory::Sum::*sum>
double memory_of(const KeyAverage &row) {
  return static_cast<double>(row.memory.*device.*sum);
}

// The sort keys, named like torch's attributes. Times of "cuda" and "device" are those of all devices except the host.
struct SortKey {
  std::string_view name;
  double (*of)(const KeyAverage &row);
};
constexpr SortKey kSortKeys[] = {
    {"self_cpu_time_total", &self_of},
    {"cpu_time_total", &total_of},
    {"cpu_time", &mean_of},
    {"count", &count_of},
    {"flops", &flops_of},
    {"self_device_time_total", &device_self_of},
    {"device_time_total", &device_total_of},
    {"device_time", &device_mean_of},
    {"self_cuda_time_total", &device_self_of},
    {"cuda_time_total", &device_total_of},
    {"cuda_time", &device_mean_of},
    {"cpu_memory_usage", &memory_of<&SpanMemory::host, &SpanMemory::Sum::total>},
    {"self_cpu_memory_usage", &memory_of<&SpanMemory::host, &SpanMemory::Sum::self>},
    {"device_memory_usage", &memory_of<&SpanMemory::other, &SpanMemory::Sum::total>},
    {"self_device_memory_usage", &memory_of<&SpanMemory::other, &SpanMemory::Sum::self>},
    {"cuda_memory_usage", &memory_of<&SpanMemory::other, &SpanMemory::Sum::total>},
    {"self_cuda_memory_usage", &memory_of<&SpanMemory::other, &SpanMemory::Sum::self>},
};

void sort_rows(std::vector<KeyAverage> &rows, std::string_view by) {
  if (by.empty()) return;
  if (by == "key") {
    std::ranges::stable_sort(rows, std::greater(), &KeyAverage::name);
    return;
  }
  const auto *key = std::ranges::find(kSortKeys, by, &SortKey::name);
  if (key == std::end(kSortKeys)) {
    std::string known = "key";
    for (const SortKey &each : kSortKeys) append(known += ", ", each.name);
    fail(OPD_NOT_FOUND, "a table cannot be sorted by \"", by, "\"; it can by ", known);
  }
  std::ranges::stable_sort(rows, std::greater(), key->of);
}

std::string fixed(double number, int digits) {
  std::string out;
  append_fixed(out, number, digits);
  return out;
}

std::string time_text(double us, std::string_view unit) {
  if (unit == "s" || (unit.empty() && us >= 1e6)) return fixed(us / 1e6, 3) + "s";
  if (unit == "ms" || (unit.empty() && us >= 1e3)) return fixed(us / 1e3, 3) + "ms";
  return fixed(us, 3) + "us";
}

std::string memory_text(int64_t bytes) {
  const auto number = static_cast<double>(bytes);
  for (const auto &[name, scale] : {std::pair(" GB", 0x1p30), std::pair(" MB", 0x1p20), std::pair(" KB", 0x1p10)})
    if (std::abs(number) >= scale) return fixed(number / scale, 2) + name;
  return concat(bytes, " B");
}

std::string share_text(double part, double whole) {
  return whole == 0 ? part == 0 ? "0.00%" : "NaN" : fixed(part * 100 / whole, 2) + "%";
}

// "[[8, 1, 28, 28], []]"
std::string dims_text(const Event &event) {
  std::string out = "[";
  each_tensor(event,
              [&](DLDataType, std::span<const int64_t> dims) { append_dims(out += out.size() > 1 ? ", " : "", dims); });
  return out + "]";
}

// Widths are counted in characters, not bytes.
std::string_view first_characters(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if ((text[at] & 0xC0) != 0x80 && count-- == 0) break;
  return text.substr(0, at);
}

struct TableColumn {
  std::string title;
  size_t width = kColumnWidth;
  std::vector<std::string> cells{};
  bool is_left = false;                                // texts are left-aligned
  std::vector<std::vector<std::string>> further = {};  // per row: lines below its cell; empty: no rows have any
};

class TimesTable {
 public:
  TimesTable(const Trace &trace, const TraceTableOptions &options, const GivenWork &work, HostStacks &host)
      : trace_(trace), options_(options), work_(work), host_(host), us_per_tick_(trace.parts.duration_ns(1) / 1000) {
    if (const uint64_t dropped = trace.num_dropped()) dropped_ = concat("Dropped events: ", dropped, "\n");
    if (const auto unit = options.time_unit; !unit.empty() && unit != "s" && unit != "ms" && unit != "us")
      fail(OPD_INVALID_ARGUMENT, "time_unit must be s, ms or us, but is \"", unit, "\"");
  }

  std::string make(std::vector<KeyAverage> rows) {
    double all_self = 0, all_device = 0;
    for (const KeyAverage &row : rows) {
      all_self += self_of(row);
      if (row.event().kind == EventKind::kDeviceWork) all_device += device_self_of(row);  // other rows repeat this time
    }
    sort_rows(rows, options_.sort_by);
    if (options_.top_level_only)
      std::erase_if(rows, [](const KeyAverage &row) { return row.first->parent != Span::kNone; });
    if (rows.empty()) return dropped_;
    size_t longest_name = 0;
    for (const KeyAverage &row : rows) longest_name = std::max(longest_name, width_of(row.name()));
    if (rows.size() > options_.row_limit) rows.resize(options_.row_limit);
    constexpr size_t kMostColumns = 18;
    check_cells(rows.size(), kMostColumns);
    add_name(rows, longest_name);
    add("Self CPU %", rows, [&](const KeyAverage &row) { return share_text(self_of(row), all_self); });
    add("Self CPU", rows, [&](const KeyAverage &row) { return time(self_of(row)); });
    add("CPU total %", rows, [&](const KeyAverage &row) { return share_text(total_of(row), all_self); });
    add("CPU total", rows, [&](const KeyAverage &row) { return time(total_of(row)); });
    add("CPU time avg", rows, [&](const KeyAverage &row) { return time(mean_of(row)); });
    const std::string device = capitals(work_.kind());
    if (!device.empty()) {
      add("Self " + device, rows, [&](const KeyAverage &row) { return time(device_self_of(row)); });
      add("Self " + device + " %", rows,
          [&](const KeyAverage &row) { return share_text(device_self_of(row), all_device); });
      add(device + " total", rows, [&](const KeyAverage &row) { return time(device_total_of(row)); });
      add(device + " time avg", rows, [&](const KeyAverage &row) { return time(device_mean_of(row)); });
    }
    if (trace_.parts.has_memory) add_memory(rows);
    add("# of Calls", rows, [&](const KeyAverage &row) { return concat(row.count); });
    if (options_.rows.by_shape || options_.rows.each_span) add_shapes(rows);
    add_sources(rows);
    if (options_.rows.with_flops) add_flops(rows);
    return dropped_ + lines(rows.size()) + concat("Self CPU time total: ", time(all_self), "\n") +
           (!device.empty() ? concat("Self ", device, " time total: ", time(all_device), "\n") : "");
  }

 private:
  std::string time(double ticks) const { return time_text(ticks * us_per_tick_, options_.time_unit); }

  template <class Text>
  TableColumn &add(std::string title, const std::vector<KeyAverage> &rows, const Text &text) {
    TableColumn &column = columns_.emplace_back(TableColumn{std::move(title)});
    for (const KeyAverage &row : rows) column.cells.push_back(text(row));
    return column;
  }

  void add_name(const std::vector<KeyAverage> &rows, size_t longest) {
    const size_t most = std::max<size_t>(options_.max_name_width, 4);
    add("Name", rows, [&](const KeyAverage &row) {
      std::string name;
      const bool is_long = width_of(row.name()) >= most - 3;
      append_printable(name, is_long ? first_characters(row.name(), most - 3) : row.name());
      return is_long ? name + "..." : name;
    }).width = std::min(longest + 4, most);
  }

  void add_memory(const std::vector<KeyAverage> &rows) {
    const auto add_sums = [&](const std::string &device, SpanMemory::Sum SpanMemory::*of) {
      add(device + " Mem", rows, [&](const KeyAverage &row) { return memory_text((row.memory.*of).total); });
      add("Self " + device + " Mem", rows, [&](const KeyAverage &row) { return memory_text((row.memory.*of).self); });
    };
    add_sums("CPU", &SpanMemory::host);
    if (const std::optional<DLDevice> other = other_device(trace_))
      add_sums(capitals(device_kind_name(other->device_type)), &SpanMemory::other);
  }
  static std::string capitals(std::string text) {
    for (char &c : text)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return text;
  }

  void add_shapes(const std::vector<KeyAverage> &rows) {
    TableColumn &column = add("Input Shapes", rows, [&](const KeyAverage &row) { return dims_text(row.event()); });
    size_t longest = 0;
    for (const std::string &cell : column.cells) longest = std::max(longest, cell.size());
    column.width = std::min(longest + 4, std::max(options_.max_shapes_width, column.title.size()));
    for (std::string &cell : column.cells) cell.resize(std::min(cell.size(), column.width));
  }

  // Writes the host's functions below each other, innermost first. Text that does not fit is cut at the left.
  void add_sources(const std::vector<KeyAverage> &rows) {
    constexpr size_t kMostOfEvents = 5;
    const size_t most = options_.rows.each_span ? kMostOfEvents : options_.rows.stack_depth;
    size_t longest = 0;
    std::vector<std::vector<std::string>> all;
    for (const KeyAverage &row : rows) {
      auto &texts = all.emplace_back();
      const HostStacks::Frames &frames = host_.frames_of(row.stack);
      for (size_t i = 0; i < std::min(most, frames.size()); ++i) {
        append_printable(texts.emplace_back(), host_.text(frames[i]));
        longest = std::max(longest, width_of(texts.back()));
      }
    }
    if (longest == 0) return;
    const size_t width = std::min(longest + 4, std::max<size_t>(options_.max_source_width, 4));
    for (auto &texts : all)
      for (std::string &text : texts)
        if (const size_t length = width_of(text); length > width)
          text = "..." + text.substr(first_characters(text, length - width + 3).size());
    TableColumn &column = columns_.emplace_back(TableColumn{"Source Location", std::max(width, kColumnWidth)});
    column.is_left = true;
    for (auto &texts : all) {
      column.cells.push_back(texts.empty() ? "" : texts[0]);
      if (!texts.empty()) texts.erase(texts.begin());
      texts.emplace_back();  // an empty line
      column.further.push_back(std::move(texts));
    }
  }

  // All values have the unit that suits the smallest one.
  void add_flops(const std::vector<KeyAverage> &rows) {
    static constexpr std::array<std::string_view, 6> kUnits = {"FLOPs",  "KFLOPs", "MFLOPs",
                                                               "GFLOPs", "TFLOPs", "PFLOPs"};
    double least = 0;
    for (const KeyAverage &row : rows)
      if (flops_of(row) > 0 && (least == 0 || flops_of(row) < least)) least = flops_of(row);
    if (least == 0) return;
    const auto unit = static_cast<size_t>(std::clamp(std::floor(std::log10(least) / 3), 0.0, 5.0));
    const double scale = std::pow(10, -3 * static_cast<double>(unit));
    add(concat("Total ", kUnits[unit]), rows, [&](const KeyAverage &row) {
      if (flops_of(row) <= 0) return std::string("--");
      std::string text = fixed(flops_of(row) * scale, 3);
      return text.size() < 8 ? std::string(8 - text.size(), ' ') + text : text;
    });
  }

  std::string lines(size_t rows) const {
    size_t length = 0;
    for (const TableColumn &column : columns_) length += column.width + kSpacing;
    const std::string rule(length - kSpacing, '=');
    std::string out, dashes;
    const auto add_line = [&](const auto &text_of) {
      for (const TableColumn &column : columns_) {
        const std::string &text = text_of(column);
        const size_t used = width_of(text), missing = column.width - std::min(used, column.width);
        if (!column.is_left) out.append(missing, ' ');
        out.append(text);
        if (column.is_left) out.append(missing, ' ');
        out.append(kSpacing, ' ');
      }
      out += '\n';
    };
    for (const TableColumn &column : columns_) dashes.append(column.width, '-').append(kSpacing, ' ');
    dashes += '\n';
    if (!options_.header.empty()) out += concat(rule, "\n", options_.header, "\n");
    if (options_.top_level_only) out += concat(rule, "\nThis report only display top-level ops statistics\n");
    out += dashes;
    add_line([](const TableColumn &column) -> const std::string & { return column.title; });
    out += dashes;
    const std::string none;
    for (size_t row = 0; row < rows; ++row) {
      add_line([&](const TableColumn &column) -> const std::string & { return column.cells[row]; });
      const auto below = std::ranges::find(columns_, true, &TableColumn::is_left);
      for (size_t i = 0; below != columns_.end() && i < below->further[row].size(); ++i)
        add_line([&](const TableColumn &column) -> const std::string & {
          return column.is_left ? column.further[row][i] : none;
        });
    }
    return out + dashes;
  }

  const Trace &trace_;
  const TraceTableOptions &options_;
  const GivenWork &work_;
  HostStacks &host_;
  const double us_per_tick_;
  std::string dropped_;  // the first line, because it changes the meaning of all others; "" if none were dropped
  std::vector<TableColumn> columns_;
};

}  // namespace

std::string trace_table(const Trace &trace, const TraceTableOptions &options) {
  HostStacks host(trace);
  const GivenWork work(trace);
  TimesTable table(trace, options, work, host);
  const std::vector<ThreadSpans> threads = nest_all_spans(trace, false);
  return table.make(key_averages(trace, threads, work, options.rows, host));
}

}  // namespace opd
