// Directories of work: who takes them away, and which.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/cache_directory.h"
#include "support/c_artifact.h"
#include "support/refusal.h"

namespace opd {
namespace {

namespace fs = std::filesystem;
using opdyno_test::fresh_directory;
using opdyno_test::write_text;

TEST(ABuildDirectory, IsRemovedUnlessItIsTheCallers) {
  const std::string parent = fresh_directory("builds");
  std::string made;
  {
    const BuildDirectory build(parent);
    made = build.path();
    EXPECT_TRUE(made.starts_with(parent + "/opdyno-build-"));
    EXPECT_EQ(build.file("a.c"), made + "/a.c");
    std::ofstream(build.file("a.c")) << "x";
    EXPECT_EQ(build.shown(made + "/a.c:3: see " + made + "/b.h, not " + made), "a.c:3: see b.h, not " + made);
    const BuildDirectory other(parent);
    EXPECT_NE(other.path(), made);
    EXPECT_TRUE(fs::exists(made)) << "the next one takes no other's away";
  }
  EXPECT_FALSE(fs::exists(made));
  {
    const BuildDirectory kept(parent + "/deep/er", true);
    EXPECT_EQ(kept.path(), parent + "/deep/er");
  }
  EXPECT_TRUE(fs::is_directory(parent + "/deep/er"));
  EXPECT_EQ(refusal(OPD_NOT_FOUND, [] { BuildDirectory("/nonexistent"); }),
            "cannot make a directory in /nonexistent: No such file or directory");
  const std::string file = write_text("no_directory", "x");
  EXPECT_EQ(refusal(OPD_IO, [&] { BuildDirectory(file + "/deep", true); }),
            "cannot make the directory " + file + "/deep: Not a directory");
}

TEST(ABuildDirectory, RemovesAbandonedDirectoriesOnly) {
  const std::string parent = fresh_directory("abandoned"), far = fresh_directory("far");
  std::ofstream(far + "/kept") << "x";
  fs::create_directory(parent + "/opdyno-build-left");
  fs::create_directory(parent + "/other");
  std::ofstream(parent + "/opdyno-build-file") << "x";
  fs::create_directory_symlink(far, parent + "/opdyno-build-link");
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  { const BuildDirectory build(parent); }
  EXPECT_EQ(open_files(), before);
  std::vector<std::string> left;
  for (const auto &entry : fs::directory_iterator(parent)) left.push_back(entry.path().filename());
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{"opdyno-build-file", "opdyno-build-link", "other"}));
  EXPECT_TRUE(fs::exists(far + "/kept"));
}

}  // namespace
}  // namespace opd
