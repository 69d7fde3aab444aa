// Implements include/opdyno/report.h.
#include "report/report.h"

#include "capi/handles.h"
#include "report/writers/report_summary.h"

using namespace opd;

opd_error *opd_report_from_json(const char *json, size_t size, opd_report **out_report) {
  return guard([&] {
    OPD_REQUIRE(out_report);
    OPD_REQUIRE_ITEMS(json, size);
    *out_report = wrap<opd_report>(Report::from_json({json, size}));
  });
}

namespace {
std::string table_of(const Report &report, const opd_report_write_options &how) {
  if (how.width == 0) return report.to_table(how.sort, how.aggregate, how.col_sums);
  constexpr int32_t kLeastWidth = 40;
  require(how.width >= kLeastWidth, "width must be 0 or at least ", kLeastWidth, ", but is ", how.width);
  require(how.max_rows >= 0, "max_rows must be at least 0, but is ", how.max_rows);
  SummaryOptions options;
  options.width = static_cast<size_t>(how.width), options.most_rows = static_cast<size_t>(how.max_rows);
  options.sorted = how.sort, options.colored = how.colored;
  return summary_of(ReportRows(report, how.sort, how.aggregate, false), options);
}
}  // namespace

opd_error *opd_report_write(const opd_report *report, opd_report_format format, const opd_report_write_options *options,
                            opd_buffer **out_text) {
  return guard([&] {
    OPD_REQUIRE(report, out_text);
    const auto how = read_options(options, opd_report_write_options_init);
    const Report &its = *unwrap<Report>(report);
    switch (static_cast<int>(format)) {
      case OPD_REPORT_JSON:
        return give_text(its.to_json(), out_text);
      case OPD_REPORT_CSV:
        return give_text(its.to_csv(), out_text);
      case OPD_REPORT_TABLE:
        return give_text(table_of(its, how), out_text);
      case OPD_REPORT_MARKDOWN:
        return give_text(its.to_markdown(how.sort, how.aggregate, how.col_sums), out_text);
      case OPD_REPORT_HTML:
        return give_text(its.to_html(how.sort, how.aggregate, how.col_sums), out_text);
      default:
        fail(OPD_INVALID_ARGUMENT, "format must be a format of reports, but is ", static_cast<int>(format));
    }
  });
}

opd_error *opd_report_to_arrow(const opd_report *report, ArrowArrayStream *out_stream) {
  return guard([&] {
    OPD_REQUIRE(report, out_stream);
    report_to_arrow(Ref<Report>::share(unwrap<Report>(report)), out_stream);
  });
}

namespace {

constexpr std::string_view kDeviceName = "Device";

struct Cell {
  Value value;
  opd_metric_kind kind;
};

Cell cell_of(const Report &report, Metric metric) {
  return {Value(report.view_of(metric)), static_cast<opd_metric_kind>(metric.kind)};
}

[[noreturn]] void fail_section(opd_report_section section) {
  fail(OPD_INVALID_ARGUMENT, "section must be a section of reports, but is ", static_cast<int>(section));
}

size_t count_of(const Report &report, opd_report_section section) {
  switch (static_cast<int>(section)) {
    case OPD_REPORT_CALLS:
      return report.num_rows();
    case OPD_REPORT_DEVICES:
      return report.devices().size();
    case OPD_REPORT_CONFIGURATION:
      return 1;
    default:
      fail_section(section);
  }
}

// Returns the names of the devices' metrics, each once.
std::vector<std::string_view> device_metrics(const Report &report) {
  std::vector<std::string_view> names = {kDeviceName};
  for (const auto &[device, metrics] : report.devices())
    for (const auto &[name, metric] : metrics)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::vector<std::string_view> names_of(const Report &report, opd_report_section section) {
  std::vector<std::string_view> names;
  switch (static_cast<int>(section)) {
    case OPD_REPORT_CALLS:
      for (const Column &column : report.columns()) names.push_back(column.name());
      return names;
    case OPD_REPORT_DEVICES:
      return device_metrics(report);
    case OPD_REPORT_CONFIGURATION:
      for (const auto &[key, metric] : report.configuration()) names.push_back(key);
      return names;
    default:
      fail_section(section);
  }
}

Cell device_cell(const Report &report, size_t row, std::string_view name) {
  const auto &[device, metrics] = report.devices()[row];
  if (name == kDeviceName) return {Value(std::string_view(device)), OPD_METRIC_STRING};
  for (const auto &[its, metric] : metrics)
    if (its == name) return cell_of(report, metric);
  const auto names = device_metrics(report);
  if (std::find(names.begin(), names.end(), name) == names.end()) report.device_metric(device, name);  // throws
  return {Value(), OPD_METRIC_NONE};
}

Cell cell(const Report &report, opd_report_section section, size_t row, std::string_view name) {
  if (const size_t count = count_of(report, section); row >= count && section != OPD_REPORT_CALLS)
    fail(OPD_OUT_OF_RANGE, "row must be below ", count, ", but is ", row);
  switch (section) {
    case OPD_REPORT_CALLS:
      return cell_of(report, report.call_metric(row, name));
    case OPD_REPORT_DEVICES:
      return device_cell(report, row, name);
    default:
      return cell_of(report, report.configuration_metric(name));
  }
}

}  // namespace

int32_t opd_report_count(const opd_report *report, opd_report_section section) {
  if (!report || section < OPD_REPORT_CALLS || section > OPD_REPORT_CONFIGURATION) return 0;
  return count_of_items(count_of(*unwrap<Report>(report), section));
}

opd_error *opd_report_list(const opd_report *report, opd_report_section section, opd_array **out_names) {
  return guard([&] {
    OPD_REQUIRE(report, out_names);
    *out_names = wrap_names(names_of(*unwrap<Report>(report), section));
  });
}

opd_error *opd_report_get(const opd_report *report, opd_report_section section, int32_t row, const char *name,
                          opd_value *out_value, opd_metric_kind *out_kind) {
  return guard([&] {
    OPD_REQUIRE(report, name, out_value);
    if (row < 0) fail(OPD_OUT_OF_RANGE, "row must be >= 0, but is ", row);
    Cell found = cell(*unwrap<Report>(report), section, static_cast<size_t>(row), name);
    *out_value = found.value.detach();
    if (out_kind) *out_kind = found.kind;
  });
}

opd_error *opd_report_get_column(const opd_report *report, opd_report_section section, const char *name,
                                 opd_array **out_values, opd_array **out_kinds) {
  return guard([&] {
    OPD_REQUIRE(report, name, out_values);
    const Report &its = *unwrap<Report>(report);
    const size_t count = count_of(its, section);
    const Column *column = section == OPD_REPORT_CALLS ? its.find_column(name) : nullptr;
    if (section == OPD_REPORT_CALLS && !column && count == 0)
      fail(OPD_NOT_FOUND, "a report without calls has no column \"", name, "\"");
    std::vector<Value> values, kinds;
    values.reserve(count), kinds.reserve(count);
    for (size_t row = 0; row < count; ++row) {
      Cell found = column ? cell_of(its, column->at(row)) : cell(its, section, row, name);
      values.push_back(std::move(found.value));
      kinds.emplace_back(static_cast<int64_t>(found.kind));
    }
    auto made = wrap_values(kinds);
    *out_values = wrap<opd_array>(wrap_values(values));
    if (out_kinds) *out_kinds = wrap<opd_array>(std::move(made));
  });
}

opd_error *opd_report_merge(const opd_report *const *reports, int32_t num, opd_report **out_report) {
  return guard([&] {
    require(num != 0, "at least one report is expected");
    OPD_REQUIRE(reports, out_report);
    const auto all = objects_of<const Report *>(OPD_REQUIRE_ITEMS(reports, num), "reports");
    *out_report = wrap<opd_report>(Report::merge(all));
  });
}
