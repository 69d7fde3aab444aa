#include "params/byte_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/file.h"
#include "params/stored_tensor.h"

namespace opd {
namespace {
constexpr size_t kBuffer = 64 << 10;  // headers are gathered up to this; elements go straight from their tensors
}

FileSink::FileSink(std::string path) : path_(std::move(path)) {
  static std::atomic<unsigned> counter{0};
  temporary_ = concat(path_, ".", ::getpid(), ".", counter.fetch_add(1), ".tmp");
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_errno("cannot write", path_, errno);
}

FileSink::~FileSink() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileSink::put(const void *data, size_t size) {
  if (buffer_.size() + size > kBuffer) {
    write_out(buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  if (size > kBuffer) write_out(static_cast<const char *>(data), size);
  else buffer_.append(static_cast<const char *>(data), size);
}

void FileSink::write_out(const char *data, size_t size) const {
  while (size > 0) {
    const ssize_t n = ::write(fd_, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("cannot write", path_, errno);
    data += n;
    size -= static_cast<size_t>(n);
  }
}

void FileSink::commit() {
  write_out(buffer_.data(), buffer_.size());
  if (::close(std::exchange(fd_, -1)) && errno != EINTR) fail_errno("cannot write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str())) fail_errno("cannot write", path_, errno);
  temporary_.clear();
}

void StringSink::reserve(uint64_t size) {
  text_.reserve(size);
  advise_huge_pages(text_.data(), text_.capacity());
}

}  // namespace opd
