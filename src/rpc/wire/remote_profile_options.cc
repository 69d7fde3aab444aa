#include "rpc/wire/remote_profile_options.h"

#include "base/json_document.h"
#include "base/json_writer.h"

namespace opd::rpc {
namespace {

void write_collector(JsonWriter &json, const Collector &collector) {
  if (!collector.builtin)
    fail(OPD_UNSUPPORTED, "the collector ", collector.name(),
         " is this program's own; on another machine only opdyno's own ones measure");
  const BuiltinCollector &its = *collector.builtin;
  json.begin_object().key("kind").value(static_cast<int>(its.kind));
  json.key("per_thread").value(its.options.per_thread).key("best_effort").value(its.options.best_effort);
  json.key("events").begin_array();
  for (const CounterOptions::Event &event : its.options.events) {
    DLDevice device = event.device;
    if (device.device_type >= kDevicesOfSession)
      device.device_type = static_cast<DLDeviceType>(device.device_type % kDevicesOfSession);
    json.begin_object().key("name").value(event.name);
    json.key("device").begin_array().value(static_cast<int>(device.device_type)).value(device.device_id);
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

class Reader {
 public:
  explicit Reader(std::string_view text) : json_(text, "what the client says of a profile") {}

  RemoteProfileOptions read() {
    const cJSON *const root = json_.root();
    RemoteProfileOptions remote;
    remote.function = text(root, "function");
    remote.wants_trace = flag(root, "trace");
    VmProfileOptions &options = remote.options;
    options.warmup = static_cast<int32_t>(number(root, "warmup", 0, INT32_MAX));
    options.repeat = static_cast<int32_t>(number(root, "repeat", 0, INT32_MAX));
    options.max_calls = static_cast<uint64_t>(number(root, "max_records", 0, INT64_MAX));
    options.turn = static_cast<int32_t>(number(root, "turn", 0, INT32_MAX));
    options.budget_s = static_cast<double>(number(root, "budget_ns", 0, INT64_MAX)) / 1e9;
    options.sample_interval = static_cast<uint64_t>(number(root, "sample_interval", 1, INT64_MAX));
    options.all_calls = flag(root, "all_calls");
    options.folds_builtins = flag(root, "folds_builtins");
    options.details = flag(root, "details");
    const cJSON *one;
    cJSON_ArrayForEach(one, member(root, "collectors")) options.collectors.push_back(collector(one));
    return remote;
  }

 private:
  const cJSON *member(const cJSON *of, const char *name) {
    const cJSON *one;
    cJSON_ArrayForEach(one, of) if (cJSON_IsObject(of) && json_.key(one) == name) return one;
    json_.bad(of, concat("lacks ", name));
  }
  int64_t whole(const cJSON *item, int64_t least, int64_t most) {
    if (!cJSON_IsNumber(item)) json_.bad(item, "must be a number");
    const int64_t found = json_.integer(item);
    if (found < least || found > most) json_.bad(item, concat("must be ", least, " to ", most));
    return found;
  }
  int64_t number(const cJSON *of, const char *name, int64_t least, int64_t most) {
    return whole(member(of, name), least, most);
  }
  bool flag(const cJSON *of, const char *name) {
    const cJSON *const found = member(of, name);
    if (!cJSON_IsBool(found)) json_.bad(found, "must be true or false");
    return cJSON_IsTrue(found);
  }
  std::string text(const cJSON *of, const char *name) {
    const cJSON *const found = member(of, name);
    if (!cJSON_IsString(found)) json_.bad(found, "must be a text");
    return json_.text(found);
  }
  Ref<Collector> collector(const cJSON *of) {
    BuiltinCollector made{static_cast<opd_collector_kind>(number(of, "kind", 0, INT32_MAX)), {}};
    made.options.per_thread = flag(of, "per_thread");
    made.options.best_effort = flag(of, "best_effort");
    const cJSON *event;
    cJSON_ArrayForEach(event, member(of, "events")) {
      const cJSON *const device = member(event, "device");
      const auto part = [&](int i) { return static_cast<int32_t>(whole(cJSON_GetArrayItem(device, i), 0, INT32_MAX)); };
      if (cJSON_GetArraySize(device) != 2) json_.bad(device, "must be a kind and a number");
      made.options.events.push_back({text(event, "name"), {static_cast<DLDeviceType>(part(0)), part(1)}});
    }
    return make_builtin_collector(made);
  }

  JsonDocument json_;
};

}  // namespace

std::string write_profile_options(const RemoteProfileOptions &remote) {
  const VmProfileOptions &options = remote.options;
  JsonWriter json;
  json.begin_object().key("function").value(remote.function).key("trace").value(remote.wants_trace);
  json.key("warmup").value(options.warmup).key("repeat").value(options.repeat);
  json.key("max_records").value(std::min<uint64_t>(options.max_calls, INT64_MAX)).key("turn").value(options.turn);
  json.key("budget_ns").value(static_cast<int64_t>(std::min(options.budget_s * 1e9, 9e18)));
  json.key("sample_interval").value(std::min<uint64_t>(options.sample_interval, INT64_MAX));
  json.key("all_calls").value(options.all_calls).key("folds_builtins").value(options.folds_builtins);
  json.key("details").value(options.details).key("collectors").begin_array();
  for (const Ref<Collector> &collector : options.collectors) write_collector(json, *collector);
  json.end_array().end_object();
  return json.take();
}

RemoteProfileOptions read_profile_options(std::string_view json) { return Reader(json).read(); }

}  // namespace opd::rpc
