// Reads the metrics of the process. Source: Prometheus, "Writing client libraries", Process metrics; proc(5).
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <memory>

#include "telemetry/metric.h"
#include "trace/model/process.h"

namespace opd {
namespace {

// Reads a field of /proc/self/stat by its number in proc(5), from 3 on: the name before them may have spaces.
double stat_field(std::string_view stat, int number) {
  const size_t end_of_name = stat.rfind(") ");
  if (end_of_name == stat.npos) return 0;
  stat.remove_prefix(end_of_name + 2);
  for (int field = 3; field < number; ++field) {
    const size_t space = stat.find(' ');
    if (space == stat.npos) return 0;
    stat.remove_prefix(space + 1);
  }
  uint64_t value = 0;
  std::from_chars(stat.data(), stat.data() + stat.size(), value);
  return static_cast<double>(value);
}

double boot_time() {
  const std::string text = small_file("/proc/uptime");
  double uptime = 0;
  std::from_chars(text.data(), text.data() + text.size(), uptime);
  return static_cast<double>(unix_ns()) / 1e9 - uptime;
}

size_t num_open_files() {
  const std::unique_ptr<DIR, int (*)(DIR *)> directory(::opendir("/proc/self/fd"), &::closedir);
  size_t count = 0;
  while (const dirent *const entry = directory ? ::readdir(directory.get()) : nullptr) count += entry->d_name[0] != '.';
  return count ? count - 1 : 0;  // without the descriptor of the directory
}

}  // namespace

void add_process_metrics(std::vector<Series> &all) {
  const auto add = [&](const auto &...parts) { all.push_back(single(parts...)); };
  const std::string stat = small_file("/proc/self/stat");
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK)), page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  // Computed once: corrections of the clock must not change the start.
  static const double started = boot_time() + stat_field(stat, 22) / ticks;
  add("process_cpu_seconds", "process.cpu.time", "s", "User and system time of the process's processors.",
      SeriesKind::kCounter, (stat_field(stat, 14) + stat_field(stat, 15)) / ticks);
  add("process_resident_memory_bytes", "process.memory.usage", "By", "Resident memory of the process.",
      SeriesKind::kGauge, stat_field(stat, 24) * page);
  add("process_virtual_memory_bytes", "process.memory.virtual", "By", "Virtual memory of the process.",
      SeriesKind::kGauge, stat_field(stat, 23));
  add("process_open_fds", "process.open_file_descriptor.count", "{count}", "Open file descriptors.", SeriesKind::kGauge,
      static_cast<double>(num_open_files()));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    add("process_max_fds", "process.open_file_descriptor.limit", "{count}", "The most file descriptors.",
        SeriesKind::kGauge, static_cast<double>(limit.rlim_cur));
  add("process_start_time_seconds", "process.start_time", "s", "Unix time at which the process started.",
      SeriesKind::kGauge, started);
}

}  // namespace opd
