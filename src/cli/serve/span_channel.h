// Sends a session's spans from its process to the server through shared memory. Clients' programs run in that process
// and can write anything there, so the server copies what it reads and cuts texts. It trusts nothing but the sizes of
// arrays.
#pragma once
#include <opdyno/telemetry.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

namespace opd::cli {

// A span with fixed space for texts. Longer texts are cut.
struct SharedSpan {
  std::array<char, 56> traceparent;
  std::array<char, 17> parent;
  std::array<char, 128> name;
  std::array<char, 16> kind;
  std::array<char, 256> error;
  int64_t begin_ns, end_ns;
  int32_t span_kind;
  int32_t has_failed;  // not a bool, because clients' programs can write any value
};

class SpanChannel {
 public:
  static constexpr size_t room = 512;

  // For the session's process. Never waits; spans without room are counted.
  void note(const opd_telemetry_value &span) noexcept;

  // For the server. Gives the spans that ended since `taken`, and advances `taken`. If there are too many, gives only
  // the newest.
  using Receiver = std::function<void(const SharedSpan &)>;
  void take(uint64_t &taken, const Receiver &receive);
  void take_open(const Receiver &receive) const;  // once the process has ended
  uint64_t num_dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  SharedSpan *place_of(const SharedSpan &span) noexcept;

  std::atomic<uint64_t> written_{0}, taken_{0}, dropped_{0};
  std::array<SharedSpan, 2> open_{};    // the session and a call; without a begin, the entry is free
  std::array<SharedSpan, room> ended_;  // its pages are allocated when they are written
};

}  // namespace opd::cli
