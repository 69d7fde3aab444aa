#include "replay/capture_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/content_hash.h"
#include "base/file.h"

namespace opd {
namespace {

template <class T>
std::string_view bytes_of_field(const T &field) {
  return {reinterpret_cast<const char *>(&field), sizeof field};
}

uint64_t head_check(const BlockHead &head) {
  ContentHash hash;
  hash.add(capture_header()).add(bytes_of_field(head.kind)).add(bytes_of_field(head.number));
  return hash.add(bytes_of_field(head.size)).low();
}

void add_content_hash(BlockHead &head, std::string_view content) {
  ContentHash hash;
  hash.add(bytes_of_field(head.head_check)).add(content);
  head.low = hash.low(), head.high = hash.high();
}

// Resolves symbolic links, so that the file behind a link is replaced or created. A rename to the link's own path would
// replace the link.
std::string target_of(const std::string &path) {
  constexpr int kMostLinks = 40;  // Linux's limit
  namespace fs = std::filesystem;
  struct stat info {};
  if (::stat(path.c_str(), &info) && errno != ENOENT) fail_errno("cannot write", path, errno);
  // A rename would replace a device or a pipe. The mode is 0 if nothing exists at the path.
  if (info.st_mode && !S_ISREG(info.st_mode))
    fail(OPD_INVALID_ARGUMENT, "cannot record to ", path, ": not a regular file");
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(target, error)); ++i) {
    const fs::path link = fs::read_symlink(target, error);
    if (error) fail_errno("cannot write", path, error.value());
    target = target.parent_path() / link;  // equals `link` if that is absolute
  }
  return target;
}

// Creates and opens a file in the directory of `path`, and sets `path` to its name. It is in that directory, because a
// rename works only within one file system. Only the owner can read the file, because it has a call's data.
int open_beside(std::string &path) {
  path += ".XXXXXX";
  return ::mkostemp(path.data(), O_CLOEXEC);
}

}  // namespace

std::string capture_header() {
  ByteWriter out;
  out.write(kCaptureMagic);
  out.write(kCaptureVersion);
  out.write<uint32_t>(0);
  return out.take();
}

BlockHead head_of(BlockKind kind, uint32_t number, std::string_view content) {
  BlockHead head{kind, number, content.size(), 0, 0, 0};
  head.head_check = head_check(head);
  add_content_hash(head, content);
  return head;
}

BlockReader::BlockReader(Bytes bytes, const char *name) : name_(name), bytes_(bytes, name) {
  const std::string_view magic(kCaptureMagic.data(), kCaptureMagic.size());
  if (!as_text(bytes).starts_with(magic))
    fail(OPD_BAD_FORMAT, name, " is not a recording of a call: it does not begin with \"", magic, "\"");
  bytes_.take(magic.size(), "magic");
  const auto version = bytes_.read<uint32_t>("version");
  if (version > kCaptureVersion)
    fail(OPD_UNSUPPORTED, name, " has version ", version, " of the format of recordings; this opdyno reads ",
         kCaptureVersion, " and older");
  if (version != kCaptureVersion) bytes_.bad("version", concat("must be ", kCaptureVersion, ", but is ", version));
  if (bytes_.read<uint32_t>("header") != 0) bytes_.bad("header", "must end with 0");
}

std::optional<Block> BlockReader::next() {
  if (bytes_.at_end()) return std::nullopt;
  if (bytes_.remaining() < sizeof(BlockHead)) return is_cut_ = true, std::nullopt;
  const auto head = bytes_.read<BlockHead>("block");
  if (head.head_check != head_check(head) || head.number != number_)
    bytes_.bad("block", concat("is damaged: number ", number_, " does not have its checksum"));
  if (head.size > bytes_.remaining()) return is_cut_ = true, std::nullopt;
  const size_t offset = bytes_.offset();
  const Bytes content = bytes_.take(head.size, "block");
  BlockHead expected = head;
  add_content_hash(expected, as_text(content));
  if (expected.low != head.low || expected.high != head.high)
    fail(OPD_BAD_FORMAT, name_, ": block ", number_, " at offset ", offset, " is damaged: its ", head.size,
         " bytes do not have its checksum");
  ++number_;
  return Block{head.kind, content, offset};
}

std::string checked_capture_path(const std::string &path) {
  std::error_code error;
  const std::string whole = std::filesystem::absolute(path, error).string();  // absolute, because a program may change
                                                                              // its directory
  if (error) fail_errno("cannot write", path, error.value());
  // Creates a file as a test, because permissions alone do not reveal a read-only file system. At this time the caller
  // can still choose another path; once the call has begun, it cannot.
  std::string probe = target_of(whole);
  const int fd = open_beside(probe);
  if (fd < 0) fail_errno("cannot write", path, errno);
  ::close(fd);
  ::unlink(probe.c_str());
  return whole;
}

CaptureFile::CaptureFile(const std::string &path) : path_(target_of(path)), temporary_(path_), process_(::getpid()) {
  fd_ = open_beside(temporary_);
  if (fd_ < 0) fail_errno("cannot write", path_, errno);
  try {
    write(capture_header());
  } catch (...) {
    ::close(fd_);
    ::unlink(temporary_.c_str());
    throw;
  }
}

CaptureFile::~CaptureFile() {
  ::close(fd_);
  // A child of fork() keeps the file, because the parent is still writing it.
  if (!temporary_.empty() && !is_of_parent()) ::unlink(temporary_.c_str());
}

void CaptureFile::add(BlockKind kind, std::string_view content) {
  if (is_of_parent()) return;
  // If the process dies between the two writes, the last block is cut off. Readers accept that.
  const BlockHead head = head_of(kind, blocks_, content);
  write({reinterpret_cast<const char *>(&head), sizeof head});
  write(content);
  ++blocks_;
}

void CaptureFile::place() {
  if (temporary_.empty() || is_of_parent()) return;
  // The rename is atomic: the path has either the earlier capture or everything before this call. Nothing is synced: a
  // crash of the process loses no written bytes, only a crash of the system does.
  if (::rename(temporary_.c_str(), path_.c_str())) fail_errno("cannot write", path_, errno);
  temporary_.clear();
}

void CaptureFile::return_to(Mark mark) {
  if (is_of_parent()) return;
  // ftruncate() leaves the file position after the new end, so it is set as well.
  if (::ftruncate(fd_, static_cast<off_t>(mark.size)) || ::lseek(fd_, static_cast<off_t>(mark.size), SEEK_SET) < 0)
    fail_errno("cannot write", path_, errno);
  size_ = mark.size, blocks_ = mark.blocks;
}

void CaptureFile::write(std::string_view bytes) {
  if (!may_write_file(size_ + bytes.size())) fail_errno("cannot write", path_, EFBIG);
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("cannot write", path_, errno);
    size_ += static_cast<uint64_t>(n);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace opd
