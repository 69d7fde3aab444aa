#include "module/image/library_image.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>
#include <mutex>
#include <utility>

#include "base/environment.h"
#include "base/fork_mutex.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // since Linux 6.3
#endif

namespace opd {

// ---- the private file

namespace {

// Whether the system allows files like this one to be executed. A noexec mount or a security policy may forbid it.
bool may_execute(int fd) {
  void *page = ::mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  if (page == MAP_FAILED) return false;
  unmap(page, 1);
  return true;
}

void write_all(int fd, Bytes bytes, off_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_errno("cannot write", "the private copy of a library", n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += n;
  }
}

// Path of a descriptor in /proc, with the number of this process. A debugger opens the paths of libraries itself, and
// /proc/self would be the debugger's directory. Its descriptor of that number may be a pipe, on which it would block.
std::string path_of(int fd) {
  char process[32];
  const ssize_t size = ::readlink("/proc/self", process, sizeof process);
  return concat("/proc/", size > 0 ? std::string_view(process, static_cast<size_t>(size)) : "self", "/fd/", fd);
}

// Whether a library is loaded from this path; with a `base`, whether it is mapped there. dlopen() is not used, because
// it would open and read the file.
bool is_loaded(const std::string &path, const char *base = nullptr) {
  const LoaderCall call;  // dl_iterate_phdr() takes a lock of the loader, which a fork would leave locked in the child
  struct Wanted {
    const std::string &path;
    const char *base;
  } wanted{path, base};
  return ::dl_iterate_phdr(
             [](dl_phdr_info *info, size_t, void *given) {
               const auto &[name, address] = *static_cast<const Wanted *>(given);
               const bool is_there = !address || info->dlpi_addr == reinterpret_cast<uintptr_t>(address);
               return is_there && info->dlpi_name && name == info->dlpi_name ? 1 : 0;
             },
             &wanted) != 0;
}

}  // namespace

LibraryCopy LibraryCopy::in_memory(const std::string &label) {
  const std::string name =
      label.substr(label.rfind('/') + 1).substr(0, 200);  // the name in profilers' output and /proc/self/maps
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = ::memfd_create(name.c_str(), kFlags | MFD_EXEC);
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create(name.c_str(), kFlags);
  if (fd < 0) return {};
  // A library may still be mapped as /proc/PROCESS/fd/N although its descriptor N is closed. dlopen() would return that
  // library for this N, so this N is skipped.
  std::vector<int> taken;
  while (fd >= 0 && is_loaded(path_of(fd))) {
    taken.push_back(fd);
    fd = ::fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
  }
  for (const int number : taken) ::close(number);
  if (fd < 0) return {};
  LibraryCopy copy(fd, path_of(fd), false);
  static const bool executable = may_execute(fd) && !::access(copy.path_.c_str(), R_OK);  // access(): checks /proc
  if (!executable) return {};
  return copy;
}

LibraryCopy LibraryCopy::on_disk(const std::string &label, const std::vector<std::string> &directories) {
  std::string tried;
  for (const std::string &directory : directories) {
    std::string path = directory + "/opdyno-XXXXXX.so";
    const int fd = ::mkostemps(path.data(), 3, O_CLOEXEC);
    const std::string reason = fd < 0 ? error_text(errno) : "files there may not be executed";
    tried += concat("; in ", directory, ": ", reason);
    if (fd < 0) continue;
    LibraryCopy copy(fd, std::move(path), true);
    if (may_execute(fd)) return copy;
  }
  fail(OPD_IO, "cannot make a private copy of ", label, ": not possible in memory", tried,
       "; set OPDYNO_CACHE_DIR to a directory whose files may be executed");
}

void LibraryCopy::write(Bytes content, const std::vector<Edit> &edits) const {
  write_all(fd_, content, 0);
  for (const auto &edit : edits) write_all(fd_, as_bytes(edit.data), static_cast<off_t>(edit.offset));
}

// Holes stay holes: a file of a few kilobytes on disk may have more bytes than memory can hold. Data is copied within
// the kernel. With a buffer in user memory, the pages would be faulted in only to pass the bytes on.
size_t LibraryCopy::fill_from(const InputFile &file) const {
  constexpr off_t kMost = 0x7ffff000;  // maximum for one call
  for (off_t from = 0;;) {
    off_t data = ::lseek(file.fd(), from, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {  // the rest of the file has no data
      const off_t size = std::max(from, ::lseek(file.fd(), 0, SEEK_END));
      if (size > from && ::ftruncate(fd_, size) != 0) fail_errno("cannot copy", file.path(), errno);
      return static_cast<size_t>(size);
    }
    if (data < 0) data = from;  // the file system does not report holes
    off_t end = ::lseek(file.fd(), data, SEEK_HOLE);
    if (end < 0) end = std::numeric_limits<off_t>::max();
    ::lseek(fd_, data, SEEK_SET);
    for (from = data; from < end;) {
      const ssize_t n = ::sendfile(fd_, file.fd(), &from, static_cast<size_t>(std::min(kMost, end - from)));
      if (n == 0) return static_cast<size_t>(from);
      if (n > 0 || errno == EINTR) continue;
      if (from > 0) fail_errno("cannot copy", file.path(), errno);
      const std::string content = file.read();  // sendfile() may be unsupported for such a file
      write_all(fd_, as_bytes(content), 0);
      return content.size();
    }
  }
}

void LibraryCopy::seal() const {
  if (on_disk_) return;
  // If the kernel has no seals, the copy is still safe from other users: only a process of the same user could open it.
  ::fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
}

bool LibraryCopy::is_mapped(const char *base) const { return is_loaded(path_, base); }

void LibraryCopy::loaded() {
  if (on_disk_) ::unlink(path_.c_str());
  on_disk_ = false;
}

LibraryCopy::~LibraryCopy() {
  if (fd_ < 0) return;
  loaded();
  ::close(fd_);
}

LibraryCopy &LibraryCopy::operator=(LibraryCopy &&other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(on_disk_, other.on_disk_);
  return *this;
}

// ---- the image

namespace {

bool same_time(const timespec &a, const timespec &b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

// If a file changed just before it was read, it may change again without a new time stamp: clocks of file systems are
// as coarse as two seconds. Git uses the same rule.
bool is_settled(const FileState &state) {
  constexpr time_t kSeconds = 2;
  const time_t now = std::time(nullptr);
  return now - state.changed.tv_sec > kSeconds && now - state.modified.tv_sec > kSeconds;
}

}  // namespace

FileState::FileState(const struct stat &info)
    : device(info.st_dev), inode(info.st_ino), size(info.st_size), modified(info.st_mtim), changed(info.st_ctim) {}

bool FileState::operator==(const FileState &other) const {
  return device == other.device && inode == other.inode && size == other.size && same_time(modified, other.modified) &&
         same_time(changed, other.changed);
}

LibraryImage::LibraryImage(const InputFile &file) {
  const FileState before(file.state());
  if (may_write_file(static_cast<size_t>(before.size))) copy_ = LibraryCopy::in_memory(file.path());
  if (copy_.exists()) {
    mapped_.emplace(copy_.fd(), copy_.fill_from(file), file.path());
    if (is_settled(before) && before == FileState(file.state())) origin_ = before;
  } else {
    content_ = file.read();
  }
  file_.emplace(mapped_ ? mapped_->bytes() : as_bytes(content_), file.path());
}

LibraryImage::LibraryImage(Bytes bytes, const std::string &name) { file_.emplace(bytes, name); }

void LibraryImage::prepare(const std::vector<LibraryCopy::Edit> &edits, const Directories &directories) {
  if (prepared_) return;
  if (copy_.exists()) {
    copy_.write({}, edits);
  } else {
    const size_t size = file_->bytes().size();
    if (!may_write_file(size))
      fail(OPD_IO, "cannot make a private copy of ", name(), ": it has ", size,
           " bytes, more than this process may write to a file (ulimit -f)");
    copy_ = LibraryCopy::in_memory(name());
    if (!copy_.exists()) copy_ = LibraryCopy::on_disk(name(), directories());
    copy_.write(file_->bytes(), edits);
  }
  copy_.seal();
  prepared_ = true;
}

// ---- the library cache

namespace {

using Images = std::vector<std::shared_ptr<LibraryImage>>;

constexpr size_t kMostImages = 8;  // each image holds a descriptor

size_t most_bytes() {
  static const size_t bytes = bytes_from_environment("OPDYNO_KEPT_LIBRARIES_MB", 32);
  return bytes;
}

struct Kept {
  ForkMutex guard{LockRank::kLibraryCache};
  Images images;  // ordered by last use, oldest first

  static Kept &get() {
    static auto *kept = new Kept;  // never destroyed: modules may be dropped while the process exits
    return *kept;
  }

  // Moves excess images to `dropped`, to be destroyed without the lock.
  void shrink(Images &dropped) {
    size_t bytes = 0, number = 0;
    auto first = images.end();
    while (first != images.begin() && number < kMostImages) {
      bytes += (*std::prev(first))->memory_bytes();
      if (bytes > most_bytes()) break;
      --first, ++number;
    }
    dropped.assign(std::make_move_iterator(images.begin()), std::make_move_iterator(first));
    images.erase(images.begin(), first);
  }
};
// Made at load, because a destructor that uses it must not run out of memory.
[[maybe_unused]] const Kept &kept_made_at_load = Kept::get();

}  // namespace

std::shared_ptr<LibraryImage> take_kept_image(const std::string &path, const FileState &state) {
  Kept &kept = Kept::get();
  Images outdated;
  std::scoped_lock lock(kept.guard);
  std::shared_ptr<LibraryImage> found;
  for (size_t i = kept.images.size(); i-- > 0;) {
    if (kept.images[i]->name() != path) continue;
    const bool current = kept.images[i]->is_of(path, state);
    if (current && found) continue;
    (current ? found : outdated.emplace_back()) = std::move(kept.images[i]);
    kept.images.erase(kept.images.begin() + static_cast<ptrdiff_t>(i));
  }
  return found;
}

void keep_image(std::shared_ptr<LibraryImage> image) noexcept {
  if (!image->may_serve_again() || image->memory_bytes() > most_bytes()) return;
  Kept &kept = Kept::get();
  Images dropped;
  try {
    std::scoped_lock lock(kept.guard);
    kept.images.push_back(std::move(image));
    kept.shrink(dropped);
  } catch (const std::bad_alloc &) {
    // the image is not kept
  }
}

void drop_kept_images() noexcept {
  Kept &kept = Kept::get();
  Images dropped;
  std::scoped_lock lock(kept.guard);
  dropped.swap(kept.images);
}

}  // namespace opd
