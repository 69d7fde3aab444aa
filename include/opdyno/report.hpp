/** @file report.hpp  Reports: reads, writes, builds and compares them, and adds a roofline. */
#ifndef OPDYNO_REPORT_HPP_
#define OPDYNO_REPORT_HPP_

#include <opdyno/diff.h>
#include <opdyno/report.h>
#include <opdyno/roofline.h>

#include <opdyno/value.hpp>

namespace opdyno {

/** Measures the peaks of this machine's processors for about half a second. */
inline opd_machine_peak measure_peak() {
  auto peak = sized<opd_machine_peak>();
  check(opd_machine_measure_peak(&peak));
  return peak;
}

class Report : public Handle<opd_report> {
 public:
  using Handle::Handle;
  static Report from_json(std::string_view json) {
    return made<Report>(opd_report_from_json, json.data(), json.size());
  }
  static Report merge(const std::vector<Report> &reports) {
    const auto all = handles(reports);
    return made<Report>(opd_report_merge, all.data(), count_of(all.size()));
  }
  /** Returns the changes between two sets of runs. */
  static Report diff(const std::vector<Report> &before, const std::vector<Report> &after,
                     const opd_diff_options *options = nullptr) {
    const auto a = handles(before), b = handles(after);
    return made<Report>(opd_report_diff, a.data(), count_of(a.size()), b.data(), count_of(b.size()), options);
  }
  /** Adds the operations and memory traffic of the operators. Peaks are added only if they are given. */
  Report with_roofline(double peak_gflops = 0, double peak_bandwidth_gbps = 0) const {
    return made<Report>(opd_report_add_roofline, get(), peak_gflops, peak_bandwidth_gbps);
  }

  using Options = opd_report_write_options;
  std::string write(opd_report_format format, const Options *options = nullptr) const {
    return text_of(opd_report_write, get(), format, options);
  }
  std::string table(const Options *options = nullptr) const { return write(OPD_REPORT_TABLE, options); }
  std::string markdown(const Options *options = nullptr) const { return write(OPD_REPORT_MARKDOWN, options); }
  std::string html(const Options *options = nullptr) const { return write(OPD_REPORT_HTML, options); }
  std::string csv() const { return write(OPD_REPORT_CSV); }
  std::string json() const { return write(OPD_REPORT_JSON); }
  /** Fills @p out_stream, which the caller releases. */
  void to_arrow(ArrowArrayStream *out_stream) const { check(opd_report_to_arrow(get(), out_stream)); }

  /** Returns the number of rows of a section. */
  size_t count(opd_report_section section = OPD_REPORT_CALLS) const {
    return static_cast<size_t>(opd_report_count(get(), section));
  }
  /** Returns the names of a section's metrics. */
  std::vector<std::string> columns(opd_report_section section = OPD_REPORT_CALLS) const {
    return made<Array>(opd_report_list, get(), section).strings();
  }
  /** Returns one metric of all rows of a section. */
  Array column(opd_report_section section, const char *name) const {
    return made<Array>([](auto... args) { return opd_report_get_column(args..., nullptr); }, get(), section, name);
  }
  /** Returns one metric of a row. */
  Value value(opd_report_section section, size_t row, const char *name) const {
    Value found;
    check(opd_report_get(get(), section, count_of(row), name, found.out(), nullptr));
    return found;
  }
  opd_metric_kind kind(opd_report_section section, size_t row, const char *name) const {
    Value found;
    opd_metric_kind kind = OPD_METRIC_NONE;
    check(opd_report_get(get(), section, count_of(row), name, found.out(), &kind));
    return kind;
  }

 private:
  static std::vector<const opd_report *> handles(const std::vector<Report> &reports) {
    std::vector<const opd_report *> all;
    for (const Report &report : reports) all.push_back(report.get());
    return all;
  }
};

/** Builds a report row by row. */
class ReportBuilder : public Handle<opd_report_builder> {
 public:
  ReportBuilder() { check(opd_report_builder_create(out())); }
  void add_call() const { check(opd_report_builder_add_call(get())); }
  void set_call(const char *column, opd_metric_kind kind, const opd_value &value) const {
    check(opd_report_builder_set(get(), OPD_REPORT_CALLS, nullptr, column, kind, &value));
  }
  void set_device(const char *device, const char *metric, opd_metric_kind kind, const opd_value &value) const {
    check(opd_report_builder_set(get(), OPD_REPORT_DEVICES, device, metric, kind, &value));
  }
  void set_configuration(const char *key, opd_metric_kind kind, const opd_value &value) const {
    check(opd_report_builder_set(get(), OPD_REPORT_CONFIGURATION, nullptr, key, kind, &value));
  }
  Report finish() const { return made<Report>(opd_report_builder_finish, get()); }
};

}  // namespace opdyno
#endif
