// The interface for observers of recorded calls. Collectors implement it (profiler/).
#pragma once
#include <opdyno/dlpack.h>

#include <optional>
#include <string>
#include <vector>

#include "trace/model/event.h"

namespace opd {

// Belongs to one thread and is called by it, outside of the calls' measured intervals.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void begin_call(DLDevice device) = 0;
  // Ends the innermost open call that started before the tick `begin`. Calls opened after it were ended by an error and
  // are discarded. Adds what was measured to the items of the call's event.
  virtual void end_call(uint64_t begin, EventItems &out) noexcept = 0;
  // Called around a whole run, which may be within another one. end_run() gets what begin_run() returned.
  virtual size_t begin_run() = 0;
  virtual void end_run(size_t run, EventItems &out) noexcept = 0;
  virtual bool is_busy() const noexcept = 0;  // the observer itself is calling; its calls are not recorded
};

struct ObserverSummary {  // of one collector, for all threads
  std::string name;
  uint64_t cost_ticks = 0;
  std::optional<std::string> error;  // message of the first one
  std::string note;                  // "" if there is nothing to say
};

// Makes and keeps the observers of a recording on several threads.
class CallObservers {
 public:
  virtual ~CallObservers() = default;
  // A new one for the calling thread. `recording` marks the items that it adds. Never called by two threads at once.
  virtual CallObserver &of_thread(Recordings recording) = 0;
  virtual std::vector<ObserverSummary> finish() = 0;  // called when no observed call runs
};

}  // namespace opd
