// What a plug-in reports of the work of its devices.
#pragma once
#include <opdyno/device_plugin.h>

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "base/fork_mutex.h"
#include "device/device_clock.h"
#include "device/recent_map.h"
#include "trace/device_activity.h"

namespace opd {

class PluginActivity final : public ActivitySource {
 public:
  PluginActivity(const opd_device_table &table, DLDeviceType type) : table_(table), type_(type) {}

  bool is_offered() const { return table_.set_activity != nullptr; }
  // Then the plug-in tells the times of work, so no events are recorded around it.
  bool is_on() const { return is_on_.load(std::memory_order_acquire); }
  void start() override;
  void stop() noexcept override;
  void flush(bool waits) noexcept override;

  // Marks what the calling thread submits to a stream meanwhile.
  class Submission {
   public:
    Submission(PluginActivity &activity, int32_t device, void *stream);
    ~Submission();
    Submission(const Submission &) = delete;

   private:
    void note(uint64_t end);
    PluginActivity &activity_;
    const uint64_t number_;
    const uint16_t stream_;
    const WorkLauncher by_ = launcher_of_work();
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

  void take(const opd_device_activity &given, Reading &into) const;
  std::map<int32_t, Moment> moments_of(const std::vector<Reported> &works) const;
  void add(const Reported &reported, bool tells_clock);

  const opd_device_table &table_;
  const DLDeviceType type_;
  std::atomic<bool> is_on_{false};
  std::atomic<uint64_t> next_{1};
  ForkMutex guard_{LockRank::kDeviceWork};
  RecentMap<uint64_t, Launch> launches_;
  std::map<int32_t, DeviceClock> clocks_;
};

}  // namespace opd
