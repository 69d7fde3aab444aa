// A kind of devices that a test adds to the process by opdyno's public table: memory at addresses of its own, streams
// that work in the background, kernels by name, and faults on demand.
#pragma once
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/opdyno_test.h"

namespace opdyno_test {

class SimulatedDevice {
 public:
  static constexpr int32_t kDevices = 2;
  using Kernel =
      std::function<void(SimulatedDevice &, const std::vector<std::string> &args, const opd_kernel_launch &)>;

  /** Registers the kind at the first call. */
  static SimulatedDevice &get() {
    static auto *const device = new SimulatedDevice;
    return *device;
  }
  DLDevice device(int32_t id = 0) const { return {type_, id}; }

  /** Kernels that a program of the format "sim" may name, one to a line. */
  void define(const std::string &name, Kernel kernel) {
    const std::scoped_lock lock(guard_);
    known_[name] = std::move(kernel);
  }
  /** The memory behind an address. */
  char *memory(const void *address, size_t size) {
    const std::scoped_lock lock(guard_);
    auto found = blocks_.upper_bound(static_cast<const char *>(address));
    if (found == blocks_.begin()) throw std::runtime_error("there is no block at the address");
    --found;
    const auto offset = static_cast<size_t>(static_cast<const char *>(address) - found->first);
    if (offset + size > found->second.bytes.size()) throw std::runtime_error("the bytes reach beyond their block");
    return found->second.bytes.data() + offset;
  }

  /** Each piece of work takes this long, after it was given. */
  void set_latency(std::chrono::microseconds latency) { latency_ = latency; }
  /** Each time that the device tells is @p step after the one before; 0: its clock runs as the host's. */
  void set_clock_step(std::chrono::nanoseconds step) { step_ns_ = static_cast<uint64_t>(step.count()); }
  /** The nth call of a function of the table from now on fails, and all after it; 0: none does. */
  void fail_from(int64_t nth) { calls_ = 0, fail_from_ = nth, fail_to_ = INT64_MAX; }
  /** The nth call fails, and no other. */
  void fail_once(int64_t nth) { calls_ = 0, fail_from_ = nth, fail_to_ = nth; }
  int64_t calls() const { return calls_; }

  /** A record, as other code's work has it; it keeps `name`. Records are kept only while opdyno asks for them. */
  void report(opd_device_activity record, const std::string &name) {
    const std::scoped_lock lock(guard_);
    if (!keeps_activity_) return;
    record.name = names_.insert(name).first->c_str();
    activity_.push_back(record);
  }
  void lose_activity(uint64_t count) { lost_activity_ += count; }
  bool keeps_activity() const { return keeps_activity_; }
  size_t num_records() {  // that nobody has read
    const std::scoped_lock lock(guard_);
    return activity_.size();
  }
  /** Called when a kernel is launched, before its work is given to the stream. */
  void set_before_launch(std::function<void()> hook) { before_launch_ = std::move(hook); }
  /** Called once, when records have been read after waiting for work, before they are handed over. */
  void set_after_read(std::function<void()> hook) { after_read_ = std::move(hook); }
  /** Its clock began a day before the host's. */
  uint64_t now_ns() {
    if (const uint64_t step = step_ns_) return stepped_ns_ += step;
    const auto now = std::chrono::steady_clock::now().time_since_epoch() + std::chrono::hours(24);
    return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
  }

  struct Counts {
    size_t blocks, streams, programs, events;
    bool operator==(const Counts &) const = default;
  };
  Counts counts() {
    const std::scoped_lock lock(guard_);
    return {blocks_.size(), streams_.size(), programs_.size(), events_};
  }

 private:
  struct Block {
    std::vector<char> bytes;
    size_t mapped;
  };
  /** Does work in order, on a thread of its own. */
  class Stream {
   public:
    explicit Stream(SimulatedDevice &device) : device_(device), thread_([this] { run(); }) {}
    ~Stream() {
      {
        const std::scoped_lock lock(guard_);
        is_over_ = true;
      }
      changed_.notify_all();
      thread_.join();
    }
    void add(std::function<void()> work) {
      const std::scoped_lock lock(guard_);
      work_.push_back(std::move(work));
      changed_.notify_all();
    }
    std::string sync() {  // what failed since the last time
      std::unique_lock lock(guard_);
      changed_.wait(lock, [&] { return work_.empty(); });
      return std::exchange(failure_, "");
    }

   private:
    void run() {
      std::unique_lock lock(guard_);
      for (;;) {
        changed_.wait(lock, [&] { return is_over_ || !work_.empty(); });
        if (work_.empty()) return;
        const auto work = work_.front();
        lock.unlock();
        std::this_thread::sleep_for(device_.latency_.load());
        std::string failure;
        try {
          work();
        } catch (const std::exception &e) { failure = e.what(); }
        lock.lock();
        if (failure_.empty()) failure_ = failure;
        work_.pop_front();
        changed_.notify_all();
      }
    }
    SimulatedDevice &device_;
    std::mutex guard_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> work_;
    std::string failure_;
    bool is_over_ = false;
    std::thread thread_;
  };
  struct Program {
    std::set<std::string> names;
  };
  struct Event {
    std::mutex guard;
    std::condition_variable changed;
    uint64_t ns = 0;  // 0: its moment has not come
  };
  using Handed = std::shared_ptr<Event>;  // the table's events are pointers to these; the stream's work has others
  SimulatedDevice() {
    opd_device_table table{};
    table.struct_size = sizeof table;
    table.user_data = this;
    table.get_attr = [](void *self, int32_t id, opd_device_attr attr, opd_value *out) {
      return of(self).attr(id, attr, out);
    };
    table.allocate = [](void *self, int32_t, uint64_t size, uint64_t alignment) {
      return of(self).allocate(size, alignment);
    };
    table.deallocate = [](void *self, int32_t id, void *data, uint64_t) { of(self).deallocate(id, data); };
    table.copy = [](void *self, const void *from, DLDevice from_device, void *to, DLDevice to_device, uint64_t size,
                    void *stream) { return of(self).copy(from, from_device, to, to_device, size, stream); };
    table.sync = [](void *self, int32_t id, void *stream, int all) { return of(self).sync(id, stream, all != 0); };
    table.create_stream = [](void *self, int32_t, void **out) { return of(self).create_stream(out); };
    table.free_stream = [](void *self, int32_t, void *stream) { of(self).free_stream(stream); };
    table.build = [](void *self, int32_t, const char *format, const void *code, size_t size, void **out) {
      return of(self).build(format, {static_cast<const char *>(code), size}, out);
    };
    table.free_program = [](void *self, int32_t, void *program) { of(self).free_program(program); };
    table.find_kernel = [](void *self, int32_t, void *program, const char *name, void **out) {
      return of(self).find_kernel(static_cast<Program *>(program), name, out);
    };
    table.launch = [](void *self, int32_t id, void *kernel, const opd_kernel_launch *launch) {
      return of(self).launch(id, *static_cast<Kernel *>(kernel), *launch);
    };
    table.record_event = [](void *self, int32_t id, void *stream, void **out) {
      return of(self).record_event(id, stream, out);
    };
    table.wait_event = [](void *self, int32_t, void *event, uint64_t *out) {
      return of(self).wait_event(*static_cast<Handed *>(event), out);
    };
    table.free_event = [](void *self, int32_t, void *event) { of(self).free_event(static_cast<Handed *>(event)); };
    table.get_time = [](void *self, int32_t, uint64_t *out) {
      if (of(self).fails()) return fault();
      *out = of(self).now_ns();
      return static_cast<opd_error *>(nullptr);
    };
    table.set_activity = [](void *self, int32_t is_on) { return of(self).set_activity(is_on != 0); };
    table.set_correlation = [](void *, uint64_t correlation) { correlation_of_thread() = correlation; };
    table.read_activity = [](void *self, int32_t waits, opd_activity_receiver receive, void *receiver, uint64_t *out) {
      return of(self).read_activity(waits != 0, receive, receiver, out);
    };
    for (auto &stream : defaults_) stream = std::make_unique<Stream>(*this);
    type_ = opdyno::register_device("vpi", table);
  }

  static SimulatedDevice &of(void *self) { return *static_cast<SimulatedDevice *>(self); }
  static opd_error *error(opd_code code, const std::string &message) {
    return opd_error_create(code, nullptr, message.c_str());
  }
  bool fails() {
    const int64_t call = ++calls_, from = fail_from_;
    return from && call >= from && call <= fail_to_;
  }
  static opd_error *fault() { return error(OPD_CALL_FAILED, "the simulated device has a fault"); }

  opd_error *attr(int32_t id, opd_device_attr attr, opd_value *out) {
    const int64_t numbers[] = {256, 8, 4096};
    if (attr == OPD_ATTR_EXIST) *out = opd_bool(id >= 0 && id < kDevices);
    else if (attr >= OPD_ATTR_MAX_THREADS_PER_BLOCK && attr <= OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK)
      *out = opd_int(numbers[attr - 1]);
    else if (attr == OPD_ATTR_DEVICE_NAME) return opd_string_create("simulated", 9, out);
    return nullptr;
  }
  void *allocate(uint64_t size, uint64_t) {
    if (fails() || size > uint64_t{1} << 32) return nullptr;
    const size_t mapped = (size + 4095) / 4096 * 4096;
    void *const range = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return nullptr;
    const std::scoped_lock lock(guard_);
    blocks_[static_cast<char *>(range)] = {std::vector<char>(size), mapped};
    return range;
  }
  void deallocate(int32_t id, void *data) {
    opd_error_release(sync(id, nullptr, true));  // work that was given before may use it
    const std::scoped_lock lock(guard_);
    const auto found = blocks_.find(static_cast<char *>(data));
    munmap(data, found->second.mapped);
    blocks_.erase(found);
  }
  Stream &stream_of(int32_t id, void *stream) {
    return stream ? *static_cast<Stream *>(stream) : *defaults_[static_cast<size_t>(id)];
  }
  opd_error *copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, uint64_t size, void *stream) {
    if (fails()) return fault();
    const bool reads = from_device.device_type == type_, writes = to_device.device_type == type_;
    Stream &queue = stream_of(reads ? from_device.device_id : to_device.device_id, stream);
    const opd_activity_kind kind = !reads   ? OPD_ACTIVITY_COPY_TO_DEVICE
                                   : writes ? OPD_ACTIVITY_COPY_ON_DEVICE
                                            : OPD_ACTIVITY_COPY_TO_HOST;
    queue.add(reported(kind, "copy", size, reads ? from_device.device_id : to_device.device_id, [=, this] {
      std::memmove(writes ? memory(to, size) : to, reads ? memory(from, size) : from, size);
    }));
    if (reads && writes) return nullptr;
    const std::string failure = queue.sync();
    return failure.empty() ? nullptr : error(OPD_CALL_FAILED, failure);
  }
  opd_error *sync(int32_t id, void *stream, bool all) {
    std::string failure = stream_of(id, stream).sync();
    if (all) {
      std::set<Stream *> streams;
      {
        const std::scoped_lock lock(guard_);
        streams = streams_;
      }
      for (Stream *one : streams) failure += one->sync();
    }
    if (fails()) return fault();
    return failure.empty() ? nullptr : error(OPD_CALL_FAILED, failure);
  }
  opd_error *create_stream(void **out) {
    if (fails()) return fault();
    auto *stream = new Stream(*this);
    const std::scoped_lock lock(guard_);
    streams_.insert(stream);
    *out = stream;
    return nullptr;
  }
  void free_stream(void *stream) {
    {
      const std::scoped_lock lock(guard_);
      streams_.erase(static_cast<Stream *>(stream));
    }
    delete static_cast<Stream *>(stream);
  }
  opd_error *build(const std::string &format, const std::string &code, void **out) {
    if (fails()) return fault();
    if (format != "sim") return error(OPD_UNSUPPORTED, "the simulated device reads the format sim, not " + format);
    auto *program = new Program;
    std::istringstream lines(code);
    for (std::string name; std::getline(lines, name);) program->names.insert(name);
    const std::scoped_lock lock(guard_);
    programs_.insert(program);
    *out = program;
    return nullptr;
  }
  void free_program(void *program) {
    const std::scoped_lock lock(guard_);
    programs_.erase(static_cast<Program *>(program));
    delete static_cast<Program *>(program);
  }
  opd_error *find_kernel(Program *program, const std::string &name, void **out) {
    if (fails()) return fault();
    const std::scoped_lock lock(guard_);
    if (!program->names.contains(name) || !known_.contains(name))
      return error(OPD_NOT_FOUND, "the simulated device has no kernel " + name);
    *out = &known_[name];
    return nullptr;
  }
  opd_error *launch(int32_t id, const Kernel &kernel, const opd_kernel_launch &launch) {
    if (fails()) return fault();
    if (before_launch_) before_launch_();
    std::vector<std::string> args;
    for (int32_t i = 0; i < launch.num_args; ++i)
      args.emplace_back(static_cast<const char *>(launch.args[i].value), launch.args[i].size_bytes);
    stream_of(id, launch.stream)
        .add(reported(OPD_ACTIVITY_KERNEL, name_of(kernel), 0, id,
                      [this, &kernel, args, launch] { kernel(*this, args, launch); }));
    return nullptr;
  }

  opd_error *record_event(int32_t id, void *stream, void **out) {
    if (fails()) return fault();
    auto event = std::make_shared<Event>();
    stream_of(id, stream).add([event, this] {
      const std::scoped_lock lock(event->guard);
      event->ns = now_ns();
      event->changed.notify_all();
    });
    ++events_;
    *out = new Handed(event);
    return nullptr;
  }
  opd_error *wait_event(const Handed &event, uint64_t *out) {
    if (fails()) return fault();
    std::unique_lock lock(event->guard);
    event->changed.wait(lock, [&] { return event->ns != 0; });
    *out = event->ns;
    return nullptr;
  }
  void free_event(Handed *event) {
    --events_;
    delete event;
  }

  static uint64_t &correlation_of_thread() {
    static thread_local uint64_t correlation = 0;
    return correlation;
  }
  std::string name_of(const Kernel &kernel) {
    const std::scoped_lock lock(guard_);
    for (const auto &[name, known] : known_)
      if (&known == &kernel) return name;
    return "";
  }
  /** The same work, with a record of it. */
  std::function<void()> reported(opd_activity_kind kind, const std::string &name, uint64_t bytes, int32_t id,
                                 std::function<void()> work) {
    if (!keeps_activity_) return work;
    opd_device_activity record{};
    record.struct_size = sizeof record;
    record.kind = kind, record.bytes = bytes, record.device_id = id, record.correlation = correlation_of_thread();
    return [this, record, name, work = std::move(work)]() mutable {
      record.begin_ns = now_ns();
      work();
      record.end_ns = now_ns();
      report(record, name);
    };
  }
  opd_error *set_activity(bool is_on) {
    if (fails()) return fault();
    const std::scoped_lock lock(guard_);
    keeps_activity_ = is_on;
    activity_.clear();
    return nullptr;
  }
  opd_error *read_activity(bool waits, opd_activity_receiver receive, void *receiver, uint64_t *out_lost) {
    for (int32_t id = 0; waits && id < kDevices; ++id) opd_error_release(sync(id, nullptr, true));
    if (fails()) return fault();
    std::vector<opd_device_activity> records;
    {
      const std::scoped_lock lock(guard_);
      records.swap(activity_);
    }
    if (waits && after_read_) std::exchange(after_read_, nullptr)();
    for (const opd_device_activity &record : records) receive(receiver, &record);
    *out_lost = lost_activity_.exchange(0);
    return nullptr;
  }

  DLDeviceType type_{};
  std::atomic<bool> keeps_activity_{false};
  std::atomic<uint64_t> lost_activity_{0};
  std::vector<opd_device_activity> activity_;
  std::set<std::string> names_;  // of records
  std::function<void()> before_launch_, after_read_;
  std::atomic<size_t> events_{0};
  std::atomic<uint64_t> step_ns_{0}, stepped_ns_{0};
  std::mutex guard_;
  std::map<const char *, Block> blocks_;
  std::set<Stream *> streams_;
  std::set<Program *> programs_;
  std::map<std::string, Kernel> known_;
  std::unique_ptr<Stream> defaults_[kDevices];
  std::atomic<std::chrono::microseconds> latency_{};
  std::atomic<int64_t> calls_{0}, fail_from_{0}, fail_to_{0};
};

/** The argument's bytes as a T. */
template <class T>
T argument(const std::string &bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace opdyno_test
