// include/opdyno/report.h: making a report by hand
#include <optional>

#include "base/json_writer.h"
#include "capi/handles.h"
#include "profile/report.h"

using namespace opd;

namespace {

static_assert(OPD_METRIC_STRING == static_cast<int>(MetricKind::kString) &&
              OPD_METRIC_BYTES == static_cast<int>(MetricKind::kBytes) &&
              OPD_METRIC_HERTZ == static_cast<int>(MetricKind::kHertz) &&
              OPD_METRIC_JSON == static_cast<int>(MetricKind::kRaw));

// The object behind opd_report_builder. Devices are kept here, as their metrics may come in any order.
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
  require(kind > OPD_METRIC_NONE && kind < OPD_METRIC_JSON, "the kind of ", name, " is ", static_cast<int>(kind),
          ", which is no kind of metric");
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

}  // namespace

opd_error *opd_report_builder_create(opd_report_builder **out_builder) {
  return guard([&] {
    require(out_builder, "out_builder must not be NULL");
    *out_builder = wrap<opd_report_builder>(make_object<HandBuilder>());
  });
}

opd_error *opd_report_builder_add_call(opd_report_builder *builder) {
  return guard([&] {
    require(builder, "builder must not be NULL");
    auto &hand = *unwrap<HandBuilder>(builder);
    building(hand).begin_row();
    hand.has_call = true;
  });
}

opd_error *opd_report_builder_set_call(opd_report_builder *builder, const char *column, opd_metric_kind kind,
                                       const opd_value *value) {
  return guard([&] {
    require(builder && column && value, "builder, column and value must not be NULL");
    check_name(column);
    auto &hand = *unwrap<HandBuilder>(builder);
    ReportBuilder &report = building(hand);
    if (!hand.has_call) fail(OPD_FAILED_PRECONDITION, "there is no call yet; opd_report_builder_add_call() makes one");
    const Metric metric = metric_of(report, column, kind, *value);
    if (!report.set(report.column(column, metric.kind), metric)) fail_repeated("the call", column);
  });
}

opd_error *opd_report_builder_set_device(opd_report_builder *builder, const char *device, const char *metric,
                                         opd_metric_kind kind, const opd_value *value) {
  return guard([&] {
    require(builder && device && metric && value, "builder, device, metric and value must not be NULL");
    check_name(device), check_name(metric);
    auto &hand = *unwrap<HandBuilder>(builder);
    const Metric made = metric_of(building(hand), metric, kind, *value);
    std::string name = name_with_unit(metric, made.kind);
    NamedMetrics &metrics = hand.device(device);
    for (const auto &before : metrics)
      if (before.first == name) fail_repeated(device, metric);
    metrics.emplace_back(std::move(name), made);
  });
}

opd_error *opd_report_builder_set_configuration(opd_report_builder *builder, const char *key, opd_metric_kind kind,
                                                const opd_value *value) {
  return guard([&] {
    require(builder && key && value, "builder, key and value must not be NULL");
    check_name(key);
    ReportBuilder &report = building(*unwrap<HandBuilder>(builder));
    const Metric metric = metric_of(report, key, kind, *value);
    if (!report.configure(name_with_unit(key, metric.kind), metric)) fail_repeated("the configuration", key);
  });
}

opd_error *opd_report_builder_finish(opd_report_builder *builder, opd_report **out_report) {
  return guard([&] {
    require(builder && out_report, "builder and out_report must not be NULL");
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

void opd_report_builder_release(opd_report_builder *builder) { release_handle(builder); }
