// Which directory keeps what was compiled: the one that is asked for, or the first usual one that can be used.
#include "base/cache_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace opd {
namespace {

namespace fs = std::filesystem;

class CacheDirectory : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (fs::temp_directory_path() / "opdyno-directories-XXXXXX").string();
    ASSERT_NE(mkdtemp(path_.data()), nullptr);
    ASSERT_EQ(chmod(path_.c_str(), 0755), 0);
  }
  void TearDown() override { fs::remove_all(path_); }
  std::string in(const std::string &name) const { return path_ + "/" + name; }

  // Runs in a child, whose environment and user are its own.
  template <class F>
  static int in_child(F &&action) {
    const pid_t child = fork();
    if (child == 0) {
      for (const char *name : {"OPDYNO_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) unsetenv(name);
      action();
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string problem(const std::string &wanted = "") {
    try {
      return "uses " + cache_directory(wanted);
    } catch (const Exception &e) { return e.error()->message; }
  }
  std::string path_;
};

TEST_F(CacheDirectory, RequestOverridesTheEnvironment) {
  EXPECT_EQ(in_child([&] {
              setenv("OPDYNO_CACHE_DIR", in("environment").c_str(), 1);
              setenv("XDG_CACHE_HOME", in("xdg").c_str(), 1);
              EXPECT_EQ(cache_directory(in("a/b/c")), in("a/b/c"));
              EXPECT_EQ(cache_directory(""), in("environment"));
              struct stat info {};
              for (const char *name : {"a", "a/b", "a/b/c", "environment"}) {
                EXPECT_EQ(stat(in(name).c_str(), &info), 0) << name;
                EXPECT_EQ(info.st_mode & 0777, 0700u) << name;
              }
              EXPECT_FALSE(fs::exists(in("xdg"))) << "what is not used is not made";
            }),
            0);
}

TEST_F(CacheDirectory, IsTheFirstUsableDefault) {
  EXPECT_EQ(in_child([&] {
              setenv("XDG_CACHE_HOME", in("xdg").c_str(), 1);
              fs::create_directory(in("home"));
              setenv("HOME", in("home").c_str(), 1);
              EXPECT_EQ(cache_directory(""), in("xdg/opdyno"));
              setenv("XDG_CACHE_HOME", "relative", 1);
              EXPECT_EQ(cache_directory(""), in("home/.cache/opdyno")) << "a relative path is none of the user";
              std::ofstream(in("file")) << "no directory";
              setenv("XDG_CACHE_HOME", in("file").c_str(), 1);
              EXPECT_EQ(cache_directory(""), in("home/.cache/opdyno"));
              EXPECT_FALSE(fs::exists("relative"));
            }),
            0);
}

TEST_F(CacheDirectory, SaysWhyTheRequestedDirectoryCannotBeUsed) {
  std::ofstream(in("file")) << "no directory";
  fs::create_directory(in("open"));
  fs::permissions(in("open"), fs::perms::all);
  const std::string start = "the cache directory cannot be used: ";
  EXPECT_EQ(problem(in("file")), start + in("file") + " is not a directory");
  EXPECT_EQ(problem(in("file/within")), start + "cannot make " + in("file/within") + ": Not a directory");
  EXPECT_EQ(problem(in("open")), start + "others may write to " + in("open") + ": run chmod 700 on it");
  fs::permissions(in("open"), fs::perms::owner_all | fs::perms::group_write);
  EXPECT_EQ(problem(in("open")), start + "others may write to " + in("open") + ": run chmod 700 on it");
  fs::permissions(in("open"), fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
  EXPECT_EQ(problem(in("open")), "uses " + in("open")) << "others may read it";
}

TEST_F(CacheDirectory, DoesNotMakeTheHome) {
  EXPECT_EQ(in_child([&] {
              setenv("HOME", in("home").c_str(), 1);
              EXPECT_EQ(cache_directory(""), "/tmp/opdyno-" + std::to_string(geteuid()));
              EXPECT_FALSE(fs::exists(in("home")));
            }),
            0);
}

TEST_F(CacheDirectory, SaysWhyNoDefaultCanBeUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make directories of another user";
  constexpr uid_t kUser = 54321;
  const std::string last = "/tmp/opdyno-54321";
  if (mkdir(last.c_str(), 0700)) GTEST_SKIP() << last << " is there already";
  fs::create_directories(in("xdg/opdyno"));
  EXPECT_EQ(in_child([&] {
              setenv("XDG_CACHE_HOME", in("xdg").c_str(), 1);
              setenv("HOME", in("home").c_str(), 1);
              ASSERT_EQ(seteuid(kUser), 0);
              EXPECT_EQ(problem(), "no cache directory can be used: " + in("xdg/opdyno") +
                                       " belongs to another user; " + in("home") + " does not exist; " + last +
                                       " belongs to another user; set OPDYNO_CACHE_DIR");
            }),
            0);
  rmdir(last.c_str());
}

}  // namespace
}  // namespace opd
