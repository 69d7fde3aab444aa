// Sealed files: what is read of them, and what is refused.
#include "base/sealed_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

// Beyond the limit, write() raises SIGXFSZ, which ends the process. The content fits into the limit, its seal does not.
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

}  // namespace
}  // namespace opd
