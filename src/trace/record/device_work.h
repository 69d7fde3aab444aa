// Events for the work of devices (kernels and copies), for their clocks, and for counters that collectors measure. A
// device reports the times of its work only afterwards. So the work waits in a queue. A thread of the library reads the
// times and adds the events to its own track. The trace has a track for each stream (TraceParts::divide_device_work()).
// Cost: a load if no recording asks for them, else that of the queue and of keeping the times on the device
// (tools/bench, device_launch_recorded).
#pragma once
#include <atomic>
#include <chrono>
#include <memory>

#include "trace/model/event.h"

namespace opd {

struct TickInterval {
  uint64_t begin, end;
};
struct WorkTimes {
  TickInterval work;
  DeviceMoment clock;  // the relation to the process's clock
};

// Work that was submitted to a device.
class PendingWork {
 public:
  virtual ~PendingWork() = default;
  // Waits for its end; false: the device does not report times. `launch`: the interval of its submission. One thread
  // calls it for all devices.
  virtual bool finish(TickInterval launch, WorkTimes &out) noexcept = 0;
};

struct LaunchedWork {
  NameId name;
  DLDevice device;
  uint16_t stream;
  WorkKind kind;
  uint64_t bytes;  // size of a copy
  TickInterval launch;
};
// Called by the thread that submitted the work. The work belongs to this thread's run. If memory cannot be allocated,
// the event is counted as dropped.
void add_device_work(const LaunchedWork &launched, std::unique_ptr<PendingWork> work) noexcept;

// Adds the event of work with known times to the calling thread's track.
struct WorkLauncher {
  uint64_t run;     // as in Event
  uint32_t thread;  // system id of the thread
};
WorkLauncher launcher_of_work();  // describes the calling thread
void add_work_event(const LaunchedWork &launched, const WorkLauncher &by, const TickInterval &times) noexcept;
// Adds an event of the device's clock for the recordings that ran at the tick `began`.
void add_clock_event(DLDevice device, uint64_t began, const DeviceMoment &moment) noexcept;
void count_lost_work(uint64_t count) noexcept;  // counts them as dropped events

// Waits until all work added before has ended and its events are added. `most`: the longest wait; zero: no limit.
void finish_device_work(std::chrono::milliseconds most = {}) noexcept;

// ---- counters: values that collectors measured on devices, each at a moment

// Adds the current value of `device` to all running recordings. Cost: that of an event; the caller measures no more
// often than the value changes.
void add_counter_event(NameId name, DLDevice device, double value) noexcept;

}  // namespace opd
