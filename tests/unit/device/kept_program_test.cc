// Compiled code in the cache directory: when it is read again, and what does not get into the way of a program.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>

#include "base/cache_directory.h"
#include "support/c_artifact.h"

namespace opd {
namespace {

namespace fs = std::filesystem;
using opdyno_test::fresh_directory;
using opdyno_test::read_bytes;
using opdyno_test::write_text;

class AKeptProgram : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("OPDYNO_KEPT_PROGRAMS_MB", "1", 1);
    directory_ = fresh_directory("kept");
  }
  void TearDown() override { ::unsetenv("OPDYNO_KEPT_PROGRAMS_MB"); }

  KeptProgram program(const std::string &made_of) const { return of(directory_, made_of); }
  static KeptProgram of(const std::string &directory, const std::string &made_of) {
    return KeptProgram(directory, ContentHash().add(made_of));
  }
  std::string file(const std::string &made_of) const {
    return directory_ + "/" + ContentHash().add(made_of).hex() + ".program";
  }
  // Says that a program was used a number of hours ago.
  void set_age(const std::string &made_of, int hours) const {
    fs::last_write_time(file(made_of), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
  size_t count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  std::string directory_;
};

TEST_F(AKeptProgram, IsReadAsItWasKept) {
  EXPECT_EQ(program("a").read(), std::nullopt);
  const std::string code("co\0de", 5);
  program("a").keep(code);
  EXPECT_EQ(program("a").read(), code);
  EXPECT_EQ(program("b").read(), std::nullopt);
  program("a").keep("other");
  EXPECT_EQ(program("a").read(), "other");
  EXPECT_EQ(count(), 1u) << "nothing else is left in the folder";
}

TEST_F(AKeptProgram, IsNotReadIfItIsDamagedAndThenReplaced) {
  program("a").keep("code");
  const std::string whole = read_bytes(file("a"));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    std::ofstream(file("a"), std::ios::binary) << damaged;
    EXPECT_EQ(program("a").read(), std::nullopt) << at;
    std::ofstream(file("a"), std::ios::binary) << whole.substr(0, at);
    EXPECT_EQ(program("a").read(), std::nullopt) << at;
  }
  program("a").keep("code");
  EXPECT_EQ(read_bytes(file("a")), whole);
}

TEST_F(AKeptProgram, IsNeitherMadeNorReadIfNoneIsWanted) {
  program("a").keep("code");
  for (const char *none : {"0", "none", "-1", ""}) {
    ::setenv("OPDYNO_KEPT_PROGRAMS_MB", none, 1);
    EXPECT_EQ(program("a").read(), std::nullopt) << none;
    program("b").keep("code");
    EXPECT_EQ(count(), 1u) << none;
  }
  ::unsetenv("OPDYNO_KEPT_PROGRAMS_MB");
  EXPECT_EQ(program("a").read(), "code");
}

TEST_F(AKeptProgram, IsAbsentIfTheFolderCannotBeUsed) {
  const std::string text = write_text("no_folder", "x");
  for (const std::string &folder : {text, text + "/deep"}) {
    of(folder, "a").keep("code");
    EXPECT_EQ(of(folder, "a").read(), std::nullopt) << folder;
  }
  program("a").keep("code");
  fs::permissions(directory_, fs::perms::all);  // anybody may have written what is there
  EXPECT_EQ(program("a").read(), std::nullopt);
  program("b").keep("code");
  EXPECT_EQ(count(), 1u);
  fs::permissions(directory_, fs::perms::owner_all);
  const KeptProgram gone = program("c");
  fs::remove_all(directory_);
  gone.keep("code");
  EXPECT_EQ(gone.read(), std::nullopt);
}

// A full disk and this limit are the same to a program that writes.
TEST_F(AKeptProgram, IsNotKeptIfItCannotBeWritten) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{3, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  program("a").keep("code");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(program("a").read(), std::nullopt);
  EXPECT_EQ(count(), 0u);
}

// Three programs of 400 KiB have no room in 1 MiB.
TEST_F(AKeptProgram, IsRemovedIfItWasUsedLongestAgo) {
  const std::string code(400 << 10, 'c');
  write_text("kept/other.so", std::string(4 << 20, 'x'));
  program("a").keep(code), set_age("a", 2);
  program("b").keep(code), set_age("b", 1);
  program("c").keep(code);
  EXPECT_FALSE(fs::exists(file("a")));
  EXPECT_EQ(program("b").read(), code);
  EXPECT_EQ(program("c").read(), code);
  set_age("b", 2), set_age("c", 1);
  EXPECT_EQ(program("b").read(), code) << "now it was used last";
  program("d").keep(code);
  EXPECT_FALSE(fs::exists(file("c")));
  EXPECT_TRUE(fs::exists(file("b")));
  EXPECT_TRUE(fs::exists(file("d")));
  program("e").keep(std::string((1 << 20) + 1, 'c'));
  EXPECT_EQ(count(), 3u) << "for what has no room at all, none is removed; the library is none of the programs";
}

TEST_F(AKeptProgram, IsWholeWhileSeveralProcessesKeepIt) {
  const std::string code(100 << 10, 'c');
  program("a").keep(code);
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    for (int n = 0; n < 50; ++n) program("a").keep(code);
    ::_exit(0);
  }
  for (int n = 0; n < 200; ++n) EXPECT_EQ(program("a").read(), code);
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(program("a").read(), code);
  EXPECT_EQ(count(), 1u);
}

}  // namespace
}  // namespace opd
