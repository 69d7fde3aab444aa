// include/opdyno/report.h
#include "profile/report.h"

#include "capi/handles.h"
#include "profile/chrome_trace.h"
#include "profile/report_arrow.h"
#include "profile/report_merge.h"

using namespace opd;

opd_error *opd_report_from_json(const char *json, size_t size, opd_report **out_report) {
  return guard([&] {
    require(out_report && (json || size == 0), "json and out_report must not be NULL");
    *out_report = wrap<opd_report>(Report::from_json({json, size}));
  });
}

opd_error *opd_report_to_json(const opd_report *report, opd_buffer **out_json) {
  return guard([&] {
    require(report && out_json, "report and out_json must not be NULL");
    give_text(unwrap<Report>(report)->to_json(), out_json);
  });
}

opd_error *opd_report_to_csv(const opd_report *report, opd_buffer **out_csv) {
  return guard([&] {
    require(report && out_csv, "report and out_csv must not be NULL");
    give_text(unwrap<Report>(report)->to_csv(), out_csv);
  });
}

opd_error *opd_report_from_table(const char *text, size_t size, opd_report **out_report) {
  return guard([&] {
    require(out_report && (text || size == 0), "text and out_report must not be NULL");
    *out_report = wrap<opd_report>(Report::from_table({text, size}));
  });
}

void opd_table_options_init(opd_table_options *options) { *options = {sizeof(opd_table_options), 1, 1, 1}; }

namespace {
opd_error *write_rows(const opd_report *report, const opd_table_options *options, opd_buffer **out_text,
                      std::string (Report::*write)(bool, bool, bool) const) {
  return guard([&] {
    require(report && out_text, "report and out_text must not be NULL");
    const auto how = read_sized(options, opd_table_options_init);
    give_text((unwrap<Report>(report)->*write)(how.sort, how.aggregate, how.col_sums), out_text);
  });
}
}  // namespace

opd_error *opd_report_to_table(const opd_report *report, const opd_table_options *options, opd_buffer **out_text) {
  return write_rows(report, options, out_text, &Report::to_table);
}

opd_error *opd_report_to_markdown(const opd_report *report, const opd_table_options *options, opd_buffer **out_text) {
  return write_rows(report, options, out_text, &Report::to_markdown);
}

opd_error *opd_report_to_html(const opd_report *report, const opd_table_options *options, opd_buffer **out_text) {
  return write_rows(report, options, out_text, &Report::to_html);
}

opd_error *opd_report_to_arrow(const opd_report *report, ArrowArrayStream *out_stream) {
  return guard([&] {
    require(report && out_stream, "report and out_stream must not be NULL");
    report_to_arrow(Ref<Report>::share(unwrap<Report>(report)), out_stream);
  });
}

size_t opd_report_call_count(const opd_report *report) { return report ? unwrap<Report>(report)->num_rows() : 0; }

opd_error *opd_report_get_call(const opd_report *report, size_t row, const char *column, opd_value *out_value) {
  return guard([&] {
    require(report && column && out_value, "report, column and out_value must not be NULL");
    *out_value = Value(unwrap<Report>(report)->get_call(row, column)).detach();
  });
}

opd_error *opd_report_get_device(const opd_report *report, const char *device, const char *metric,
                                 opd_value *out_value) {
  return guard([&] {
    require(report && device && metric && out_value, "report, device, metric and out_value must not be NULL");
    *out_value = Value(unwrap<Report>(report)->get_device(device, metric)).detach();
  });
}

opd_error *opd_report_get_configuration(const opd_report *report, const char *key, opd_value *out_value) {
  return guard([&] {
    require(report && key && out_value, "report, key and out_value must not be NULL");
    *out_value = Value(unwrap<Report>(report)->get_configuration(key)).detach();
  });
}

namespace {
template <class F>
opd_metric_kind kind_or_none(const opd_report *report, F metric) {
  try {
    return report ? static_cast<opd_metric_kind>(metric(*unwrap<Report>(report)).kind) : OPD_METRIC_NONE;
  } catch (...) { return OPD_METRIC_NONE; }
}
}  // namespace

opd_metric_kind opd_report_call_kind(const opd_report *report, size_t row, const char *column) {
  return kind_or_none(report, [&](const Report &r) { return r.call_metric(row, column ? column : ""); });
}

opd_metric_kind opd_report_device_kind(const opd_report *report, const char *device, const char *metric) {
  return kind_or_none(report,
                      [&](const Report &r) { return r.device_metric(device ? device : "", metric ? metric : ""); });
}

opd_metric_kind opd_report_configuration_kind(const opd_report *report, const char *key) {
  return kind_or_none(report, [&](const Report &r) { return r.configuration_metric(key ? key : ""); });
}

namespace {
// A range of named things as a new array of their names.
template <class Things, class Name>
opd_error *list_names(const opd_report *report, opd_array **out_names, const Things &(Report::*things)() const,
                      Name name) {
  return guard([&] {
    require(report && out_names, "report and out_names must not be NULL");
    std::vector<std::string> names;
    for (const auto &thing : (unwrap<Report>(report)->*things)()) names.push_back(name(thing));
    *out_names = wrap_names(names);
  });
}
}  // namespace

opd_error *opd_report_list_columns(const opd_report *report, opd_array **out_names) {
  return list_names(report, out_names, &Report::columns, [](const Column &column) { return column.name(); });
}

opd_error *opd_report_list_devices(const opd_report *report, opd_array **out_names) {
  return list_names(report, out_names, &Report::devices, [](const auto &device) { return device.first; });
}

opd_error *opd_report_list_device_metrics(const opd_report *report, const char *device, opd_array **out_names) {
  return guard([&] {
    require(report && device && out_names, "report, device and out_names must not be NULL");
    std::vector<std::string> names;
    for (const auto &metric : unwrap<Report>(report)->device(device)) names.push_back(metric.first);
    *out_names = wrap_names(names);
  });
}

opd_error *opd_report_list_configuration(const opd_report *report, opd_array **out_names) {
  return list_names(report, out_names, &Report::configuration, [](const auto &entry) { return entry.first; });
}

opd_error *opd_report_merge(const opd_report *const *reports, size_t num, opd_report **out_report) {
  return guard([&] {
    require(reports && num && out_report, "reports and out_report must not be NULL, and num not 0");
    std::vector<const Report *> all;
    for (size_t i = 0; i < num; ++i) {
      require(reports[i], "report ", i, " is NULL");
      all.push_back(unwrap<Report>(reports[i]));
    }
    *out_report = wrap<opd_report>(merge_reports(all));
  });
}

void opd_report_release(opd_report *report) { release_handle(report); }

size_t opd_trace_call_count(const opd_trace *trace) { return trace ? unwrap<Trace>(trace)->num_calls() : 0; }
uint64_t opd_trace_dropped_count(const opd_trace *trace) { return trace ? unwrap<Trace>(trace)->num_dropped() : 0; }

opd_error *opd_trace_to_chrome(const opd_trace *trace, opd_buffer **out_json) {
  return guard([&] {
    require(trace && out_json, "trace and out_json must not be NULL");
    give_text(chrome_trace(*unwrap<Trace>(trace)), out_json);
  });
}

void opd_trace_release(opd_trace *trace) { release_handle(trace); }
