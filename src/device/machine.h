// The processors and the memory that the machine and its control groups let this process use.
#pragma once
#include <cstdint>
#include <limits>
#include <string>

namespace opd {

// Limits from both versions of control groups: the smallest value among all enclosing groups.
struct CgroupLimits {
  uint64_t memory_bytes = std::numeric_limits<uint64_t>::max();      // the maximum value: no limit
  uint64_t memory_available = std::numeric_limits<uint64_t>::max();  // bytes that are left in the tightest group
  double processors = std::numeric_limits<double>::infinity();
};
CgroupLimits cgroup_limits(const std::string &root = "");  // `root`: prefix of /proc and /sys/fs, for tests

uint64_t usable_memory_bytes();     // the cgroup's limit or the machine's memory, whichever is smaller
uint64_t available_memory_bytes();  // bytes that can be used without swapping or reaching a limit

int32_t allowed_processors();  // number in the affinity mask
int32_t usable_processors();   // the same, but at most the groups' quota, rounded up; at least 1

// The text of a file of /proc or /sys, whose size is unknown before it is read. "" if it cannot be read.
std::string read_system_file(const std::string &path);

}  // namespace opd
