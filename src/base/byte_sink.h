// Outputs for writers of files: a file that is replaced as a whole, or memory.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/output_file.h"

namespace opd {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  void write(const void *data, size_t size) {
    put(data, size);
    offset_ += size;
  }
  void write(std::string_view text) { write(text.data(), text.size()); }
  uint64_t offset() const { return offset_; }  // bytes written so far
  virtual void reserve(uint64_t) {}            // announces the total size

 private:
  virtual void put(const void *data, size_t size) = 0;
  uint64_t offset_ = 0;
};

inline uint64_t padding(uint64_t offset, uint64_t multiple) { return (multiple - offset % multiple) % multiple; }

class FileSink final : public ByteSink {
 public:
  explicit FileSink(std::string path);
  void commit();  // replaces the old file; without this call, it stays unchanged

 private:
  void put(const void *data, size_t size) override;
  void write_out(const char *data, size_t size);

  std::string path_, buffer_;
  OutputFile file_;
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
