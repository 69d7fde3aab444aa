// The interface for observers of recorded calls. Collectors implement it, but only profile/ knows these.
#pragma once
#include <opdyno/dlpack.h>

#include <cstddef>
#include <cstdint>

namespace opd {

// Belongs to one thread and is called by it, outside of the calls' measured intervals.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void begin_call(DLDevice device) = 0;
  // Ends the innermost open call that started before the tick `begin`. Calls opened after it were ended by an error and
  // are discarded. `sequence` is that of the call's record.
  virtual void end_call(uint64_t begin, uint64_t sequence) noexcept = 0;
  // Called around a whole run, which may be within another one. end_run() gets what begin_run() returned.
  virtual size_t begin_run() = 0;
  virtual void end_run(size_t run) noexcept = 0;
  virtual bool is_busy() const noexcept = 0;  // the observer itself is calling; its calls are not recorded
};

// Makes and keeps the observers of a recording on several threads.
class CallObservers {
 public:
  virtual ~CallObservers() = default;
  virtual CallObserver &of_thread() = 0;  // a new one for each thread; never called by two threads at once
};

}  // namespace opd
