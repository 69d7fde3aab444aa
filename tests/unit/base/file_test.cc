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

TEST(File, IsReadToItsEndAtAnySize) {
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

TEST(File, IsRefusedIfItIsMissingOrNotRegular) {
  EXPECT_EQ(code_of("/nonexistent/file"), OPD_NOT_FOUND);
  EXPECT_EQ(code_of("/"), OPD_INVALID_ARGUMENT);
  EXPECT_EQ(code_of("/dev/zero"), OPD_INVALID_ARGUMENT);
  const std::string fifo = opdyno_test::scratch_directory() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(code_of(fifo), OPD_INVALID_ARGUMENT);  // at once, though nobody writes to it
}

TEST(File, GivesTheSystemsTextForAnError) { EXPECT_EQ(error_text(2), "No such file or directory"); }

TEST(File, IsNamedInItsErrorsWithTheirKind) {
  const auto told = [](auto &&body) {
    try {
      body();
    } catch (const Exception &e) { return concat(code_name(e.error()->code), " ", e.error()->kind, " ", e.what()); }
    return std::string("nothing");
  };
  EXPECT_EQ(told([] { fail_errno("cannot use", "x", ENOENT); }),
            "OPD_NOT_FOUND FileNotFoundError cannot use x: No such file or directory");
  EXPECT_EQ(told([] { fail_errno("cannot use", "x", EACCES); }),
            "OPD_IO PermissionError cannot use x: Permission denied");
  EXPECT_EQ(told([] { fail_errno("cannot use", "x", EFBIG); }), "OPD_IO OSError cannot use x: File too large");
  EXPECT_EQ(told([] { read_file("/"); }), "OPD_INVALID_ARGUMENT ValueError cannot read /: not a regular file");
  EXPECT_EQ(told([] { replace_file("/nonexistent/x", ""); }),
            "OPD_NOT_FOUND FileNotFoundError cannot write /nonexistent/x: No such file or directory");
  EXPECT_EQ(told([] { write_scratch_file("/nonexistent/x", ""); }),
            "OPD_NOT_FOUND FileNotFoundError cannot write /nonexistent/x: No such file or directory");
}

TEST(File, IsReplacedWholeAndKeepsItsModeAndItsLink) {
  const std::string path = write_text("replaced", "old"), link = path + ".link", far = path + ".far";
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto &entry : std::filesystem::directory_iterator(opdyno_test::scratch_directory()))
      all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto before = names();
  replace_file(path, "new content");
  EXPECT_EQ(read_file(path), "new content");
  EXPECT_EQ(names(), before) << "nothing is left beside it";
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  std::filesystem::create_symlink(std::filesystem::path(path).filename(), link);
  replace_file(link, "through the link");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_file(path), "through the link");
  std::filesystem::create_symlink(far, link + "2");
  replace_file(link + "2", "made");
  EXPECT_EQ(read_file(far), "made") << "a link to a file that was not there yet";
  std::filesystem::create_symlink(link + "3", link + "3");
  EXPECT_THROW(replace_file(link + "3", ""), Exception);
}

TEST(File, IsWrittenInPlaceIfItIsADescriptor) {
  const std::string path = write_text("descriptor", "0123456789");
  const int fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_EQ(::lseek(fd, 2, SEEK_SET), 2);
  for (const std::string start : {"/proc/self/fd/", "/dev/fd/"}) replace_file(start + std::to_string(fd), "ab");
  EXPECT_EQ(read_file(path), "01abab6789") << "at its position, and nothing is cut off";
  ::close(fd);
}

TEST(File, IsMappedWhole) {
  const InputFile file(write_text("mapped", "content"));
  EXPECT_EQ(as_text(MappedFile(file.fd(), 7, "mapped").bytes()), "content");
  EXPECT_TRUE(MappedFile(file.fd(), 0, "mapped").bytes().empty());
}

}  // namespace
}  // namespace opd
