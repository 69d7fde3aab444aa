// Implements the report builder of include/opdyno/report.h.
#include <optional>

#include "base/json_writer.h"
#include "capi/handles.h"
#include "report/report.h"

using namespace opd;

namespace {

static_assert(OPD_METRIC_STRING == static_cast<int>(MetricKind::kString) &&
              OPD_METRIC_BYTES == static_cast<int>(MetricKind::kBytes) &&
              OPD_METRIC_HERTZ == static_cast<int>(MetricKind::kHertz) &&
              OPD_METRIC_JSON == static_cast<int>(MetricKind::kRaw));

// The object of an opd_report_builder. Devices are kept here, because their metrics may come in any order.
struct HandBuilder : Object {
  static int32_t type() { return OPD_OBJECT; }

  std::optional<ReportBuilder> builder{std::in_place};
  bool has_call = false;
  std::vector<std::pair<std::string, NamedMetrics>> devices;

  NamedMetrics &device(std::string_view name) {
    for (auto &device : devices)
      if (device.first == name) return device.second;
    return devices.emplace_back(name, NamedMetrics{}).second;
  }
};

ReportBuilder &building(HandBuilder &hand) {
  if (!hand.builder) fail(OPD_FAILED_PRECONDITION, "the report was taken from its builder");
  return *hand.builder;
}

Metric metric_of(ReportBuilder &builder, std::string_view name, opd_metric_kind kind, const opd_value &value) {
  require(kind > OPD_METRIC_NONE && kind < OPD_METRIC_JSON, "the kind of ", name,
          " must be a kind of metrics (1 to 7), but is ", static_cast<int>(kind));
  if (kind == OPD_METRIC_STRING) {
    const std::string_view text = as_text(value, name);
    require(is_utf8(text), "the text of ", name, " is not UTF-8");
    return builder.text(text);
  }
  Metric metric{static_cast<MetricKind>(kind), 0};
  if (metric.is_integer()) metric.bits = std::bit_cast<uint64_t>(as_int(value, name));
  else metric.bits = std::bit_cast<uint64_t>(as_float(value, name));
  return metric;
}

void check_name(std::string_view name) { require(is_utf8(name), "a metric's name is not UTF-8"); }

[[noreturn]] void fail_repeated(std::string_view owner, std::string_view name) {
  fail(OPD_ALREADY_EXISTS, owner, " has a metric \"", name, "\" already");
}

void set_call(HandBuilder &hand, const char *name, opd_metric_kind kind, const opd_value &value) {
  ReportBuilder &report = building(hand);
  if (!hand.has_call) fail(OPD_FAILED_PRECONDITION, "there is no call yet; add one before its metrics");
  const Metric metric = metric_of(report, name, kind, value);
  if (!report.set(report.column(name, metric.kind), metric)) fail_repeated("the call", name);
}

void set_device(HandBuilder &hand, const char *device, const char *name, opd_metric_kind kind, const opd_value &value) {
  const Metric made = metric_of(building(hand), name, kind, value);
  std::string full = name_with_unit(name, made.kind);
  NamedMetrics &metrics = hand.device(device);
  for (const auto &before : metrics)
    if (before.first == full) fail_repeated(device, name);
  metrics.emplace_back(std::move(full), made);
}

void set_configuration(HandBuilder &hand, const char *name, opd_metric_kind kind, const opd_value &value) {
  ReportBuilder &report = building(hand);
  const Metric metric = metric_of(report, name, kind, value);
  if (!report.configure(name_with_unit(name, metric.kind), metric)) fail_repeated("the configuration", name);
}

}  // namespace

opd_error *opd_report_builder_create(opd_report_builder **out_builder) {
  return guard([&] {
    OPD_REQUIRE(out_builder);
    *out_builder = wrap<opd_report_builder>(make_object<HandBuilder>());
  });
}

opd_error *opd_report_builder_add_call(opd_report_builder *builder) {
  return guard([&] {
    OPD_REQUIRE(builder);
    auto &hand = *unwrap<HandBuilder>(builder);
    building(hand).begin_row();
    hand.has_call = true;
  });
}

opd_error *opd_report_builder_set(opd_report_builder *builder, opd_report_section section, const char *device,
                                  const char *name, opd_metric_kind kind, const opd_value *value) {
  return guard([&] {
    OPD_REQUIRE(builder, name, value);
    require((section == OPD_REPORT_DEVICES) == (device != nullptr),
            "device must be given for the section of devices, and be NULL for other sections");
    if (device) check_name(device);
    check_name(name);
    auto &hand = *unwrap<HandBuilder>(builder);
    switch (static_cast<int>(section)) {
      case OPD_REPORT_CALLS:
        return set_call(hand, name, kind, *value);
      case OPD_REPORT_DEVICES:
        return set_device(hand, device, name, kind, *value);
      case OPD_REPORT_CONFIGURATION:
        return set_configuration(hand, name, kind, *value);
      default:
        fail(OPD_INVALID_ARGUMENT, "section must be a section of reports, but is ", static_cast<int>(section));
    }
  });
}

opd_error *opd_report_builder_finish(opd_report_builder *builder, opd_report **out_report) {
  return guard([&] {
    OPD_REQUIRE(builder, out_report);
    auto &hand = *unwrap<HandBuilder>(builder);
    ReportBuilder &report = building(hand);
    for (const auto &[device, metrics] : hand.devices) {
      report.begin_device(device);
      for (const auto &[name, metric] : metrics) report.set_device(name, metric);
    }
    *out_report = wrap<opd_report>(report.finish());
    hand.builder.reset();
  });
}
