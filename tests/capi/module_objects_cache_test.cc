// Where linked objects are kept: many at once, damage, directories that cannot be written to.
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "support/export_test.h"

namespace opdyno_test {
namespace {

namespace fs = std::filesystem;

struct ObjectCache : testing::Test {
  std::string cache = scratch_directory() + "/objects-kept";
  opd_module_options options = options_with(OPD_COPY_ALWAYS);

  ObjectCache() {
    fs::remove_all(cache);
    options.cache_dir = cache.c_str();
  }
  bool runs(const std::string &path) const {
    return Module::load(path, &options).function("square")(3.0).view().u.float64 == 9;
  }
  std::vector<fs::path> kept() const { return {fs::directory_iterator(cache), fs::directory_iterator()}; }
};

// An archive of a program's objects, as it is handed around.
std::string archive() {
  static const std::string path = [] {
    const std::string out = scratch_directory() + "/cached.tar";
    Module::load_static_library(build_object("cached", kSquareSource), {"square"}).export_to(out);
    return out;
  }();
  return path;
}

// Runs `body` in a child process; gives its exit status.
template <class Body>
int in_child(const Body &body) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 99;
    try {
      status = body();
    } catch (const std::exception &e) { fprintf(stderr, "%s\n", e.what()); }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

TEST_F(ObjectCache, MayBeFilledByManyThreadsAndProcessesAtOnce) {
  const std::string path = archive();
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i)
    if (const pid_t child = fork(); child == 0) {
      bool good = false;
      try {
        good = runs(path);
      } catch (const Error &) {}
      _exit(good ? 0 : 1);
    } else {
      children.push_back(child);
    }
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      try {
        good += runs(path);
      } catch (const Error &e) { fprintf(stderr, "%s\n", e.what()); }
    });
  for (auto &thread : threads) thread.join();
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(good, 3);
  EXPECT_EQ(kept().size(), 1u);  // and no directory of work
}

TEST_F(ObjectCache, ReplacesDamagedEntries) {
  const std::string path = archive();
  ASSERT_TRUE(runs(path));
  const std::string linked = kept().at(0), good = read_bytes(linked);
  for (const size_t size : {size_t{0}, size_t{15}, good.size() / 2, good.size() - 1}) {
    fs::resize_file(linked, size);
    EXPECT_TRUE(runs(path)) << size;
    EXPECT_EQ(read_bytes(linked), good) << size;
  }
  for (const size_t at : {size_t{0}, good.size() / 2, good.size() - 1}) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    std::ofstream(linked, std::ios::binary) << flipped;
    EXPECT_TRUE(runs(path)) << at;
    EXPECT_EQ(read_bytes(linked), good) << at;
  }
  // What lies there under that name without being a file of ours.
  fs::remove(linked);
  fs::create_directory(linked);
  expect_error(load(path, &options), OPD_IO, linked);
}

TEST_F(ObjectCache, RefusesADirectoryThatCannotBeWrittenTo) {
  std::string home = (fs::temp_directory_path() / "opdyno-home-XXXXXX").string();
  ASSERT_NE(mkdtemp(home.data()), nullptr);
  const std::string object = home + "/square.o", closed = home + "/opdyno";
  fs::copy_file(build_object("unwritable", kSquareSource), object);
  fs::create_directory(closed);
  const int status = in_child([&] {
    if (geteuid() == 0)  // who may write to anything
      for (const std::string &path : {home, object, closed})
        if (chown(path.c_str(), 65534, 65534)) return 77;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return 77;
    fs::permissions(closed, fs::perms::owner_read | fs::perms::owner_exec);
    options.cache_dir = closed.c_str();
    expect_error(load(object, &options), OPD_IO, "cannot write to " + closed);
    // Of the usual directories the next one is taken.
    options.cache_dir = nullptr;
    unsetenv("OPDYNO_CACHE_DIR");
    setenv("XDG_CACHE_HOME", home.c_str(), 1);
    setenv("HOME", home.c_str(), 1);
    EXPECT_TRUE(runs(object));
    EXPECT_FALSE(fs::is_empty(home + "/.cache/opdyno"));
    return testing::Test::HasFailure() ? 1 : 0;
  });
  fs::permissions(closed, fs::perms::owner_all);
  fs::remove_all(home);
  if (status == 77) GTEST_SKIP() << "this process may not become another user, and root may write to any directory";
  EXPECT_EQ(status, 0);
}

TEST_F(ObjectCache, NamesMissingTools) {
  const std::string path = archive(),
                    broken = write_text("broken-cc", "#!/bin/sh\n[ \"$1\" = --version ] && exit\nexit 3\n"),
                    lazy = write_text("lazy-cc", "#!/bin/sh\nexit 0\n");
  for (const std::string &tool : {broken, lazy}) fs::permissions(tool, fs::perms::owner_all);
  const int status = in_child([&] {
    setenv("PATH", "/nonexistent", 1);
    unsetenv("CC");
    expect_error(load(path, &options), OPD_NOT_FOUND, "there is no C compiler \"cc\"; install one, or set CC");
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(status, 0);
  for (const std::string &tool : {broken, lazy}) {
    options.compiler = tool.c_str();
    expect_error(load(path, &options), OPD_CALL_FAILED, tool + " could not link " + path);
  }
  EXPECT_TRUE(fs::is_empty(cache));
}

}  // namespace
}  // namespace opdyno_test
