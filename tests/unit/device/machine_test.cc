// Control groups, read from a tree of files made for the test.
#include "device/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace opd {
namespace {

struct FakeRoot {
  std::filesystem::path path;
  FakeRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "opdyno.XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~FakeRoot() { std::filesystem::remove_all(path); }
  void write(const std::string &file, const std::string &text) {
    const auto full = path / file;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  CgroupLimits limits() const { return cgroup_limits(path.string()); }
};

constexpr const char *kUnified = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";

TEST(CgroupLimits, AreNoneWithoutControlGroups) {
  FakeRoot root;
  EXPECT_EQ(root.limits().memory_bytes, UINT64_MAX);
  EXPECT_EQ(root.limits().memory_available, UINT64_MAX);
  EXPECT_TRUE(std::isinf(root.limits().processors));
}

TEST(CgroupLimits, AreTheTightestOfAllEnclosingGroups) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/system.slice/job.service/inner\n");
  root.write("proc/self/mountinfo", kUnified);
  const std::string top = "sys/fs/cgroup/system.slice";
  root.write(top + "/memory.max", "1000000000\n");
  root.write(top + "/memory.current", "900000000\n");
  root.write(top + "/memory.stat", "anon 1\ninactive_file 300000000\n");
  root.write(top + "/cpu.max", "max 100000\n");
  root.write(top + "/job.service/memory.max", "2000000000\n");
  root.write(top + "/job.service/memory.current", "100000000\n");
  root.write(top + "/job.service/cpu.max", "150000 100000\n");
  root.write(top + "/job.service/inner/memory.max", "max\n");
  root.write(top + "/job.service/inner/cpu.max", "400000 100000\n");
  const auto limits = root.limits();
  EXPECT_EQ(limits.memory_bytes, 1'000'000'000u);
  EXPECT_EQ(limits.memory_available, 400'000'000u);  // 1000 - (900 - 300) million
  EXPECT_DOUBLE_EQ(limits.processors, 1.5);
}

TEST(CgroupLimits, AreReadFromVersion1) {
  FakeRoot root;
  root.write("proc/self/cgroup",
             "4:memory:/docker/abc/job\n3:cpuset:/\n2:cpu,cpuacct:/docker/abc\n1:name=systemd:/x\n");
  // In a container the mount shows only its own group: the path of cgroup starts with the mount's root.
  root.write("proc/self/mountinfo",
             "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro master:1 - cgroup cgroup rw,memory\n"
             "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu\\040 ro - cgroup cgroup rw,cpu,cpuacct\n"
             "40 31 0:40 / /tmp rw - tmpfs tmpfs rw,memory\n");
  root.write("tmp/memory.limit_in_bytes", "5\n");  // is no control group
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "500000000\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000000\n");
  root.write("sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 20000000\n");
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");  // how version 1 writes none
  root.write("sys/fs/cgroup/cpu /cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu /cpu.cfs_period_us", "100000\n");
  const auto limits = root.limits();
  EXPECT_EQ(limits.memory_bytes, 500'000'000u);
  EXPECT_EQ(limits.memory_available, 420'000'000u);  // 500 - (100 - 20) million
  EXPECT_DOUBLE_EQ(limits.processors, 0.5);
  std::filesystem::remove(root.path / "sys/fs/cgroup/cpu /cpu.cfs_period_us");
  root.write("sys/fs/cgroup/cpu /cpu.cfs_quota_us", "25000\n");
  EXPECT_DOUBLE_EQ(root.limits().processors, 0.25) << "the usual period is 100 ms";
}

TEST(CgroupLimits, AreReadWhereBothVersionsAreMounted) {
  FakeRoot root;
  root.write("proc/self/cgroup", "2:cpu:/\n0::/\n");
  root.write(
      "proc/self/mountinfo",
      "1 0 0:1 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n2 0 0:2 / /sys/fs/cgroup/cpu rw - cgroup none rw,cpu\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/unified/memory.max", "7000000\n");
  EXPECT_TRUE(std::isinf(root.limits().processors));
  EXPECT_EQ(root.limits().memory_bytes, 7'000'000u);
}

TEST(CgroupLimits, DoNotLeaveTheMountForGroupsOutsideOfTheNamespace) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/../../other\n");
  root.write("proc/self/mountinfo", kUnified);
  root.write("sys/fs/cgroup/memory.max", "123456789\n");
  root.write("other/memory.max", "5\n");
  EXPECT_EQ(root.limits().memory_bytes, 123'456'789u);
}

TEST(CgroupLimits, IgnoreFilesThatMakeNoSense) {
  FakeRoot root;
  root.write("proc/self/cgroup", "nonsense\n0::/a\n:::\n\n");
  root.write("proc/self/mountinfo", std::string("broken line\n - \n31 23 0:28 / - cgroup2 cgroup2 rw\n"
                                                "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2\n") +
                                        kUnified);
  root.write("sys/fs/cgroup/a/memory.max", "lots\n");
  root.write("sys/fs/cgroup/a/cpu.max", "100000 0\n");
  EXPECT_EQ(root.limits().memory_bytes, UINT64_MAX);
  EXPECT_TRUE(std::isinf(root.limits().processors));
}

TEST(SystemFiles, AreReadWholeAndClosed) {
  FakeRoot root;
  const std::string text(10'000, 'x');
  root.write("long", text);
  root.write("empty", "");
  const auto free_number = [] {
    const int number = dup(0);
    close(number);
    return number;
  };
  const int before = free_number();
  EXPECT_EQ(read_system_file((root.path / "long").string()), text);
  EXPECT_EQ(read_system_file((root.path / "empty").string()), "");
  EXPECT_EQ(read_system_file(root.path.string()), "") << "a directory";
  root.write("endless", std::string((4 << 20) + 5000, 'x'));
  EXPECT_EQ(read_system_file((root.path / "endless").string()).size(), size_t{4} << 20) << "not more";
  EXPECT_EQ(free_number(), before);
}

TEST(CgroupLimits, UnderstandTheNamesThatTheKernelEscapes) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/a\n");
  root.write("proc/self/mountinfo", "31 23 0:28 / /sys/a\\040b\\134c\\x rw shared:1 - cgroup2 cgroup2 rw\n");
  root.write("sys/a b\\c\\x/a/memory.max", "1000\n");
  EXPECT_EQ(root.limits().memory_bytes, 1000u);
}

TEST(CgroupLimits, AreReadAtTheTopOfAnotherGroupsMount) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/job/inner\n");
  for (const auto &[mounted, where] : {std::pair{"/job", "inner"}, {"/jobs", "."}, {"/", "job/inner"}, {"/jo", "."}}) {
    std::filesystem::remove_all(root.path / "sys");
    root.write("proc/self/mountinfo", "31 23 0:28 " + std::string(mounted) + " /sys/fs rw - cgroup2 cgroup2 rw\n");
    root.write(std::string("sys/fs/") + where + "/memory.max", "1000\n");
    root.write(std::string("sys/fs/") + where + "/memory.current", "1500\n");
    EXPECT_EQ(root.limits().memory_bytes, 1000u) << mounted;
    EXPECT_EQ(root.limits().memory_available, 0u) << "never below none";
  }
}

TEST(CgroupLimits, UseDefaultsForMissingOrInvalidNumbers) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", kUnified);
  root.write("sys/fs/cgroup/cpu.max", "50000\n");  // the usual period is 100 ms
  root.write("sys/fs/cgroup/memory.max", "99999999999999999999\n");
  EXPECT_DOUBLE_EQ(root.limits().processors, 0.5);
  EXPECT_EQ(root.limits().memory_bytes, UINT64_MAX) << "more than 64 bits hold is no limit";
  for (const char *none : {"-5\n", "9223372036853727231\n"}) {  // the latter is 2^63 - 1 - 2^20
    root.write("sys/fs/cgroup/memory.max", none);
    EXPECT_EQ(root.limits().memory_bytes, UINT64_MAX) << none;
    EXPECT_EQ(root.limits().memory_available, UINT64_MAX) << none;
  }
  root.write("sys/fs/cgroup/memory.max", "9223372036853727230\n");
  EXPECT_EQ(root.limits().memory_bytes, 9'223'372'036'853'727'230u);
  root.write("sys/fs/cgroup/memory.max", "1000\n");
  root.write("sys/fs/cgroup/memory.current", "300\n");
  root.write("sys/fs/cgroup/memory.stat", "inactive_file 500\n");
  EXPECT_EQ(root.limits().memory_available, 1000u) << "no more than the limit";
  root.write("sys/fs/cgroup/memory.stat", "inactive_file_x 500\nanon 7\n");
  EXPECT_EQ(root.limits().memory_available, 700u);
  root.write("sys/fs/cgroup/memory.max", "0\n");
  root.write("sys/fs/cgroup/cpu.max", "0 100000\n");
  EXPECT_EQ(root.limits().memory_bytes, 0u);
  EXPECT_EQ(root.limits().memory_available, 0u);
  EXPECT_TRUE(std::isinf(root.limits().processors));
}

TEST(TheMachine, HasProcessorsAndMemory) {
  EXPECT_GE(allowed_processors(), usable_processors());
  EXPECT_GE(usable_processors(), 1);
  EXPECT_GT(usable_memory_bytes(), available_memory_bytes() / 2);
  EXPECT_GT(available_memory_bytes(), uint64_t{1} << 20);
  const auto all = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_LT(available_memory_bytes(), all) << "the kernel and this process need some";
  EXPECT_LE(usable_memory_bytes(), all);
  EXPECT_EQ(read_system_file("/proc/does-not-exist"), "");
}

}  // namespace
}  // namespace opd
