#include "profiler/collector.h"

#include "base/json_writer.h"

namespace opd {

MetricKind metric_kind_of(opd_metric_kind kind) {
  static_assert(int{OPD_METRIC_COUNT} == static_cast<int>(MetricKind::kCount) &&
                int{OPD_METRIC_HERTZ} == static_cast<int>(MetricKind::kHertz));
  if (kind < OPD_METRIC_COUNT || kind > OPD_METRIC_HERTZ)
    fail(OPD_INVALID_ARGUMENT, "a metric of kind ", int{kind}, " does not exist");
  return static_cast<MetricKind>(kind);
}

uint32_t MetricList::place_of(std::string_view name) {
  if (likely_ < names_.size() && names_[likely_].text == name) return likely_++;
  auto place = places_.find(std::string(name));
  if (place == places_.end()) {
    names_.push_back({std::string(name), name_id(name)});
    place = places_.emplace(name, static_cast<uint32_t>(names_.size() - 1)).first;
  }
  likely_ = place->second + 1;
  return place->second;
}

void MetricList::set(std::string_view name, Metric metric) {
  metric.kind = kind_with_unit(name, metric.kind);
  const uint32_t place = place_of(name);
  for (Item &item : items_)
    if (item.name == place) return void(item.metric = metric);
  items_.push_back({place, metric});
}

void MetricList::add_to(EventItems &out, Recordings recordings) const {
  for (const auto &[name, metric] : items_) {
    const std::string_view text = metric.is_text() ? texts_[metric.text()] : std::string_view();
    out.add({EventItem::Type::kMetric, recordings, names_[name].id, metric, text});
  }
}

void MetricList::set_text(std::string_view name, std::string_view text) {
  if (texts_.empty() || texts_.back() != text) texts_.emplace_back(text);
  set(name, {MetricKind::kString, texts_.size() - 1});
}

void MetricList::set_value(std::string_view name, opd_metric_kind kind, const View &value) {
  require(!name.empty() && is_utf8(name), "a metric needs a name in UTF-8");
  const MetricKind as = metric_kind_of(kind);
  const auto refuse = [&](const char *expected) {
    fail_as("TypeError", OPD_INVALID_ARGUMENT, "metric ", name, ": expected ", expected, ", but the value is ",
            type_key(value.type));
  };
  const bool is_int = value.type == OPD_INT || value.type == OPD_BOOL;
  if (as == MetricKind::kString) {
    if (!is_text(value)) refuse("text");
    set_text(name, as_text(value, "value"));
  } else if (Metric{as}.is_integer()) {
    if (!is_int) refuse("an int");
    set(name_with_unit(name, as), Metric::of_count(value.u.int64));
  } else {
    if (!is_int && value.type != OPD_FLOAT) refuse("a float or an int");
    set(name_with_unit(name, as), Metric::of_number(as, is_int ? static_cast<double>(value.u.int64) : value.u.float64));
  }
}

namespace {

class UserCollector final : public Collector {
 public:
  UserCollector(std::string name, const opd_collector_table &table) : Collector(std::move(name)), table_(table) {}
  ~UserCollector() override {
    if (table_.deleter) table_.deleter(table_.user_data);
  }

  void init(std::span<const DLDevice> devices) override {
    if (table_.init) check(table_.init(table_.user_data, devices.data(), static_cast<int32_t>(devices.size())));
  }
  void *start(DLDevice device) override {
    void *state = nullptr;
    if (table_.start) check(table_.start(table_.user_data, device, &state));
    return state;
  }
  void stop(void *state, MetricList &out) override {
    if (table_.stop) check(table_.stop(table_.user_data, state, reinterpret_cast<opd_metrics *>(&out)));
  }

 private:
  static void check(opd_error *error) {
    if (error) [[unlikely]]
      throw Exception(as_own(*Ref<Error>::take(reinterpret_cast<Error *>(error))));
  }
  const opd_collector_table table_;
};

struct Kind {
  const char *name;
  bool takes_events;
  Ref<Collector> (*make)(const CounterOptions &options);
};
// In the order of opd_collector_kind.
constexpr Kind kKinds[] = {
    {"time", false, make_time_collector},
    {"memory", false, [](const CounterOptions &) { return make_memory_collector(); }},
    {"perf", true, make_perf_collector},
    {"papi", true, make_papi_collector},
    {"energy", false, [](const CounterOptions &) { return make_energy_collector(); }},
    {"nvml", false, [](const CounterOptions &) { return make_nvml_collector(); }},
    {"device", true, make_device_collector},
};
static_assert(std::size(kKinds) == OPD_COLLECTOR_DEVICE + 1);

// Represents a collector that another machine makes.
class CollectorElsewhere final : public Collector {
 public:
  using Collector::Collector;

  void init(std::span<const DLDevice>) override {
    fail(OPD_FAILED_PRECONDITION, "the collector ", name(),
         " was made for other machines (elsewhere is 1); it does not measure on this one");
  }
  void *start(DLDevice) override { return nullptr; }
  void stop(void *, MetricList &) override {}
};

}  // namespace

void require_kind(opd_collector_kind kind) {
  const auto number = static_cast<int>(kind);
  require(number >= 0 && number < static_cast<int>(std::size(kKinds)), "kind must be a kind of collectors, but is ",
          number);
}

Ref<Collector> make_builtin_collector(const BuiltinCollector &of) {
  require_kind(of.kind);
  const Kind &kind = kKinds[of.kind];
  require(kind.takes_events || of.options.events.empty(), "the collector ", kind.name, " takes no events");
  Ref<Collector> made =
      of.options.is_elsewhere ? Ref<Collector>(make_object<CollectorElsewhere>(kind.name)) : kind.make(of.options);
  made->builtin = of;
  return made;
}

Ref<Collector> make_user_collector(std::string name, const opd_collector_table &table) {
  return make_object<UserCollector>(std::move(name), table);
}

}  // namespace opd
