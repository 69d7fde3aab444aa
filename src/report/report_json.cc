// Reads and writes TVM's JSON form of a report: one line, metrics as {"count":1}. Members of newer writers are kept.
#include <cmath>

#include "base/json_document.h"
#include "base/json_writer.h"
#include "report/report.h"

namespace opd {
namespace {

constexpr MetricKind kTvmKinds[] = {MetricKind::kCount, MetricKind::kDuration, MetricKind::kPercent, MetricKind::kRatio,
                                    MetricKind::kString};

MetricKind kind_without_unit(MetricKind kind) {
  return kind == MetricKind::kBytes ? MetricKind::kCount : kind == MetricKind::kHertz ? MetricKind::kRatio : kind;
}

// ---- reading

class ReportReader {
 public:
  explicit ReportReader(std::string_view text) : document_(text, "report") {}

  Ref<Report> read() {
    const cJSON *root = document_.root();
    if (!cJSON_IsObject(root)) document_.bad(root, "is not an object: a report is expected");
    for (const cJSON *member = root->child; member; member = member->next) read_section(member);
    if (!has_calls_) document_.bad(root, "is not a report: it lacks \"calls\"");
    return builder_.finish();
  }

 private:
  void read_section(const cJSON *section) {
    std::string key = document_.key(section);
    for (const auto &before : sections_)
      if (before == key) refuse_repeated(section, key);
    if (sections_.size() == 1000) document_.bad(section, "is one of more than 1000 sections");
    if (key == "calls") {
      read_calls(section);
    } else if (key == "device_metrics") {
      read_devices(section);
    } else if (key == "configuration") {
      expect_object(section, "the configuration");
      for (const cJSON *entry = section->child; entry; entry = entry->next)
        if (std::string name = document_.key(entry); !builder_.configure(name, read_metric(entry)))
          refuse_repeated(entry, name);
    } else {
      builder_.add_extra(key, document_.compact(section));
    }
    sections_.push_back(std::move(key));
  }

  void read_calls(const cJSON *calls) {
    if (!cJSON_IsArray(calls)) document_.bad(calls, "must hold an array of calls");
    has_calls_ = true;
    for (const cJSON *call = calls->child; call; call = call->next) {
      expect_object(call, "a call");
      builder_.begin_row();
      for (const cJSON *entry = call->child; entry; entry = entry->next) {
        const std::string name = document_.key(entry);
        if (!builder_.set(builder_.column(name), read_metric(entry))) refuse_repeated(entry, name);
      }
    }
  }

  void read_devices(const cJSON *devices) {
    expect_object(devices, "device_metrics");
    for (const cJSON *device = devices->child; device; device = device->next) {
      const std::string name = document_.key(device);
      expect_object(device, "a device");
      if (!builder_.begin_device(name)) refuse_repeated(device, name);
      for (const cJSON *entry = device->child; entry; entry = entry->next)
        if (std::string metric = document_.key(entry); !builder_.set_device(metric, read_metric(entry)))
          refuse_repeated(entry, metric);
    }
  }

  // A metric is {"count":1}: one member, whose key is the kind.
  Metric read_metric(const cJSON *entry) {
    const cJSON *value = cJSON_IsObject(entry) ? entry->child : nullptr;
    if (!value || value->next) document_.bad(entry, "must hold one metric, as {\"count\":1}");
    const std::string name = document_.key(value);
    for (const MetricKind kind : kTvmKinds)
      if (name == kind_name(kind)) return read_known(kind, value);
    return builder_.text(document_.compact(entry), MetricKind::kRaw);
  }

  Metric read_known(MetricKind kind, const cJSON *value) {
    if (kind == MetricKind::kString) {
      if (!cJSON_IsString(value)) document_.bad(value, "must have a string as its value");
      return builder_.text(document_.text(value));
    }
    if (!cJSON_IsNumber(value) && !(cJSON_IsNull(value) && kind != MetricKind::kCount))
      document_.bad(value, "must have a number as its value");
    if (kind == MetricKind::kCount) return Metric::of_count(document_.integer(value));
    return Metric::of_number(kind, document_.real(value));
  }

  void expect_object(const cJSON *item, std::string_view what) {
    if (!cJSON_IsObject(item)) document_.bad(item, concat("is not an object, as ", what, " must be"));
  }
  [[noreturn]] void refuse_repeated(const cJSON *item, std::string_view name) {
    document_.bad(item, concat("repeats the key \"", name, "\""));
  }

  JsonDocument document_;
  ReportBuilder builder_;
  std::vector<std::string> sections_;
  bool has_calls_ = false;
};

// ---- writing

// 17 digits after the point, as in TVM. Numbers below 1e-6 would lose digits, so they are written differently. JSON has
// no infinity: 1e999 is read as one.
void append_real(std::string &out, double number) {
  if (std::isnan(number)) return append(out, "null");
  if (std::isinf(number)) return append(out, number < 0 ? "-1e999" : "1e999");
  if (number != 0 && std::abs(number) < 1e-6) return append(out, number);
  append_fixed(out, number, 17);
}

class Writer {
 public:
  explicit Writer(const Report &report) : report_(report), quoted_(report.num_texts()) {
    for (const auto &column : report.columns()) keys_.push_back(quoted_key(column.name()));
  }

  std::string write() {
    out_.reserve(256 + num_cells() * 48);
    out_ = "{\"calls\":[";
    write_calls();
    out_ += "],\"device_metrics\":";
    write_devices();
    out_ += ",\"configuration\":";
    write_named(report_.configuration());
    for (const auto &[key, json] : report_.extras()) {
      out_ += ',';
      out_ += quoted_key(key);
      out_ += json;
    }
    out_ += '}';
    return std::move(out_);
  }
  std::string devices() {
    write_devices();
    return std::move(out_);
  }
  std::string configuration() {
    write_named(report_.configuration());
    return std::move(out_);
  }

 private:
  struct Place {
    uint32_t column, cell;
  };

  // Cells are stored by column and written by row. Each row's cells are gathered first, so that gaps cost nothing.
  void write_calls() {
    std::vector<size_t> ends(report_.num_rows() + 1);
    for (const auto &column : report_.columns())
      for (size_t i = 0; i < column.size(); ++i) ++ends[column.row_of(i) + 1];
    for (size_t row = 1; row < ends.size(); ++row) ends[row] += ends[row - 1];
    std::vector<Place> places(ends.back());
    std::vector<size_t> next(ends.begin(), ends.end() - 1);
    for (uint32_t c = 0; c < report_.columns().size(); ++c)
      for (uint32_t i = 0; i < report_.columns()[c].size(); ++i)
        places[next[report_.columns()[c].row_of(i)]++] = {c, i};
    for (size_t row = 0; row < report_.num_rows(); ++row) {
      out_ += row ? ",{" : "{";
      for (size_t i = ends[row]; i < ends[row + 1]; ++i) {
        if (i > ends[row]) out_ += ',';
        out_ += keys_[places[i].column];
        write_metric(report_.columns()[places[i].column].cell(places[i].cell));
      }
      out_ += '}';
    }
  }

  void write_devices() {
    out_ += '{';
    for (size_t i = 0; i < report_.devices().size(); ++i) {
      const auto &[name, metrics] = report_.devices()[i];
      out_ += i ? "," : "";
      out_ += quoted_key(name);
      write_named(metrics);
    }
    out_ += '}';
  }

  void write_named(const NamedMetrics &metrics) {
    out_ += '{';
    for (size_t i = 0; i < metrics.size(); ++i) {
      out_ += i ? "," : "";
      out_ += quoted_key(metrics[i].first);
      write_metric(metrics[i].second);
    }
    out_ += '}';
  }

  void write_metric(Metric metric) {
    if (metric.kind == MetricKind::kRaw) return append(out_, report_.text(metric.text()));
    append(out_ += "{\"", kind_name(kind_without_unit(metric.kind)));
    out_ += "\":";
    if (metric.is_integer()) {
      append(out_, metric.count());
    } else if (metric.is_number()) {
      append_real(out_, metric.number());
    } else {
      std::string &quoted = quoted_[metric.text()];
      if (quoted.empty()) append_json_string(quoted, report_.text(metric.text()));
      out_ += quoted;
    }
    out_ += '}';
  }

  size_t num_cells() const {
    size_t cells = 0;
    for (const auto &column : report_.columns()) cells += column.size();
    return cells;
  }
  static std::string quoted_key(std::string_view name) {
    std::string key;
    append_json_string(key, name);
    return key += ':';
  }

  const Report &report_;
  std::vector<std::string> keys_;    // names of the columns, with their colons
  std::vector<std::string> quoted_;  // texts, each escaped once
  std::string out_;
};

}  // namespace

Ref<Report> Report::from_json(std::string_view text) { return ReportReader(text).read(); }
std::string Report::to_json() const { return Writer(*this).write(); }
std::string Report::devices_json() const { return Writer(*this).devices(); }
std::string Report::configuration_json() const { return Writer(*this).configuration(); }

}  // namespace opd
