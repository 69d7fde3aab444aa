#include "trace/model/process.h"

#include <sys/timex.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "base/text.h"

namespace opd {
namespace {

std::string first_line(const char *path) {
  const std::string text = small_file(path);
  return text.substr(0, text.find('\n'));
}

struct Machine {
  std::string host, clock;

  static const Machine &get() {
    static const auto *machine = new Machine;  // never destroyed: threads may make traces while the process exits
    return *machine;
  }

 private:
  // Each boot has its own id. A time namespace may shift the clock.
  Machine() {
    char text[256] = "";
    if (::gethostname(text, sizeof text - 1) == 0) host = text;
    clock = first_line("/proc/sys/kernel/random/boot_id");
    const ssize_t length = ::readlink("/proc/self/ns/time", text, sizeof text);
    if (!clock.empty() && length > 0) clock += concat(" ", std::string_view(text, static_cast<size_t>(length)));
  }
};

// The error bound of the system's Unix clock, if NTP synchronises it; else -1.
int64_t unix_error_ns() {
  timex answer{};
  const int state = ::adjtimex(&answer);
  return state < 0 || state == TIME_ERROR || answer.maxerror < 0 ? -1 : int64_t{answer.maxerror} * 1000;
}

}  // namespace

std::string small_file(const char *path) {
  std::string text(4096, '\0');
  FILE *const file = std::fopen(path, "re");
  text.resize(file ? std::fread(text.data(), 1, text.size(), file) : 0);
  if (file) std::fclose(file);
  return text;
}

TraceProcess TraceProcess::of_this() {
  TraceProcess made;
  made.id = ::getpid();
  made.name = first_line("/proc/self/comm");
  made.host = Machine::get().host;
  made.clock_name = Machine::get().clock;
  made.unix_offset_ns = realtime_offset_ns();
  made.clock_error_ns = unix_error_ns();
  return made;
}

// Whole nanoseconds are added as integers, because a double loses digits after an uptime of 104 days.
int64_t TraceProcess::unix_ns(uint64_t ticks) const {
  const double ns = static_cast<double>(static_cast<int64_t>(ticks - line.anchor.ticks)) * line.ns_per_tick;
  const int64_t whole = ns < 0 ? -static_cast<int64_t>(0.5 - ns) : static_cast<int64_t>(ns + 0.5);
  return static_cast<int64_t>(line.anchor.ns) + whole + unix_offset_ns + shift_ns;
}

int64_t realtime_offset_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - static_cast<int64_t>(monotonic_ns());
}

}  // namespace opd
