// The state of the machine during a measurement: disturbances of timings, as far as the system reports them.
#include "machine_noise.h"

#include <sched.h>
#include <unistd.h>

#include <fstream>

#include "text.h"

namespace opd::cli {

namespace {

constexpr const char *kUnknown = "unknown";

std::string first_line(const std::string &path) {  // "" if it cannot be read
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return std::string(trim(line));
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

int processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

MachineQuality::Entry governor() {
  const std::string value = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return {"governor", value.empty() ? kUnknown : value, !value.empty() && value != "performance"};
}

MachineQuality::Entry turbo() {
  if (const std::string off = first_line("/sys/devices/system/cpu/intel_pstate/no_turbo"); !off.empty())
    return {"turbo", off == "0" ? "on" : "off", off == "0"};
  if (const std::string on = first_line("/sys/devices/system/cpu/cpufreq/boost"); !on.empty())
    return {"turbo", on == "0" ? "off" : "on", on != "0"};
  return {"turbo", kUnknown, false};
}

// The quota of the topmost visible control group; in a container, that is the container's own.
MachineQuality::Entry quota() {
  std::string limit = first_line("/sys/fs/cgroup/cpu.max");
  if (limit.empty())
    if (const std::string time = first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"); !time.empty())
      limit = cat(time == "-1" ? "max" : time, " ", first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  const auto parts = words_of(limit);
  if (parts.size() != 2) return {"quota", kUnknown, false};
  const auto time = read_double(parts[0]), period = read_double(parts[1]);
  if (!time || !period || !(*period > 0)) return {"quota", parts[0] == "max" ? "none" : kUnknown, false};
  return {"quota", cat(significant(*time / *period, 3), " processors"), *time / *period < processors()};
}

// This program itself keeps one processor busy. If the load exceeds the number of processors, tasks wait.
MachineQuality::Entry load() {
  const std::string line = first_line("/proc/loadavg");
  const auto parts = words_of(line);
  const std::optional<double> number = parts.empty() ? std::nullopt : read_double(parts[0]);
  if (!number) return {"load", kUnknown, false};
  return {"load", cat(fixed(*number, 2), " on ", processors(), " processors"), *number > processors()};
}

}  // namespace

uint64_t last_level_cache_bytes() {
  int64_t highest = 0;
  uint64_t bytes = 0;
  for (int i = 0; i < 16; ++i) {
    const std::string directory = cat("/sys/devices/system/cpu/cpu0/cache/index", i);
    const std::optional<int64_t> level = read_int(first_line(directory + "/level"));
    const std::optional<uint64_t> size = read_bytes(first_line(directory + "/size"));  // "32768K"
    if (level && size && *level > highest) highest = *level, bytes = *size;
  }
#ifdef _SC_LEVEL3_CACHE_SIZE
  for (const int name : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const long size = sysconf(name); !bytes && size > 0) bytes = static_cast<uint64_t>(size);
#endif
  return bytes;
}

MachineQuality::MachineQuality() : begin_(read_ticks()) {}

// Fields: user nice system idle iowait irq softirq steal. The guests' times that follow are contained in the first two.
std::optional<MachineQuality::Ticks> MachineQuality::read_ticks() {
  const std::string line = first_line("/proc/stat");
  const auto parts = words_of(line);
  if (parts.size() < 9 || parts[0] != "cpu") return std::nullopt;
  Ticks ticks{0, 0};
  for (size_t i = 1; i < 9; ++i) {
    const std::optional<double> number = read_double(parts[i]);
    if (!number) return std::nullopt;
    ticks.all += *number;
    ticks.stolen = *number;
  }
  return ticks;
}

std::vector<MachineQuality::Entry> MachineQuality::entries() const {
  Entry steal{"steal", kUnknown, false};
  if (const auto end = read_ticks(); begin_ && end && end->all > begin_->all) {
    const double share = (end->stolen - begin_->stolen) / (end->all - begin_->all);
    steal = {"steal", cat(fixed(share * 100, 1), " %"), share > 0.01};
  }
  return {governor(), turbo(), quota(), std::move(steal), load()};
}

std::string noise_of(const opd_machine_peak &peak) {
  constexpr double most_spread = 0.1;  // from here on, opd_machine_peak calls it noisy
  if (peak.spread < most_spread) return {};
  return cat("the machine's peak was measured while it was busy (tries differ by ", fixed(peak.spread * 100, 0),
             " %): it may be higher, and percentages of it lower");
}

}  // namespace opd::cli
