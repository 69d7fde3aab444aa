#include "base/byte_sink.h"

#include "base/file.h"

namespace opd {
namespace {
// Smaller pieces are collected up to this size. Larger ones go straight to the file.
constexpr size_t kBuffer = 64 << 10;
}  // namespace

FileSink::FileSink(std::string path) : path_(std::move(path)) {
  if (const int error = file_.open(path_)) fail_errno("cannot write", path_, error);
}

void FileSink::put(const void *data, size_t size) {
  if (buffer_.size() + size > kBuffer) {
    write_out(buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  if (size > kBuffer) write_out(static_cast<const char *>(data), size);
  else buffer_.append(static_cast<const char *>(data), size);
}

void FileSink::write_out(const char *data, size_t size) {
  if (const int error = file_.write({data, size})) fail_errno("cannot write", path_, error);
}

void FileSink::commit() {
  write_out(buffer_.data(), buffer_.size());
  if (const int error = file_.commit()) fail_errno("cannot write", path_, error);
}

void StringSink::reserve(uint64_t size) {
  text_.reserve(size);
  advise_huge_pages(text_.data(), text_.capacity());
}

}  // namespace opd
