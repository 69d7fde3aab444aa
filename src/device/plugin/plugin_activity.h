// Events from a plug-in about the work of its devices, and checks of the results of its functions.
#pragma once
#include <opdyno/device_plugin.h>

#include <atomic>
#include <map>
#include <span>
#include <vector>

#include "base/fork_mutex.h"
#include "device/device_clock.h"
#include "device/recent_map.h"
#include "trace/record/device_activity.h"
#include "value/value.h"

namespace opd {

inline void check(opd_error *error) {
  if (error) [[unlikely]]
    throw Exception(Ref<Error>::take(reinterpret_cast<Error *>(error)));
}

// Returns whether a call succeeded, and drops its error.
inline bool has_succeeded(opd_error *error) noexcept {
  if (error) Ref<Error>::take(reinterpret_cast<Error *>(error));
  return !error;
}

class PluginActivity final : public ActivitySource {
 public:
  PluginActivity(const opd_device_table &table, DLDeviceType type) : table_(table), type_(type) {}

  bool is_offered() const { return table_.set_activity != nullptr; }
  // Whether the plug-in reports the times of work. If so, no events are recorded around it. False in a child of fork().
  bool is_on() const { return state_.load(std::memory_order_acquire) == on_in(fork_generation()); }
  void start() override;
  // From now on, events are recorded around work again. Earlier work may belong to another recording that continues.
  void stop() noexcept override {
    state_.store(ending_in(fork_generation()), std::memory_order_release);
    if (is_recording(Interest::kDeviceWork)) flush(true);
    state_.store(0, std::memory_order_release);
    has_succeeded(table_.set_activity(table_.user_data, 0));
    const std::scoped_lock lock(guard_);
    launches_.clear();
  }
  void flush(bool waits) noexcept override;
  void poll() noexcept override { flush(false); }

  // Marks the work that the calling thread submits to a stream during its life. Submissions may be nested.
  class Submission {
   public:
    Submission(PluginActivity &activity, int32_t device, void *stream) noexcept;
    ~Submission();
    Submission(const Submission &) = delete;

   private:
    void note(uint64_t end) noexcept;
    uint64_t outer_number() const;  // number of the enclosing submission to the same kind; 0: none

    PluginActivity &activity_;
    Submission *const outer_;
    const uint64_t number_;
    const uint16_t stream_;
    const WorkLauncher by_;
    const uint64_t begin_ = ticks_of(tick_clock());
  };

 private:
  struct Launch {
    WorkLauncher by;
    TickInterval ticks;
    uint16_t stream;
  };
  struct Reported {
    LaunchedWork work;
    uint64_t begin_ns, end_ns, correlation;
  };
  struct Reading {
    std::vector<Reported> found;
    uint64_t lost = 0;
  };
  struct Moment {
    uint64_t ns;
    TickInterval interval;
  };
  struct Placed {
    LaunchedWork work;
    WorkLauncher by;
    WorkTimes times;
  };

  // `generation`: fork_generation() of the process that made this state.
  static constexpr uint64_t on_in(uint32_t generation) { return uint64_t{generation} << 2 | 2; }
  static constexpr uint64_t ending_in(uint32_t generation) { return uint64_t{generation} << 2 | 1; }

  void read(bool waits);
  void take(const opd_device_activity &given, Reading &into) const;
  std::map<int32_t, Moment> moments_of(const std::vector<Reported> &works) const;
  std::vector<Placed> place(std::span<const Reported> works);

  const opd_device_table &table_;
  const DLDeviceType type_;
  std::atomic<uint64_t> state_{0};
  std::atomic<uint64_t> next_{1}, began_ns_{0};  // `began_ns_`: host time when the plug-in began to record
  std::atomic<uint32_t> num_reading_{0};
  uint32_t generation_ = fork_generation();  // the fork generation to which num_reading_ belongs
  ForkMutex guard_{LockRank::kDeviceWork};
  RecentMap<uint64_t, Launch> launches_;
  std::map<int32_t, DeviceClock> clocks_;
};

}  // namespace opd
