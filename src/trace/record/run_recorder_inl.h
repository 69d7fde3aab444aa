// Defines RunRecorder::add() for the loops that record calls. It needs the track, which other users of a recorder do
// not.
#pragma once
#include "trace/record/run_recorder.h"
#include "trace/record/track.h"

namespace opd {

void RunRecorder::add(const Call &call, Args args, size_t cache, const Error *error) const {
  if (error || observed_) [[unlikely]]
    return add_slowly(call, args, cache, error);
  if (Event *event = track_->describe(recordings_, all_calls_, args, cache)) {
    complete(*event, call);
    track_->commit();
  }
}

}  // namespace opd
