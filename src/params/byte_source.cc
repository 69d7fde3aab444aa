#include "params/byte_source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

namespace opd {

Ref<ByteSource> ByteSource::map(const std::string &path, bool is_shared) {
  auto source = make_object<ByteSource>();
  source->name_ = path;
  source->is_shared_ = is_shared;
  struct stat info {};
  source->fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // otherwise opening a FIFO waits for a writer
  if (source->fd_ < 0 || ::fstat(source->fd_, &info)) fail_errno("cannot open", path, errno);
  if (!S_ISREG(info.st_mode)) fail(OPD_INVALID_ARGUMENT, "cannot read ", path, ": not a regular file");
  if (info.st_size == 0) return source;
  // MAP_NORESERVE: most tensors are never written, so no swap space is reserved for copies of their pages.
  const int protection = is_shared ? PROT_READ | PROT_WRITE : PROT_READ;
  const auto size = static_cast<size_t>(info.st_size);
  void *mapped = ::mmap(nullptr, size, protection, MAP_PRIVATE | MAP_NORESERVE, source->fd_, 0);
  if (mapped == MAP_FAILED) fail_errno("cannot map", path, errno);
  source->bytes_ = {static_cast<const uint8_t *>(mapped), size};
  source->is_mapped_ = true;
  return source;
}

Ref<ByteSource> ByteSource::borrow(Bytes bytes, const char *name, bool is_shared) {
  auto source = make_object<ByteSource>();
  source->name_ = name;
  source->bytes_ = bytes;
  source->is_shared_ = is_shared;
  return source;
}

void ByteSource::set_deleter(void *user_data, void (*deleter)(void *)) noexcept {
  user_data_ = user_data;
  deleter_ = deleter;
}

ByteSource::~ByteSource() {
  if (is_mapped_) unmap(bytes_.data(), bytes_.size());
  close_file();
  if (deleter_) deleter_(user_data_);
}

void ByteSource::close_file() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void ByteSource::read(uint64_t offset, void *to, size_t size) const {
  auto *out = static_cast<uint8_t *>(to);
  if (fd_ < 0) {
    if (size) std::memcpy(out, bytes_.data() + offset, size);
    return;
  }
  for (size_t done = 0; done < size;) {
    const ssize_t n = ::pread(fd_, out + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("cannot read", name_, errno);
    if (n == 0) fail(OPD_IO, name_, " was cut to ", offset + done, " bytes while its tensors were in use");
    done += static_cast<size_t>(n);
  }
}

void ByteSource::prefetch() const noexcept {
  if (is_mapped_) ::madvise(const_cast<uint8_t *>(bytes_.data()), bytes_.size(), MADV_WILLNEED);
}

}  // namespace opd
