// Who is told of each recorded call while it happens: collectors, which only profile/ knows.
#pragma once
#include <opdyno/dlpack.h>

#include <cstdint>

namespace opd {

// Called by the thread that records, outside of the calls' measured intervals.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void begin_call(DLDevice device) = 0;
  // The call of which begin_call() told last before the tick `begin`; calls that began later ended without a word, by
  // an error. `sequence` is what its record gets.
  virtual void end_call(uint64_t begin, uint64_t sequence) noexcept = 0;
};

}  // namespace opd
