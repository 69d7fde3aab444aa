// The bytes of a library in memory or on disk, from which the loader maps it.
#include "module/image/library_image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/c_artifact.h"
#include "support/refusal.h"

namespace opd {
namespace {

namespace fs = std::filesystem;
using opdyno_test::build_library;
using opdyno_test::fresh_directory;
using opdyno_test::read_bytes;
using opdyno_test::scratch_directory;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

// A program without standard input gets descriptor 0 for the first file that it opens.
TEST(LibraryCopy, MayHaveDescriptorZero) {
  const int input = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
  ::close(0);
  {
    const auto copy = LibraryCopy::in_memory("zero.so");
    EXPECT_EQ(copy.fd(), 0);
    EXPECT_TRUE(copy.exists());
    EXPECT_EQ(copy.path(), "/proc/" + std::to_string(::getpid()) + "/fd/0") << "a debugger opens it, too";
  }
  EXPECT_FALSE(is_open(0));
  if (input >= 0) ::dup2(input, 0), ::close(input);
}

TEST(LibraryCopy, HasTheNameOfItsFileCutTo200Bytes) {
  for (const auto &[label, name] : {std::pair{std::string("/a/b/m.so"), std::string("m.so")},
                                    {std::string("m.so"), std::string("m.so")},
                                    {"/a/" + std::string(300, 'x'), std::string(200, 'x')}}) {
    const auto copy = LibraryCopy::in_memory(label);
    EXPECT_EQ(fs::read_symlink(copy.path()).string(), "/memfd:" + name + " (deleted)");
    EXPECT_NE(::fcntl(copy.fd(), F_GETFD) & FD_CLOEXEC, 0) << "programs that are started do not get it";
  }
}

TEST(LibraryCopy, OnDiskIsGoneWithItsOwner) {
  const std::string directory = fresh_directory("copies");
  int fd = -1;
  {
    LibraryCopy first = LibraryCopy::on_disk("m.so", {directory});
    const std::string path = first.path();
    fd = first.fd();
    EXPECT_TRUE(path.starts_with(directory + "/opdyno-") && path.ends_with(".so")) << path;
    EXPECT_TRUE(fs::exists(path));
    first.write(as_bytes("hello"), {});
    first.seal();  // which a file on disk cannot be
    first.write({}, {{0, "H"}});
    EXPECT_EQ(read_bytes(path), "Hello");
    LibraryCopy second(std::move(first)), third;
    EXPECT_FALSE(first.exists());
    EXPECT_EQ(second.path(), path);
    third = std::move(second);
    EXPECT_FALSE(second.exists());
    EXPECT_EQ(third.fd(), fd);
    EXPECT_TRUE(fs::exists(path)) << "as long as one has it";
  }
  EXPECT_FALSE(is_open(fd));
  EXPECT_TRUE(fs::is_empty(directory));
  const std::string kept = fresh_directory("kept");
  {
    LibraryCopy copy = LibraryCopy::on_disk("m.so", {kept});
    fd = copy.fd();
    copy.keep_forever();
  }
  EXPECT_TRUE(is_open(fd)) << "the loader knows the library by the number of its descriptor";
  ::close(fd);
}

TEST(LibraryCopy, OnDiskErrorsNameTheTriedDirectories) {
  EXPECT_EQ(
      refusal(OPD_IO,
              [] {
                LibraryCopy::on_disk("m.so", {"/nonexistent", "/proc/self"});
              })
          .substr(0, 110),
      "cannot make a private copy of m.so: not possible in memory; in /nonexistent: No such file or directory; in /pr");
  EXPECT_TRUE(refusal(OPD_IO, [] {
                LibraryCopy::on_disk("m.so", {});
              }).ends_with("in memory; set OPDYNO_CACHE_DIR to a directory whose files may be executed"));
}

TEST(FileState, DiffersIfTheFileOrItsContentDiffers) {
  struct stat info {};
  info.st_dev = 1, info.st_ino = 2, info.st_size = 3;
  info.st_mtim = {4, 5}, info.st_ctim = {6, 7};
  const FileState state(info);
  EXPECT_TRUE(state == FileState(info));
  const auto differs = [&](const std::function<void(struct stat &)> &change) {
    struct stat other = info;
    change(other);
    return !(state == FileState(other)) && !(FileState(other) == state);
  };
  EXPECT_TRUE(differs([](auto &s) { s.st_dev = 9; }));
  EXPECT_TRUE(differs([](auto &s) { s.st_ino = 9; }));
  EXPECT_TRUE(differs([](auto &s) { s.st_size = 9; }));
  EXPECT_TRUE(differs([](auto &s) { s.st_mtim.tv_sec = 9; }));
  EXPECT_TRUE(differs([](auto &s) { s.st_mtim.tv_nsec = 9; }));
  EXPECT_TRUE(differs([](auto &s) { s.st_ctim.tv_sec = 9; }));
  EXPECT_TRUE(differs([](auto &s) { s.st_ctim.tv_nsec = 9; }));
  EXPECT_FALSE(differs([](auto &s) { s.st_atim.tv_sec = 9; })) << "reading changes nothing";
}

const LibraryImage::Directories kNotAsked = [] {
  ADD_FAILURE() << "memory holds the copy";
  return std::vector<std::string>{};
};

// The C library's mathematics: a file that has been as it is for long.
TEST(LibraryImage, IsUsedAgainForTheSameSettledFile) {
  Dl_info here{};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "exp2"), &here), 0);
  const std::string path = here.dli_fname;
  const InputFile file(path);
  LibraryImage image(file);
  const FileState state(file.state());
  EXPECT_EQ(image.name(), path);
  EXPECT_EQ(image.memory_bytes(), 2 * fs::file_size(path));
  EXPECT_EQ(as_text(image.file().bytes()), read_bytes(path));
  EXPECT_FALSE(image.is_prepared());
  EXPECT_FALSE(image.may_serve_again() || image.is_of(path, state)) << "its symbols are not bound yet";
  image.prepare({}, kNotAsked);
  EXPECT_TRUE(image.is_prepared());
  EXPECT_TRUE(image.may_serve_again());
  EXPECT_TRUE(image.is_of(path, state));
  EXPECT_FALSE(image.is_of(path + "x", state));
  struct stat other = file.state();
  other.st_size += 1;
  EXPECT_FALSE(image.is_of(path, FileState(other)));
}

TEST(LibraryImage, CopiesBytesWithItsEditsAndSealsThem) {
  const std::string bytes = read_bytes(build_library("image", "int f(void) { return 1; }"));
  LibraryImage image(as_bytes(bytes), "image.so");
  EXPECT_FALSE(image.copy().exists()) << "before it is prepared";
  const size_t last = bytes.size() - 1;
  image.prepare({{8, "edit"}, {last, "!"}}, kNotAsked);
  std::string expected = bytes;
  expected.replace(8, 4, "edit"), expected[last] = '!';
  EXPECT_EQ(read_bytes(image.path()), expected);
  EXPECT_EQ(as_text(image.file().bytes()), bytes);
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  EXPECT_EQ(::fcntl(image.copy().fd(), F_GET_SEALS) & kSeals, kSeals);
  const std::string path = image.path();
  image.prepare({{8, "more"}}, kNotAsked);
  EXPECT_EQ(image.path(), path);
  EXPECT_EQ(read_bytes(path), expected) << "once only";
  EXPECT_FALSE(image.may_serve_again()) << "nothing tells that other bytes are the same";
  // As a file that was written just now.
  LibraryImage young(InputFile(opdyno_test::write_text("young.so", bytes)));
  EXPECT_TRUE(young.copy().exists());
  young.prepare({{8, "edit"}}, kNotAsked);
  EXPECT_EQ(read_bytes(young.path()).substr(8, 4), "edit");
  EXPECT_FALSE(young.may_serve_again());
}

}  // namespace
}  // namespace opd
