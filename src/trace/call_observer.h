// Who is told of each recorded call while it happens: collectors, which only profile/ knows.
#pragma once
#include <opdyno/dlpack.h>

#include <cstddef>
#include <cstdint>

namespace opd {

// Of one thread; called by it, outside of the calls' measured intervals.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void begin_call(DLDevice device) = 0;
  // The call of which begin_call() told last before the tick `begin`; calls that began later ended without a word, by
  // an error. `sequence` is what its record gets.
  virtual void end_call(uint64_t begin, uint64_t sequence) noexcept = 0;
  // Around a whole run, which may be within another one. end_run() gets what begin_run() gave.
  virtual size_t begin_run() = 0;
  virtual void end_run(size_t run) noexcept = 0;
  virtual bool is_busy() const noexcept = 0;  // what is called now, it calls itself: that is not recorded
};

// Makes and keeps the observers of a recording on several threads.
class CallObservers {
 public:
  virtual ~CallObservers() = default;
  virtual CallObserver &of_thread() = 0;  // another one for each thread; the threads take turns
};

}  // namespace opd
