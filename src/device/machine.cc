#include "device/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "base/file.h"

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

// ---- control groups of this process
//
// Every level of groups has limits, so the search walks from each group to the top of the mount.

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class List>
bool has(const List &list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// mountinfo writes a space as \040.
std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 3, code, 8).ptr == &text[i + 1] + 3) {
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Mount {
  std::string root, point;  // the mounted group and its mount point
  bool unified;
  std::vector<std::string> controllers;  // version 1 only
};

std::vector<Mount> group_mounts(const std::string &mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto left = split(line.substr(0, dash), ' '), right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3 || (right[0] != "cgroup" && right[0] != "cgroup2")) continue;
    Mount mount{unescape(left[3]), unescape(left[4]), right[0] == "cgroup2", {}};
    for (const auto option : split(right[2], ',')) mount.controllers.emplace_back(option);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::optional<int64_t> read_number(const std::string &path) {  // nullopt if the file is absent or contains "max"
  const std::string text = read_system_file(path);
  int64_t number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) return INT64_MAX;
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// Cached file pages count as used, but the kernel drops them when memory is asked for.
int64_t droppable_bytes(const std::string &directory, std::string_view key) {
  const std::string stat = read_system_file(directory + "/memory.stat");
  for (const std::string_view line : split(stat, '\n')) {
    if (!line.starts_with(key)) continue;
    int64_t number = 0;
    std::from_chars(line.data() + key.size(), line.data() + line.size(), number);
    return number;
  }
  return 0;
}

void read_memory(const std::string &directory, bool unified, CgroupLimits &limits) {
  const auto limit = read_number(directory + (unified ? "/memory.max" : "/memory.limit_in_bytes"));
  if (!limit || *limit < 0 || *limit >= INT64_MAX - (1 << 20))
    return;  // version 1 writes the greatest multiple of a page for "no limit"
  limits.memory_bytes = std::min(limits.memory_bytes, static_cast<uint64_t>(*limit));
  const int64_t used = read_number(directory + (unified ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0) -
                       droppable_bytes(directory, unified ? "inactive_file " : "total_inactive_file ");
  const int64_t left = std::clamp<int64_t>(*limit - std::max<int64_t>(used, 0), 0, *limit);
  limits.memory_available = std::min(limits.memory_available, static_cast<uint64_t>(left));
}

void read_quota(const std::string &directory, bool unified, CgroupLimits &limits) {
  int64_t quota = -1, period = 100'000;
  if (unified) {
    const std::string text = read_system_file(directory + "/cpu.max");  // "150000 100000" or "max 100000"
    const char *end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, quota);
    if (first.ec == std::errc() && first.ptr != end) std::from_chars(first.ptr + 1, end, period);
  } else {
    quota = read_number(directory + "/cpu.cfs_quota_us").value_or(-1);
    period = read_number(directory + "/cpu.cfs_period_us").value_or(period);
  }
  if (quota > 0 && period > 0)
    limits.processors = std::min(limits.processors, static_cast<double>(quota) / static_cast<double>(period));
}

// Visits the directory of group `path` and those above it, up to the mount.
template <class Visit>
void climb(const std::string &root, const Mount &mount, std::string path, Visit visit) {
  const bool below = path == mount.root || path.starts_with(mount.root + "/");
  if (mount.root != "/")
    path.erase(0, below ? mount.root.size() : path.size());  // outside this mount: start at the mount's top
  if (path.find("/..") != std::string::npos) path.clear();   // above the namespace's root: start there, too
  while (!path.empty() && path.back() == '/') path.pop_back();
  while (true) {
    visit(root + mount.point + path);
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
}

}  // namespace

CgroupLimits cgroup_limits(const std::string &root) {
  CgroupLimits limits;
  const std::string groups = read_system_file(root + "/proc/self/cgroup");
  const auto mounts = group_mounts(read_system_file(root + "/proc/self/mountinfo"));
  for (const std::string_view line : split(groups, '\n')) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
    const bool unified = second == first + 1;  // "0::/path"
    for (const Mount &mount : mounts) {
      const auto serves = [&](const char *name) {
        return unified || (has(controllers, name) && has(mount.controllers, name));
      };
      if (mount.unified != unified || !(serves("memory") || serves("cpu"))) continue;
      climb(root, mount, std::string(line.substr(second + 1)), [&](const std::string &directory) {
        if (serves("memory")) read_memory(directory, unified, limits);
        if (serves("cpu")) read_quota(directory, unified, limits);
      });
    }
  }
  return limits;
}

std::string read_system_file(const std::string &path) {
  constexpr size_t kMost = 4 << 20;  // cpuinfo of a thousand processors has about 1.5 MB
  try {
    return InputFile(path).read(kMost);
  } catch (const Exception &) { return {}; }
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
