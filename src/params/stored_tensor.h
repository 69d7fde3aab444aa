// A tensor in a file. Its shape and dtype are known. The tensor itself is made on request.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "value/tensor.h"
#include "value/value.h"

namespace opd {

// The source of parameters' bytes: a mapped file, or the caller's memory.
// Thread-safe. Tensors that point into the bytes keep a reference.
struct ByteSource : Object {
  static int32_t type() { return OPD_OBJECT; }

  // `is_shared`: tensors may point into the bytes. The mapping is private, so their writes do not reach the file.
  static Ref<ByteSource> map(const std::string &path, bool is_shared);
  static Ref<ByteSource> borrow(Bytes bytes, const char *name, bool is_shared);
  ByteSource() = default;
  ~ByteSource();

  const char *name() const { return name_.c_str(); }  // used in messages
  Bytes bytes() const { return bytes_; }
  bool is_shared() const { return is_shared_; }

  // Copies a part of the bytes. While the file is open, it is read instead of the mapping. Reading is faster, and if
  // the file was truncated after it was opened, the result is OPD_IO instead of SIGBUS.
  void read(uint64_t offset, void *to, size_t size) const;
  void prefetch() const noexcept;  // asks the system to read the file ahead; does not wait
  void set_deleter(void *user_data, void (*deleter)(void *)) noexcept;  // called at the end; may be null
  void close_file() noexcept;                                           // saves file descriptors if many sets are open

 private:
  std::string name_;
  Bytes bytes_;
  bool is_shared_ = false, is_mapped_ = false;
  int fd_ = -1;
  void *user_data_ = nullptr;
  void (*deleter_)(void *) = nullptr;
};

struct StoredTensor {
  DLDataType dtype{};
  std::vector<int64_t> dims;
  uint64_t bytes = 0;  // compact size of the elements
  Ref<ByteSource> source;
  uint64_t offset = 0;  // offset of the elements in the source; unused with `decode`
  std::function<Ref<Tensor>(const StoredTensor &)> decode;  // if set, makes the tensor from the file's encoding

  Bytes elements() const { return source->bytes().subspan(offset, bytes); }  // requires that `decode` is not set
  // Whether the tensor can be a view of the source: kernels need elements at a multiple of 64.
  bool is_view() const;
};

// Makes views if possible, otherwise copies. One call makes many tensors, so that several threads can read large ones.
// If `always_copy`, no result points into a source. If the copies would exceed the memory that this process may use,
// throws OPD_OUT_OF_MEMORY before it allocates anything.
std::vector<Ref<Tensor>> make_tensors(std::span<const StoredTensor *const> stored, bool always_copy);

}  // namespace opd
