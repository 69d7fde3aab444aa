#include "params/stored_tensor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/file.h"
#include "device/cpu/thread_pool.h"
#include "device/device.h"
#include "device/machine.h"

namespace opd {
namespace {

constexpr size_t kPiece = size_t{2} << 20;    // bytes that a thread reads at once
constexpr size_t kWorthThreads = 4 * kPiece;  // waking threads takes microseconds

struct Piece {
  const ByteSource *source;
  uint64_t offset;
  uint8_t *to;
  size_t size;
};

class PieceReader {
 public:
  void add(const StoredTensor &from, const Tensor &to) {
    advise_huge_pages(to.dl.data, from.bytes);
    for (uint64_t done = 0; done < from.bytes; done += kPiece)
      pieces_.push_back({from.source.get(), from.offset + done, static_cast<uint8_t *>(to.dl.data) + done,
                         std::min<uint64_t>(kPiece, from.bytes - done)});
    size_ += from.bytes;
  }

  void run() {
    if (size_ < kWorthThreads) return read_some();
    const auto task = [](int, ParallelGroup *, void *self) {
      return raising([&] { static_cast<PieceReader *>(self)->read_some(); });
    };
    if (parallel_launch(task, this, 0)) throw Exception(take_raised());
  }

 private:
  void read_some() {
    for (size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < pieces_.size();)
      pieces_[i].source->read(pieces_[i].offset, pieces_[i].to, pieces_[i].size);
  }

  std::vector<Piece> pieces_;
  size_t size_ = 0;
  std::atomic<size_t> next_{0};
};

void check_memory(std::span<const StoredTensor *const> stored, bool always_copy) {
  uint64_t needed = 0;
  for (const StoredTensor *one : stored)
    if ((always_copy || !one->is_view()) && __builtin_add_overflow(needed, one->bytes, &needed)) needed = UINT64_MAX;
  if (needed <= size_t{64} << 20) return;  // too small to read the limits
  if (const uint64_t usable = usable_memory_bytes(); needed > usable)
    fail(OPD_OUT_OF_MEMORY, stored.front()->source->name(), ": copies of ", needed,
         " bytes are needed, but this process may use ", usable);
}

}  // namespace

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

bool StoredTensor::is_view() const {
  if (decode || bytes == 0 || !source->is_shared()) return false;
  return reinterpret_cast<uintptr_t>(source->bytes().data() + offset) % kAlignment == 0;
}

std::vector<Ref<Tensor>> make_tensors(std::span<const StoredTensor *const> stored, bool always_copy) {
  check_memory(stored, always_copy);
  std::vector<Ref<Tensor>> tensors;
  PieceReader reader;
  for (const StoredTensor *one : stored) {
    if (one->decode) {
      tensors.push_back(one->decode(*one));
    } else if (!always_copy && one->is_view()) {
      auto *data = const_cast<uint8_t *>(one->source->bytes().data() + one->offset);
      tensors.push_back(Tensor::make(one->dims, one->dtype, kHost, data, one->source));
    } else {
      tensors.push_back(make_tensor(one->dims, one->dtype, kHost, MemoryUse::kParameter));
      reader.add(*one, *tensors.back());
    }
  }
  reader.run();
  return tensors;
}

}  // namespace opd
