// Kinds of devices that the program adds by a table of functions.
#include <map>
#include <memory>
#include <optional>

#include "base/few_or_many.h"
#include "device/backends.h"
#include "device/device.h"
#include "device/device_clock.h"
#include "device/plugin/plugin_activity.h"

namespace opd {
namespace {

// An event in a stream.
class PluginEvent {
 public:
  PluginEvent(const opd_device_table &table, int32_t device, void *stream) : table_(table), device_(device) {  // throws
    check(table.record_event(table.user_data, device, stream, &event_));
    if (!event_) fail(OPD_CALL_FAILED, "record_event of the plug-in returned no event");
  }
  ~PluginEvent() {
    if (event_) table_.free_event(table_.user_data, device_, event_);
  }
  PluginEvent(const PluginEvent &) = delete;

  uint64_t wait() const {  // returns the event's time; throws
    uint64_t ns = 0;
    check(table_.wait_event(table_.user_data, device_, event_, &ns));
    return ns;
  }

 private:
  const opd_device_table &table_;
  const int32_t device_;
  void *event_ = nullptr;
};

class PluginTimer final : public DeviceTimer {
 public:
  PluginTimer(const opd_device_table &table, int32_t device, void *stream)
      : table_(table), device_(device), stream_(stream), begin_(table, device, stream) {}
  void stop() override { end_.emplace(table_, device_, stream_); }
  uint64_t elapsed_ns() override {
    const uint64_t begin = begin_.wait(), end = end_->wait();
    if (end < begin) fail(OPD_CALL_FAILED, "the plug-in's clock ran backwards, from ", begin, " to ", end, " ns");
    return end - begin;
  }

 private:
  const opd_device_table &table_;
  const int32_t device_;
  void *const stream_;
  const PluginEvent begin_;
  std::optional<PluginEvent> end_;
};

// State that all devices of a kind share. Lives as long as the process.
struct Kind {
  Kind(const opd_device_table &given, DLDeviceType type) : table(given), activity(table, type) {}
  const opd_device_table table;
  PluginActivity activity;
  std::map<int32_t, DeviceClock> clocks;  // by device; used only by the thread that reads the times of work

  DeviceClock &clock_now(int32_t device) {
    DeviceClock &clock = clocks.try_emplace(device, "get_time of the plug-in").first->second;
    TickInterval interval;
    uint64_t ns = 0;
    interval.begin = ticks_of(tick_clock());
    check(table.get_time(table.user_data, device, &ns));
    interval.end = ticks_of(tick_clock());
    clock.observe(ns, interval);
    return clock;
  }
};

// Work between two events of its stream. It begins when the earlier work has ended, or when it was launched.
class PluginWork final : public PendingWork {
 public:
  // Submits work to a stream between two events. Returns null if the kind has no events, or reports the times itself.
  // If the events fail, the work is still submitted, and its times are lost.
  template <class Give>
  static std::unique_ptr<PendingWork> timed(Kind &kind, int32_t device, void *stream, const Give &give) {
    if (kind.activity.is_on()) {
      const PluginActivity::Submission submission(kind.activity, device, stream);
      return give(), nullptr;
    }
    if (!kind.table.record_event) return give(), nullptr;
    auto work = std::make_unique<PluginWork>(kind, device);
    work->record(stream, work->before_);
    give();
    work->record(stream, work->after_);
    return work;
  }
  PluginWork(Kind &kind, int32_t device) : kind_(kind), device_(device) {}
  PluginWork(const PluginWork &) = delete;

  bool finish(TickInterval launch, WorkTimes &out) noexcept override {
    if (!before_ || !after_) return false;
    return succeeds([&] {
      const uint64_t began = before_->wait(), ended = after_->wait();
      out = kind_.clock_now(device_).times_of(began, ended, launch);
    });
  }

 private:
  template <class Action>
  static bool succeeds(const Action &action) noexcept {
    const int failed = raising(action);
    if (failed) (void)take_raised();
    return !failed;
  }
  void record(void *stream, std::optional<PluginEvent> &out) const noexcept {  // leaves `out` empty if that fails
    succeeds([&] { out.emplace(kind_.table, device_, stream); });
  }

  Kind &kind_;
  const int32_t device_;
  std::optional<PluginEvent> before_, after_;
};

class PluginKernel final : public DeviceKernel {
 public:
  PluginKernel(Kind &kind, int32_t device, void *kernel) : kind_(kind), device_(device), kernel_(kernel) {}

  void launch(void *stream, const KernelLaunch &launch) override {
    FewOrMany<opd_kernel_arg, 32> all(launch.args.size());
    opd_kernel_arg *const args = all.data();
    for (size_t i = 0; i < launch.args.size(); ++i)
      args[i] = {launch.args[i].value, launch.args[i].size, launch.args[i].is_address};
    opd_kernel_launch given{};
    given.struct_size = sizeof given;
    given.num_args = static_cast<uint32_t>(launch.args.size());
    given.args = args;
    for (size_t i = 0; i < 3; ++i)
      given.grid[i] = launch.grid[i], given.block[i] = launch.block[i], given.cluster[i] = launch.cluster[i];
    given.is_cooperative = launch.is_cooperative;
    given.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    given.stream = stream;
    check(kind_.table.launch(kind_.table.user_data, device_, kernel_, &given));
  }
  std::unique_ptr<PendingWork> launch_timed(void *stream, const KernelLaunch &given) override {
    return PluginWork::timed(kind_, device_, stream, [&] { launch(stream, given); });
  }

 private:
  Kind &kind_;
  const int32_t device_;
  void *const kernel_;
};

class PluginProgram final : public DeviceProgram {
 public:
  PluginProgram(Kind &kind, int32_t device, void *program) : kind_(kind), device_(device), program_(program) {}
  ~PluginProgram() { kind_.table.free_program(kind_.table.user_data, device_, program_); }

  std::unique_ptr<DeviceKernel> find(const std::string &name) override {
    void *kernel = nullptr;
    check(kind_.table.find_kernel(kind_.table.user_data, device_, program_, name.c_str(), &kernel));
    return std::make_unique<PluginKernel>(kind_, device_, kernel);
  }

 private:
  Kind &kind_;
  const int32_t device_;
  void *const program_;
};

class PluginBackend final : public DeviceBackend {
 public:
  PluginBackend(std::string name, const opd_device_table &table, DLDeviceType type)
      : name_(std::move(name)), kind_(table, type) {}

  Value attr(int32_t id, opd_device_attr attr) override {
    View value = opd_none();
    check(table_.get_attr(table_.user_data, id, attr, &value));
    Value given = Value::take(value);
    if (attr == OPD_ATTR_EXIST) return Value(as_int(given, concat("OPD_ATTR_EXIST of the plug-in for ", name_)) != 0);
    return given;
  }
  std::string absence(int32_t id) override {
    const Value reason = attr(id, OPD_ATTR_ABSENCE);
    if (reason.type() != OPD_NONE) return std::string(as_text(reason, "OPD_ATTR_ABSENCE"));
    return concat("the plug-in for ", name_, " has no device of number ", id);
  }

  void *allocate(int32_t id, size_t bytes, size_t alignment) override {
    return table_.allocate(table_.user_data, id, bytes, alignment);
  }
  void deallocate(int32_t id, void *data, size_t bytes, size_t) noexcept override {
    table_.deallocate(table_.user_data, id, data, bytes);
  }
  // Between two devices, the stream belongs to the source. The target's work is not ordered with it. So the copy waits
  // for the target's stream before it begins, and ends before it returns.
  void copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes, void *stream) override {
    const bool is_between = from_device.device_type == to_device.device_type && !same(from_device, to_device);
    if (is_between) wait_for_stream(to_device, current_stream(to_device));
    check(table_.copy(table_.user_data, from, from_device, to, to_device, bytes, stream));
    if (is_between) sync_stream(from_device.device_id, stream);
  }

  std::unique_ptr<PendingWork> copy_timed(const void *from, DLDevice from_device, void *to, DLDevice to_device,
                                          size_t bytes, void *stream) override {
    const DLDevice device = from_device.device_type == kDLCPU ? to_device : from_device;
    return PluginWork::timed(kind_, device.device_id, stream,
                             [&] { copy(from, from_device, to, to_device, bytes, stream); });
  }

  bool is_asynchronous() const override { return table_.create_stream != nullptr; }
  void sync(int32_t id) override { check(table_.sync(table_.user_data, id, nullptr, 1)); }
  void sync_stream(int32_t id, void *stream) override { check(table_.sync(table_.user_data, id, stream, 0)); }
  void *create_stream(int32_t id) override {
    if (!table_.create_stream) return DeviceBackend::create_stream(id);
    void *stream = nullptr;
    check(table_.create_stream(table_.user_data, id, &stream));
    return stream;
  }
  void free_stream(int32_t id, void *stream) noexcept override {
    if (table_.free_stream) table_.free_stream(table_.user_data, id, stream);
  }

  std::unique_ptr<DeviceTimer> start_timer(int32_t id, void *stream) override {
    return table_.record_event ? std::make_unique<PluginTimer>(table_, id, stream) : nullptr;
  }

  ActivitySource *activity() override { return kind_.activity.is_offered() ? &kind_.activity : nullptr; }

  std::unique_ptr<DeviceProgram> build(int32_t id, const DeviceCode &code) override {
    if (!table_.build) return DeviceBackend::build(id, code);
    void *program = nullptr;
    check(table_.build(table_.user_data, id, std::string(code.format).c_str(), code.code.data(), code.code.size(),
                       &program));
    return std::make_unique<PluginProgram>(kind_, id, program);
  }

 private:
  const std::string name_;
  Kind kind_;
  const opd_device_table &table_ = kind_.table;
};

void check_table(const opd_device_table &table) {
  require(table.get_attr && table.allocate && table.deallocate && table.copy && table.sync,
          "a table of a kind of devices must have get_attr, allocate, deallocate, copy and sync");
  require(!table.create_stream == !table.free_stream,
          "a table of a kind of devices must have both of create_stream and free_stream, or none");
  const bool has_kernels = table.build != nullptr;
  require(has_kernels == (table.free_program != nullptr) && has_kernels == (table.find_kernel != nullptr) &&
              has_kernels == (table.launch != nullptr),
          "a table of a kind of devices must have all of build, free_program, find_kernel and launch, or none");
  const bool has_events = table.record_event != nullptr;
  require(has_events == (table.wait_event != nullptr) && has_events == (table.free_event != nullptr) &&
              has_events == (table.get_time != nullptr),
          "a table of a kind of devices must have all of record_event, wait_event, free_event and get_time, or none");
  const bool has_activity = table.set_activity != nullptr;
  require(has_activity == (table.set_correlation != nullptr) && has_activity == (table.read_activity != nullptr),
          "a table of a kind of devices must have all of set_activity, set_correlation and read_activity, or none");
  require(!has_activity || table.get_time, "a table of a kind of devices that has set_activity must have get_time");
}

}  // namespace

DLDeviceType register_plugin(std::string_view kind, const opd_device_table &table) {
  check_table(table);
  const DLDeviceType type = add_device_kind(kind);
  auto backend = std::make_unique<PluginBackend>(std::string(kind), table, type);
  register_device(type, *backend);
  backend.release();  // never freed: tensors may have memory of this kind until the process exits
  return type;
}

}  // namespace opd
