// The interface for observers of recorded calls. Collectors implement it (profiler/).
#pragma once
#include <opdyno/dlpack.h>

#include <optional>
#include <string>
#include <vector>

#include "trace/model/event.h"

namespace opd {

// Belongs to one thread, which calls it outside of the calls' measured intervals.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void begin_call(DLDevice device) = 0;
  // Ends the innermost open call that started before the tick `begin`, and adds the measured values to the items of its
  // event. Calls opened after it were ended by an error and are discarded.
  virtual void end_call(uint64_t begin, EventItems &out) noexcept = 0;
  // Called around a whole run, which may be nested in another one. end_run() gets the result of begin_run().
  virtual size_t begin_run() = 0;
  virtual void end_run(size_t run, EventItems &out) noexcept = 0;
  virtual bool is_busy() const noexcept = 0;  // the observer itself is making calls, which are not recorded
};

struct ObserverSummary {  // summary of one collector over all threads
  std::string name;
  uint64_t cost_ticks = 0;
  std::optional<std::string> error;  // message of the first error
  std::string note;                  // "" if there is none
};

// Creates and owns the observers of a recording, one for each thread.
class CallObservers {
 public:
  virtual ~CallObservers() = default;
  // Creates an observer for the calling thread. `recording` marks the items that it adds. Never called concurrently.
  virtual CallObserver &of_thread(Recordings recording) = 0;
  virtual std::vector<ObserverSummary> finish() = 0;  // called when no observed call runs
};

}  // namespace opd
