// Files as they come: ordinary ones, ones without a size, and what is none.
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "support/c_artifact.h"

namespace opd {
namespace {

using opdyno_test::write_text;

opd_code code_of(const std::string &path) {
  try {
    read_file(path);
  } catch (const Exception &e) { return e.error()->code; }
  return OPD_OK;
}

TEST(File, AReaderThatLeavesIsAnErrorAndRaisesNoSignal) {
  const std::string path = write_text("pipe", "");
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread reader([&] { ::close(::open(path.c_str(), O_RDONLY)); });
  EXPECT_THROW(replace_file(path, std::string(1 << 20, 'x')), Exception);
  reader.join();
  sigset_t pending;
  ASSERT_EQ(::sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(File, IsReadToItsEndWhateverItsSize) {
  for (const size_t size : {0, 1, 4095, 4096, 4097, 100000}) {
    const std::string content(size, 'x');
    EXPECT_EQ(read_file(write_text("sized", content)), content);
  }
  EXPECT_TRUE(read_file("/proc/self/status").starts_with("Name:"));  // stat() says 0 bytes
  EXPECT_GT(read_file("/proc/self/smaps").size(), 8192u);            // and this takes several reads
}

TEST(File, IsReadUpToALimit) {
  const InputFile file(write_text("limited", "hello world"));
  EXPECT_EQ(file.read(5), "hello");
  EXPECT_EQ(file.read(), "hello world");
  EXPECT_EQ(file.read(100), "hello world");
}

TEST(File, IsRefusedIfItIsNone) {
  EXPECT_EQ(code_of("/nonexistent/file"), OPD_NOT_FOUND);
  EXPECT_EQ(code_of("/"), OPD_INVALID_ARGUMENT);
  EXPECT_EQ(code_of("/dev/zero"), OPD_INVALID_ARGUMENT);
  const std::string fifo = opdyno_test::scratch_directory() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(code_of(fifo), OPD_INVALID_ARGUMENT);  // at once, though nobody writes to it
}

TEST(File, GivesTheSystemsTextForAnError) { EXPECT_EQ(error_text(2), "No such file or directory"); }

}  // namespace
}  // namespace opd
