// Where the writers of parameter files put their bytes: a file that replaces another as a whole, or memory.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "value/tensor.h"

namespace opd {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  void write(const void *data, size_t size) {
    put(data, size);
    offset_ += size;
  }
  void write(std::string_view text) { write(text.data(), text.size()); }
  void write_elements(const DLTensor &tensor) { write(data_of(tensor), bytes_of(tensor)); }  // compact, of the CPU
  uint64_t offset() const { return offset_; }                                                // how much was written
  virtual void reserve(uint64_t) {}                                                          // says how much will be

 private:
  virtual void put(const void *data, size_t size) = 0;
  uint64_t offset_ = 0;
};

inline uint64_t padding(uint64_t offset, uint64_t multiple) { return (multiple - offset % multiple) % multiple; }

class FileSink final : public ByteSink {
 public:
  explicit FileSink(std::string path);
  ~FileSink() override;  // leaves the old file as it is, unless …
  void commit();         // … this was called: readers see the old file or the new one, never a part

 private:
  void put(const void *data, size_t size) override;
  void write_out(const char *data, size_t size) const;

  std::string path_, temporary_, buffer_;
  int fd_;
};

class StringSink final : public ByteSink {
 public:
  void reserve(uint64_t size) override;
  std::string take() { return std::move(text_); }

 private:
  void put(const void *data, size_t size) override { text_.append(static_cast<const char *>(data), size); }
  std::string text_;
};

}  // namespace opd
