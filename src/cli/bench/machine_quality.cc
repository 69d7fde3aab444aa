#include "cli/bench/machine_quality.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

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

MachineQuality::Entry turbo() {
  if (const std::string off = system_line("/sys/devices/system/cpu/intel_pstate/no_turbo"); !off.empty())
    return {"turbo", off == "0" ? "on" : "off", off == "0"};
  if (const std::string on = system_line("/sys/devices/system/cpu/cpufreq/boost"); !on.empty())
    return {"turbo", on == "0" ? "off" : "on", on != "0"};
  return {"turbo"};
}

// The number of processors that the control group of `directory` may use; nullopt: unknown. Version 1 has two files.
std::optional<double> limit_of_group(const std::string &directory) {
  std::string limit = system_line(directory + "/cpu.max");
  if (limit.empty())
    if (const std::string time = system_line(directory + "/cpu.cfs_quota_us"); !time.empty())
      limit = cat(time == "-1" ? "max" : time, " ", system_line(directory + "/cpu.cfs_period_us"));
  const auto parts = words_of(limit);
  if (parts.size() != 2) return std::nullopt;
  const auto time = read_double(parts[0]), period = read_double(parts[1]);
  if (parts[0] == "max") return std::numeric_limits<double>::infinity();
  if (!time || !period || !(*period > 0) || !(*time >= 0)) return std::nullopt;
  return *time / *period;
}

// The mount points of the control groups for CPU time, with this process's group in each: {"/sys/fs/cgroup", "/a/b"}.
std::vector<std::pair<std::string, std::string>> control_groups() {
  std::vector<std::pair<std::string, std::string>> found;
  const std::string text = system_text("/proc/self/cgroup");
  for (const std::string_view line : split(text, '\n')) {  // "0::/a/b" of version 2, "4:cpu,cpuacct:/a/b" of version 1
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(trim(line.substr(second + 1)));
    if (controllers.empty()) found.emplace_back("/sys/fs/cgroup", path);
    else if (std::ranges::count(split(controllers, ','), "cpu")) found.emplace_back("/sys/fs/cgroup/cpu", path);
  }
  if (found.empty()) found = {{"/sys/fs/cgroup", ""}, {"/sys/fs/cgroup/cpu", ""}};
  return found;
}

// This program itself keeps one processor busy. If the load exceeds the number of processors, tasks wait.
MachineQuality::Entry load() {
  const std::string line = system_line("/proc/loadavg");
  const auto parts = words_of(line);
  const std::optional<double> number = parts.empty() ? std::nullopt : read_double(parts[0]);
  if (!number) return {"load"};
  return {"load", cat(fixed(*number, 2), " on ", processors(), " processors"), *number > processors()};
}

}  // namespace

MachineQuality::Entry MachineQuality::governor() {
  std::vector<std::string> values;
  for (const std::string &name : numbered_names("/sys/devices/system/cpu", "cpu")) {
    std::string value = system_line(cat("/sys/devices/system/cpu/", name, "/cpufreq/scaling_governor"));
    if (!value.empty() && !std::ranges::count(values, value)) values.push_back(std::move(value));
  }
  const std::string text = values.empty() ? "unknown" : join(values, ", ");
  return {"governor", text, !values.empty() && text != "performance"};
}

// A group cannot use more than its ancestors. In a container, the path may leave the visible part ("/../x"). Then the
// topmost visible group is its own.
MachineQuality::Entry MachineQuality::quota() {
  std::optional<double> least;
  for (auto &[directory, path] : control_groups()) {
    if (path.find("..") != path.npos || path.size() > 4096) path.clear();
    for (bool is_top = false; !is_top; path.resize(std::min(path.rfind('/'), path.size()))) {
      is_top = path.empty() || path[0] != '/';
      const std::optional<double> limit = limit_of_group(is_top ? directory : directory + path);
      if (limit && (!least || *limit < *least)) least = limit;
    }
  }
  if (!least) return {"quota"};
  if (std::isinf(*least)) return {"quota", "none", false};
  return {"quota", cat(significant(*least, 3), *least == 1 ? " processor" : " processors"), *least < processors()};
}

uint64_t last_level_cache_bytes() {
  int64_t highest = 0;
  uint64_t bytes = 0;
  for (int i = 0; i < 16; ++i) {
    const std::string directory = cat("/sys/devices/system/cpu/cpu0/cache/index", i);
    const std::optional<int64_t> level = read_int(system_line(directory + "/level"));
    const std::optional<uint64_t> size = read_bytes(system_line(directory + "/size"));  // "32768K"
    if (level && size && *level > highest) highest = *level, bytes = *size;
  }
#ifdef _SC_LEVEL3_CACHE_SIZE
  for (const int name : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const long size = sysconf(name); !bytes && size > 0) bytes = static_cast<uint64_t>(size);
#endif
  return bytes;
}

// Fields: user nice system idle iowait irq softirq steal. The first two include the guests' times, which follow.
std::optional<MachineQuality::Ticks> MachineQuality::read_ticks() {
  const std::string line = system_line("/proc/stat");
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
  Entry steal{"steal"};
  if (const auto end = read_ticks(); begin_ && end && end->all > begin_->all) {
    const double share = (end->stolen - begin_->stolen) / (end->all - begin_->all);
    steal = {"steal", cat(fixed(share * 100, 1), " %"), share > 0.01};
  }
  return {governor(), turbo(), quota(), std::move(steal), load()};
}

std::string noise_of(const opd_machine_peak &peak) {
  constexpr double most_spread = 0.1;  // opd_machine_peak calls a larger spread noisy
  if (peak.spread < most_spread) return {};
  return cat("other programs were running while the peak was measured (tries differ by ", fixed(peak.spread * 100, 0),
             " %), so 'Of peak' may be too high");
}

}  // namespace opd::cli
