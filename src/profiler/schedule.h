// Selects the steps of a program that a profiler records.
#pragma once
#include <cstdint>

namespace opd {

enum class ProfilerAction : uint8_t { kNone, kWarmup, kRecord, kRecordAndSave };  // as in opdyno/profiler.h
inline bool records(ProfilerAction action) { return action >= ProfilerAction::kRecord; }

// The first `skip_first` steps are skipped. Then `repeat` cycles of `wait`, `warmup` and `active` steps follow; repeat
// 0: without end. If `skip_first_wait` is not 0, the first cycle has no `wait`. `active` 0: there is no schedule, and
// all steps are recorded. Source: torch.profiler.schedule.
struct Schedule {
  uint64_t wait = 0, warmup = 0, active = 0, repeat = 0, skip_first = 0;
  bool skip_first_wait = false;

  ProfilerAction action_at(uint64_t step) const {
    if (active == 0) return ProfilerAction::kRecord;
    if (step < skip_first) return ProfilerAction::kNone;
    step -= skip_first;
    if (skip_first_wait) step += wait;
    const uint64_t cycle = wait + warmup + active, place = step % cycle;
    if ((repeat > 0 && step / cycle >= repeat) || place < wait) return ProfilerAction::kNone;
    if (place < wait + warmup) return ProfilerAction::kWarmup;
    return place + 1 < cycle ? ProfilerAction::kRecord : ProfilerAction::kRecordAndSave;
  }
};

}  // namespace opd
