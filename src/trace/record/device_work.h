// Events of the work of devices: kernels and copies. A device reports the times of its work only afterwards. So the
// work waits in a queue; a thread of the library reads its times and adds the events to its own track; the trace has a
// track for each stream (TraceParts::divide_device_work()). Cost: a load if no recording asks for them, else that of
// the queue and of keeping the times on the device (tools/bench, device_launch_recorded).
#pragma once
#include <atomic>
#include <chrono>
#include <memory>

#include "trace/model/event.h"

namespace opd {

namespace detail {
extern std::atomic<uint32_t> device_recordings;  // a bit for each that records the work of devices
}
inline bool is_recording_device_work() { return detail::device_recordings.load(std::memory_order_relaxed) != 0; }

struct TickInterval {
  uint64_t begin, end;
};
struct WorkTimes {
  TickInterval work;
  DeviceMoment clock;  // how they were placed on the process's clock
};

// Work that a device has been given.
class PendingWork {
 public:
  virtual ~PendingWork() = default;
  // Waits for its end; false: the device does not tell its times. `launch`: while the host gave it. Called by one
  // thread, for all devices.
  virtual bool finish(TickInterval launch, WorkTimes &out) noexcept = 0;
};

struct LaunchedWork {
  NameId name;
  DLDevice device;
  uint16_t stream;
  WorkKind kind;
  uint64_t bytes;  // of a copy
  TickInterval launch;
};
// Called by the thread that gave the work to the device, whose run it belongs to. If memory is short, the event is
// counted as dropped.
void add_device_work(const LaunchedWork &launched, std::unique_ptr<PendingWork> work) noexcept;

// Of work whose times are known: its event, on the calling thread's track.
struct WorkLauncher {
  uint64_t run;     // as in Event
  uint32_t thread;  // the system's number of the thread
};
WorkLauncher launcher_of_work();  // the calling thread
void add_work_event(const LaunchedWork &launched, const WorkLauncher &by, const TickInterval &times) noexcept;
// The same of the device's clock, for the recordings that ran at the tick `began`.
void add_clock_event(DLDevice device, uint64_t began, const DeviceMoment &moment) noexcept;
void count_lost_work(uint64_t count) noexcept;  // as dropped events

// Waits until all work that was added before has ended, and is among the events; `most`: no longer than that; zero: as
// long as it takes.
void finish_device_work(std::chrono::milliseconds most = {}) noexcept;

}  // namespace opd
