// Files that are written as a whole: whose they are afterwards, what is left when they cannot be written, and which
// paths are written in place.
#include "base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include "base/byte_sink.h"
#include "base/file.h"
#include "support/c_artifact.h"
#include "support/refusal.h"
#include "unit/base/random_source.h"

namespace {

std::function<int()> at_fsync;  // gives the errno, 0 if the bytes are to be stored
bool is_without_proc = false;   // as in a chroot

}  // namespace

// In place of libc's.
extern "C" int fsync(int file) {
  errno = at_fsync ? at_fsync() : 0;
  return errno ? -1 : static_cast<int>(::syscall(SYS_fsync, file));
}
extern "C" int access(const char *path, int mode) noexcept {
  if (is_without_proc && std::strncmp(path, "/proc/", 6) == 0) return errno = ENOENT, -1;
  return static_cast<int>(::syscall(SYS_faccessat, AT_FDCWD, path, mode));
}

namespace opd {
namespace {

namespace fs = std::filesystem;
using opdyno_test::fresh_directory;
using opdyno_test::number_of;
using opdyno_test::read_bytes;
using opdyno_test::write_text;

std::vector<std::string> names_in(const std::string &directory) {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// The errno of the first step that fails.
int replaced(const std::string &path, std::string_view content) {
  OutputFile file;
  if (const int error = file.open(path)) return error;
  if (const int error = file.write(content)) return error;
  return file.commit();
}

TEST(AnOutputFile, KeepsTheOwnerOfTheReplacedFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  const std::string path = write_text("owned", "old");
  ASSERT_EQ(::chown(path.c_str(), 54321, 54322), 0);
  ASSERT_EQ(::chmod(path.c_str(), 04755), 0);
  const ino_t before = number_of(path);
  ASSERT_EQ(replaced(path, "new"), 0);
  EXPECT_NE(number_of(path), before) << "another file took its name";
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 54321u);
  EXPECT_EQ(info.st_gid, 54322u);
  EXPECT_EQ(info.st_mode & 07777, 04755u) << "a change of the owner clears bits, so the mode is set after it";
  EXPECT_EQ(read_bytes(path), "new");
}

TEST(AnOutputFile, LeavesNothingBehindIfItCannotTakeItsName) {
  const std::string directory = fresh_directory("unnamed"), path = directory + "/name";
  {
    OutputFile file;
    ASSERT_EQ(file.open(path), 0);
    ASSERT_EQ(file.write("content"), 0);
    fs::create_directory(path);  // meanwhile
    EXPECT_EQ(file.commit(), EISDIR);
  }
  EXPECT_EQ(names_in(directory), std::vector<std::string>{"name"});
  {
    OutputFile file;
    ASSERT_EQ(file.open(directory + "/other"), 0);
    ASSERT_EQ(file.write("content"), 0);
  }
  EXPECT_EQ(names_in(directory), std::vector<std::string>{"name"}) << "it was not committed";
  OutputFile file;
  ASSERT_EQ(file.open(directory + "/other"), 0);
  fs::remove_all(directory);
  EXPECT_EQ(file.commit(), ENOENT);
}

TEST(AnOutputFile, IsStoredBeforeItTakesItsName) {
  const std::string path = write_text("stored", "old");
  std::vector<std::string> seen;
  at_fsync = [&] { return seen.push_back(read_bytes(path)), 0; };
  EXPECT_EQ(replaced(path, "new"), 0);
  EXPECT_EQ(seen, std::vector<std::string>{"old"}) << "else a power failure leaves a name without the bytes";
  EXPECT_EQ(read_bytes(path), "new");
  at_fsync = [] { return EIO; };
  EXPECT_EQ(replaced(path, "lost"), EIO);
  at_fsync = nullptr;
  EXPECT_EQ(read_bytes(path), "new");
}

TEST(AnOutputFile, LeavesNothingBehindIfTheProcessIsKilled) {
  const std::string directory = fresh_directory("killed"), path = directory + "/file";
  if (::access("/proc/self/fd", X_OK)) GTEST_SKIP() << "without /proc a file cannot be nameless until it is whole";
  const int nameless = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (nameless < 0) GTEST_SKIP() << "this file system has no nameless files";
  ::close(nameless);
  ASSERT_EQ(replaced(path, "old"), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    at_fsync = [] { return ::raise(SIGKILL); };
    ::_exit(replaced(path, "new"));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(names_in(directory), std::vector<std::string>{"file"});
  EXPECT_EQ(read_bytes(path), "old");
}

// Where a nameless file could not be named later, the temporary one has a name. Another user may have put a link there.
TEST(AnOutputFile, GetsAnUnusedTemporaryNameWithoutProc) {
  const std::string directory = fresh_directory("named"), path = directory + "/file";
  const std::string victim = write_text("victim", "untouched");
  fs::create_symlink(victim, directory + "/.opdyno-0000000000000001.tmp");
  fs::create_symlink(directory + "/dangling", directory + "/.opdyno-0000000000000002.tmp");
  is_without_proc = true;
  std::vector<uint64_t> next_random = {1, 2, 3};  // the first numbers that are drawn
  at_getrandom = [&](void *bytes, size_t size, unsigned flags) -> ssize_t {
    if (next_random.empty() || size != sizeof next_random[0]) return random_of_the_system(bytes, size, flags);
    std::memcpy(bytes, &next_random.front(), size);
    next_random.erase(next_random.begin());
    return static_cast<ssize_t>(size);
  };
  std::vector<std::string> during;
  at_fsync = [&] { return during = names_in(directory), 0; };
  const int error = replaced(path, "content");
  at_fsync = nullptr;
  next_random = std::vector<uint64_t>(16, 1);
  const int none_is_free = replaced(path, "other");
  at_getrandom = nullptr;
  is_without_proc = false;
  EXPECT_EQ(error, 0);
  EXPECT_EQ(during, (std::vector<std::string>{".opdyno-0000000000000001.tmp", ".opdyno-0000000000000002.tmp",
                                              ".opdyno-0000000000000003.tmp"}));
  EXPECT_EQ(none_is_free, EEXIST);
  EXPECT_EQ(read_bytes(path), "content");
  EXPECT_EQ(read_bytes(victim), "untouched");
  EXPECT_EQ(names_in(directory),
            (std::vector<std::string>{".opdyno-0000000000000001.tmp", ".opdyno-0000000000000002.tmp", "file"}));
}

TEST(AnOutputFile, ClosesItsDescriptorOnce) {
  const std::string path = write_text("closed", "old");
  int other = -1;
  {
    OutputFile file;
    ASSERT_EQ(file.open(path), 0);
    ASSERT_EQ(file.commit(), 0);
    other = ::open(path.c_str(), O_RDONLY);  // most likely with the number that is free now
  }
  EXPECT_NE(::fcntl(other, F_GETFD), -1);
  ::close(other);
}

TEST(AnOutputFile, IsWrittenInPlaceThroughTheDescriptorOfAProcess) {
  const std::string directory = fresh_directory("in_place"), path = directory + "/file";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(fd, 0);
  const std::string link = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd);
  const ino_t before = number_of(path);
  ASSERT_EQ(replaced(link, "first"), 0);
  EXPECT_EQ(number_of(path), before);
  EXPECT_EQ(read_bytes(path), "first");
  // A file without a name can only be written in place.
  fs::remove(path);
  ASSERT_EQ(replaced(link, "2nd"), 0);
  EXPECT_EQ(read_bytes(link), "2nd") << "what was there is cut off";
  EXPECT_EQ(names_in(directory), std::vector<std::string>());
  ::close(fd);
}

// Descriptor 0 is one like each other; a path that only begins as that of a descriptor is none.
TEST(AnOutputFile, MayBeDescriptor0) {
  const std::string path = write_text("zero", "0123456789");
  const int before = ::fcntl(0, F_DUPFD_CLOEXEC, 3), fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_EQ(::lseek(fd, 4, SEEK_SET), 4);
  ASSERT_EQ(::dup2(fd, 0), 0);
  EXPECT_EQ(replaced("/dev/fd/0", "ab"), 0);
  EXPECT_EQ(read_bytes(path), "0123ab6789");
  for (const std::string none : {"/dev/fd/0x", "/dev/fd/x", "/dev/fd/-1", "/dev/fd/9999999"})
    EXPECT_NE(replaced(none, "ab"), 0) << none;
  ::close(fd), ::close(0);
  // What is opened now has the number 0, and is closed again.
  EXPECT_NE(refusal(OPD_INVALID_ARGUMENT, [] { read_file("/"); }), "accepted");
  write_scratch_file(path, "scratch");
  EXPECT_EQ(read_file(path), "scratch");
  EXPECT_EQ(replaced(path, "replaced"), 0);
  EXPECT_EQ(::fcntl(0, F_GETFD), -1);
  if (before < 0) return;
  ::dup2(before, 0);
  ::close(before);
}

TEST(AnOutputFile, IsNotWrittenBeyondTheLimitOfFileSizes) {
  const std::string directory = fresh_directory("limit");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{10, before.rlim_max};
  OutputFile file, exact;
  ASSERT_EQ(file.open(directory + "/file"), 0);
  ASSERT_EQ(exact.open(directory + "/exact"), 0);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const int first = file.write("123456"), second = file.write("78901"), whole = exact.write("1234567890");
  const bool may_write_all = may_write_file(10), may_write_more = may_write_file(11);
  const std::string scratch =
      refusal(OPD_IO, [&] { write_scratch_file(directory + "/scratch", std::string(11, 'x')); });
  const std::string fits = refusal(OPD_OK, [&] { write_scratch_file(directory + "/fits", std::string(10, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, EFBIG) << "both together";
  EXPECT_EQ(whole, 0);
  EXPECT_TRUE(may_write_all);
  EXPECT_FALSE(may_write_more);
  EXPECT_EQ(scratch, "cannot write " + directory + "/scratch: File too large");
  EXPECT_EQ(fits, "accepted");
  EXPECT_EQ(read_bytes(directory + "/fits"), std::string(10, 'x'));
}

TEST(AnOutputFile, LeavesSignalsAsTheyWere) {
  sigset_t pipe, before, during, pending;
  sigemptyset(&pipe), sigaddset(&pipe, SIGPIPE);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &before), 0);
  ASSERT_FALSE(sigismember(&before, SIGPIPE));
  const std::string path = write_text("left_by_its_reader", "");
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  OutputFile file;
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_EQ(file.open(path), 0);
  ::close(reader);
  EXPECT_EQ(file.write("x"), EPIPE);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &during), 0);
  for (int signal = 1; signal < 32; ++signal)
    EXPECT_EQ(sigismember(&during, signal), sigismember(&before, signal)) << signal;
  // A signal that was pending before is the program's.
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &pipe, nullptr), 0);
  ASSERT_EQ(::raise(SIGPIPE), 0);
  EXPECT_EQ(file.write("x"), EPIPE);
  ASSERT_EQ(::sigpending(&pending), 0);
  EXPECT_TRUE(sigismember(&pending, SIGPIPE));
  const timespec at_once{};
  sigtimedwait(&pipe, nullptr, &at_once);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

// Small pieces are gathered up to 64 KiB, larger ones are not: the order is that of the calls.
TEST(AFileSink, WritesItsPiecesInOrder) {
  const std::string path = fresh_directory("sink") + "/file";
  FileSink sink(path);
  std::string whole;
  char letter = 'a';
  for (const size_t kib : {60, 60, 70, 1, 63, 1, 64, 65, 0, 30, 30, 30}) {
    const std::string piece(kib << 10, letter++);
    sink.write(piece);
    whole += piece;
    EXPECT_EQ(sink.offset(), whole.size());
  }
  EXPECT_FALSE(fs::exists(path)) << "until it is complete";
  sink.commit();
  EXPECT_EQ(read_bytes(path), whole);
}

TEST(AFileSink, ErrorsNameTheFileAndTheReason) {
  EXPECT_EQ(refusal(OPD_NOT_FOUND, [] { FileSink("/nonexistent/file"); }),
            "cannot write /nonexistent/file: No such file or directory");
  const auto full = [](size_t size, bool commits) {
    FileSink sink("/dev/full");
    sink.write(std::string(size, 'x'));
    if (commits) sink.commit();
  };
  const std::string message = "cannot write /dev/full: No space left on device";
  EXPECT_EQ(refusal(OPD_IO, [&] { full(1, true); }), message);
  EXPECT_EQ(refusal(OPD_IO, [&] { full(100 << 10, false); }), message) << "a large piece is written at once";
  const std::string directory = fresh_directory("gone");
  FileSink sink(directory + "/file");
  fs::remove_all(directory);
  EXPECT_EQ(refusal(OPD_NOT_FOUND, [&] { sink.commit(); }),
            "cannot write " + directory + "/file: No such file or directory");
}

}  // namespace
}  // namespace opd
