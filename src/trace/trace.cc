#include "trace/trace.h"

#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace opd {
namespace {

std::string trimmed_file(const char *path) {  // reads a name that the kernel shows in /proc
  char text[64] = "";
  if (FILE *file = std::fopen(path, "re")) {
    text[std::fread(text, 1, sizeof text - 1, file)] = '\0';
    std::fclose(file);
  }
  const std::string_view name = text;
  return std::string(name.substr(0, name.find('\n')));
}

}  // namespace

int32_t Trace::type() {
  static const int32_t index = register_type("opdyno.Trace");
  return index;
}

size_t Trace::num_calls() const {
  size_t calls = 0;
  for (const auto &thread : parts.threads) calls += thread.buffer.size();
  return calls;
}

uint64_t Trace::num_dropped() const {
  uint64_t dropped = 0;
  for (const auto &thread : parts.threads) dropped += thread.buffer.dropped();
  return dropped;
}

Ref<Trace> Trace::of_lanes(std::vector<ThreadTrack> lanes, ClockCalibration line) {
  TraceParts parts;
  parts.threads = std::move(lanes);
  parts.line = line;
  parts.process_id = ::getpid();
  parts.process_name = trimmed_file("/proc/self/comm");
  parts.unix_offset_ns = realtime_offset_ns();
  return make_object<Trace>(std::move(parts));
}

int64_t realtime_offset_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - static_cast<int64_t>(monotonic_ns());
}

}  // namespace opd
