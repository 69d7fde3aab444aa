// The bytes that parameters are read from: a mapped file, or memory of the caller's.
#pragma once
#include <string>

#include "base/bytes.h"
#include "value/value.h"

namespace opd {

// Thread-safe. Tensors that point into the bytes hold a reference.
struct ByteSource : Object {
  static int32_t type() { return OPD_OBJECT; }

  // `is_shared`: tensors may point into the bytes. What they write stays theirs: the mapping is private.
  static Ref<ByteSource> map(const std::string &path, bool is_shared);
  static Ref<ByteSource> borrow(Bytes bytes, const char *name, bool is_shared);
  ByteSource() = default;
  ~ByteSource();

  const char *name() const { return name_.c_str(); }  // in messages
  Bytes bytes() const { return bytes_; }
  bool is_shared() const { return is_shared_; }

  // Copies a part that lies within the bytes. From the file itself while it is open, which is faster than through a
  // mapping and gives OPD_IO, not a signal, where the file was cut short meanwhile.
  void read(uint64_t offset, void *to, size_t size) const;
  void prefetch() const noexcept;  // asks the system to read the file ahead, and does not wait
  void set_deleter(void *user_data, void (*deleter)(void *)) noexcept;  // called at the end; may be null
  void close_file() noexcept;  // not to hold a descriptor for each of many files

 private:
  std::string name_;
  Bytes bytes_;
  bool is_shared_ = false, is_mapped_ = false;
  int fd_ = -1;
  void *user_data_ = nullptr;
  void (*deleter_)(void *) = nullptr;
};

}  // namespace opd
