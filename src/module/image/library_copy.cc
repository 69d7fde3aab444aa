#include "module/image/library_copy.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/fork_mutex.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // since Linux 6.3
#endif

namespace opd {
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
  fail(OPD_IO, "no private copy of ", label, " can be made in memory", tried,
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

LibraryCopy::LibraryCopy(LibraryCopy &&other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      on_disk_(std::exchange(other.on_disk_, false)) {}

LibraryCopy &LibraryCopy::operator=(LibraryCopy &&other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(on_disk_, other.on_disk_);
  return *this;
}

}  // namespace opd
