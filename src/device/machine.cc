#include "device/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <vector>

namespace opd {
namespace {

uint64_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : UINT64_MAX;
}

uint64_t machine_available() {
  const std::string text = read_system_file("/proc/meminfo");
  const std::string_view key = "MemAvailable:";
  const size_t place = text.find(key);
  if (place == std::string::npos) return machine_memory();
  const size_t digits = text.find_first_not_of(' ', place + key.size());
  uint64_t kib = 0;
  if (digits != std::string::npos) std::from_chars(text.data() + digits, text.data() + text.size(), kib);
  return kib * 1024;
}

}  // namespace

std::string read_system_file(const std::string &path) {
  constexpr size_t kMost = 4 << 20;  // cpuinfo of a thousand processors has about 1.5 MB
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  char part[4096];
  while (text.size() < kMost) {
    const ssize_t n = ::read(fd, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(part, static_cast<size_t>(n));
  }
  ::close(fd);
  return text;
}

uint64_t usable_memory_bytes() { return std::min(machine_memory(), cgroup_limits().memory_bytes); }
uint64_t available_memory_bytes() { return std::min(machine_available(), cgroup_limits().memory_available); }

int32_t allowed_processors() {
  for (size_t sets = 1; sets <= 64; sets *= 4) {  // the kernel refuses a mask smaller than its own
    std::vector<cpu_set_t> mask(sets);
    if (sched_getaffinity(0, sets * sizeof(cpu_set_t), mask.data()) == 0)
      return std::max(1, CPU_COUNT_S(sets * sizeof(cpu_set_t), mask.data()));
    if (errno != EINVAL) break;
  }
  return static_cast<int32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

int32_t usable_processors() {
  const double quota = std::ceil(cgroup_limits().processors);
  return static_cast<int32_t>(std::clamp<double>(quota, 1, allowed_processors()));
}

}  // namespace opd
