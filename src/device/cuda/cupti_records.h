// Records of CUPTI's buffers. A record states its kind but not its size, and the structures grow from release to
// release. The members that are read here have had the same offsets in all releases since CUDA 9. Reads are bounded by
// the record's end.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "device/cuda/cupti_api.h"

namespace opd::cupti {

struct Activity {
  uint32_t kind = 0;
  uint64_t start = 0, end = 0;  // ns of CUPTI's clock; 0: not measured
  uint32_t correlation = 0;     // the same for a call and its work
  uint32_t device = 0, stream = 0;
  uint64_t bytes = 0;          // size of a copy or fill
  uint32_t detail = 0;         // copy: CUpti_ActivityMemcpyKind; overhead: its kind
  uint32_t thread = 0;         // calling thread of a call; thread of overhead, if it has one
  uint64_t external = 0;       // external correlation: the pushed number
  const char *name = nullptr;  // kernel: CUPTI's string, valid until the process exits
};

// Returns nullopt if the kind is unknown, or the record is shorter than in every release.
std::optional<Activity> read_activity(std::span<const uint8_t> record);

// Calls visit(Activity) for each known record. `next`: CUPTI's function that steps from record to record. Returns the
// number of skipped records. If the rest cannot be stepped over, it counts as one.
template <class Next, class Visit>
size_t each_activity(std::span<uint8_t> buffer, const Next &next, const Visit &visit) {
  Record *record = nullptr;
  const auto step = [&] { return next(buffer.data(), buffer.size(), &record); };
  const auto place_of = [&] {
    return static_cast<size_t>(reinterpret_cast<uintptr_t>(record) - reinterpret_cast<uintptr_t>(buffer.data()));
  };
  size_t skipped = 0, at = 0;
  Status status = step();
  while (status == kSuccess) {
    if (place_of() != at || at >= buffer.size()) return skipped + 1;
    status = step();
    const size_t end = status == kSuccess ? place_of() : buffer.size();
    if (end <= at || end > buffer.size()) return skipped + 1;
    if (const std::optional<Activity> activity = read_activity(buffer.subspan(at, end - at))) visit(*activity);
    else ++skipped;
    at = end;
  }
  return status == kMaxLimitReached ? skipped : skipped + 1;
}

}  // namespace opd::cupti
