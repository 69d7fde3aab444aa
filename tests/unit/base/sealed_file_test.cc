// Sealed files: what is read of them, and what is refused.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>

#include "base/cache_directory.h"
#include "support/c_artifact.h"
#include "support/refusal.h"

namespace opd {
namespace {

namespace fs = std::filesystem;
using opdyno_test::fresh_directory;
using opdyno_test::read_bytes;

// The seal is eight bytes "opdyno01", then the hash of the content.
TEST(ASealedFile, IsReadUnlessItIsDamaged) {
  const std::string directory = fresh_directory("sealed");
  std::ofstream(directory + "/made.so") << "content";
  const KeptFile kept = keep_sealed(directory + "/made.so", directory, "key");
  EXPECT_EQ(kept.path, directory + "/key.so");
  EXPECT_EQ(kept.content, "content");
  EXPECT_FALSE(fs::exists(directory + "/made.so"));
  EXPECT_EQ(fs::status(kept.path).permissions(), fs::perms::owner_all);
  EXPECT_EQ(read_sealed(kept.path), "content");
  const std::string whole = read_bytes(kept.path);
  EXPECT_EQ(whole.size(), 7u + 16);
  EXPECT_EQ(whole.substr(7, 8), "opdyno01");
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    std::ofstream(kept.path, std::ios::binary) << damaged;
    EXPECT_EQ(read_sealed(kept.path), std::nullopt) << at;
  }
  for (const size_t size : {0, 15, 16, 22}) {
    std::ofstream(kept.path, std::ios::binary) << whole.substr(0, size);
    EXPECT_EQ(read_sealed(kept.path), std::nullopt) << size;
  }
  EXPECT_EQ(read_sealed(directory), std::nullopt);
  EXPECT_EQ(read_sealed(directory + "/none.so"), std::nullopt);
  // Without a key, the name is that of the content.
  const auto by_content = [&](const char *content) {
    std::ofstream(directory + "/made.so") << content;
    return keep_sealed(directory + "/made.so", directory, "").path;
  };
  const std::string path = by_content("one");
  EXPECT_EQ(path, by_content("one"));
  EXPECT_NE(path, by_content("two"));
  EXPECT_EQ(path.size(), directory.size() + 1 + 32 + 3);
  std::ofstream(directory + "/made.so") << "content";
  EXPECT_EQ(refusal(OPD_NOT_FOUND, [&] { keep_sealed(directory + "/made.so", "/nonexistent", "key"); }),
            "cannot keep the compiled library as /nonexistent/key.so: No such file or directory");
}

std::string sealed(const std::string &directory) {
  std::ofstream(directory + "/made") << "content";
  return keep_sealed(directory + "/made", directory, "key", ".program").path;
}

TEST(ASealedFile, IsNotReadIfOthersMayHaveWrittenIt) {
  const std::string path = sealed(fresh_directory("others"));
  EXPECT_EQ(read_sealed(path), "content");
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(path, fs::perms::owner_all | others);
    EXPECT_EQ(read_sealed(path), std::nullopt);
  }
  fs::permissions(path, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
  EXPECT_EQ(read_sealed(path), "content") << "others may read it";
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  ASSERT_EQ(::chown(path.c_str(), 54321, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(read_sealed(path), std::nullopt);
}

// Beyond the limit, write() raises SIGXFSZ, which kills the process. The content fits into the limit, its seal does
// not.
TEST(ASealedFile, IsNotMadeBeyondTheLimitOfFileSizes) {
  const std::string directory = fresh_directory("limited");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{7 + 15, before.rlim_max};
  std::ofstream(directory + "/made.so") << "content";
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string message = refusal(OPD_IO, [&] { keep_sealed(directory + "/made.so", directory, "key"); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(message, "cannot keep the compiled library as " + directory + "/key.so: File too large");
}

// 1 MiB has room for two files of 400 KiB. A file of another name is its owner's.
TEST(ASealedFile, TakesThePlaceOfThoseUsedLongestAgo) {
  ::setenv("OPDYNO_KEPT_PROGRAMS_MB", "1", 1);
  const std::string directory = fresh_directory("crowded");
  const std::string big(400 << 10, 'x');
  const auto key = [](char digit) { return std::string(32, digit); };
  const auto keep = [&](char digit, const char *suffix = ".so") {
    std::ofstream(directory + "/made", std::ios::binary) << digit << big;
    return keep_sealed(directory + "/made", directory, key(digit), suffix).path;
  };
  const auto set_age = [](const std::string &path, int hours) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  const std::string one = keep('1'), two = keep('2'), program = keep('3', ".program");
  std::vector<std::string> own;
  for (const std::string &name :
       std::vector<std::string>{"mine", key('a') + "0", key('a').substr(1), key('g'), key('A')}) {
    own.push_back(directory + "/" + name + ".so");
    std::ofstream(own.back(), std::ios::binary) << big;
  }
  for (const std::string &path : own) set_age(path, 9);
  for (const std::string &path : {one, two, program}) set_age(path, 5);
  EXPECT_TRUE(read_sealed(one)) << "it is used now";
  const std::string four = keep('4');
  EXPECT_EQ(fs::exists(one), true);
  EXPECT_EQ(fs::exists(two), false);
  EXPECT_EQ(fs::exists(four), true);
  EXPECT_EQ(fs::exists(program), true) << "of another suffix";
  for (const std::string &path : own) EXPECT_TRUE(fs::exists(path)) << path;
  ::setenv("OPDYNO_KEPT_PROGRAMS_MB", "0", 1);
  const std::string five = keep('5');
  EXPECT_EQ(fs::exists(one) || fs::exists(four), false);
  EXPECT_TRUE(read_sealed(five));
  ::unsetenv("OPDYNO_KEPT_PROGRAMS_MB");
  set_age(five, 9);
  keep('6');
  EXPECT_TRUE(fs::exists(five)) << "256 MiB have room for both";
}

}  // namespace
}  // namespace opd
