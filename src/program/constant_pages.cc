#include "program/constant_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "device/memory/device_memory.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // since Linux 6.3
#endif

namespace opd {
namespace {

constexpr size_t kWorthMapping = 64 << 10;

struct Mapping final : Object {
  static int32_t type() { return OPD_OBJECT; }
  void *data;
  const size_t size;

  Mapping(int fd, size_t bytes)
      : data(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)), size(bytes) {
    if (data == MAP_FAILED) DeviceMemory::of(kHost).fail_out_of_memory(size);
    DeviceMemory::of(kHost).count_mapping(data, size);
  }
  ~Mapping() {
    DeviceMemory::of(kHost).count_unmapping(data, size);
    unmap(data, size);
  }
};

size_t bytes_together(std::span<const StoredTensor> tensors) {
  size_t bytes = 0;
  for (const auto &tensor : tensors) bytes += round_up(tensor.bytes, kAlignment);
  return bytes;
}

bool write_at(int fd, Bytes bytes, size_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<size_t>(n);
  }
  return true;
}

int make_memory_file() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd = ::memfd_create("opdyno-constants", kFlags | MFD_NOEXEC_SEAL);
  return fd < 0 && errno == EINVAL ? ::memfd_create("opdyno-constants", kFlags) : fd;
}

}  // namespace

Ref<ConstantPages> ConstantPages::make(std::span<const StoredTensor> tensors) {
  const size_t size = bytes_together(tensors);
  if (size < kWorthMapping || !may_write_file(size) || !DeviceMemory::of(kHost).is_from_system()) return nullptr;
  auto pages = make_object<ConstantPages>();
  pages->fd_ = make_memory_file();
  if (pages->fd_ < 0 || ::ftruncate(pages->fd_, static_cast<off_t>(size))) return nullptr;
  size_t offset = 0;
  for (const auto &tensor : tensors) {
    if (!write_at(pages->fd_, tensor.elements(), offset)) return nullptr;
    offset += round_up(tensor.bytes, kAlignment);
  }
  // If the file shrank, the next read of a lost page would end the process (SIGBUS). If it cannot be sealed against
  // that, the tensors are copied.
  if (::fcntl(pages->fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)) return nullptr;
  pages->size_ = size;
  return pages;
}

ConstantPages::~ConstantPages() {
  if (fd_ >= 0) ::close(fd_);
}

bool ConstantPages::serve(std::span<const StoredTensor> tensors) const {
  return size_ == bytes_together(tensors) && DeviceMemory::of(kHost).is_from_system();
}

std::vector<Ref<Tensor>> ConstantPages::map(std::span<const StoredTensor> tensors) const {
  const auto mapping = make_object<Mapping>(fd_, size_);
  std::vector<Ref<Tensor>> made;
  made.reserve(tensors.size());
  auto *place = static_cast<char *>(mapping->data);
  for (const auto &tensor : tensors) {
    made.push_back(Tensor::make(tensor.dims, tensor.dtype, kHost, place, mapping));
    place += round_up(tensor.bytes, kAlignment);
  }
  return made;
}

std::vector<Ref<Tensor>> place_constants(std::span<const StoredTensor> tensors, Ref<Object> *derived) {
  Ref<ConstantPages> pages;
  if (derived) {
    pages = Ref<ConstantPages>::share(static_cast<ConstantPages *>(derived->get()));
    if (!pages || !pages->serve(tensors)) pages = ConstantPages::make(tensors);
    *derived = pages;
  }
  if (pages) return pages->map(tensors);
  std::vector<const StoredTensor *> stored;
  for (const auto &tensor : tensors) stored.push_back(&tensor);
  return make_tensors(stored, true);
}

}  // namespace opd
