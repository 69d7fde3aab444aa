// Files: read whole, mapped, and replaced as a whole.
#pragma once
#include <string>

#include "base/bytes.h"

namespace opd {

std::string read_file(const std::string &path);

// Writes beside and renames, so that a reader sees the old file or the new one, never a part.
void replace_file(const std::string &path, std::string_view content);

class MappedFile {
 public:
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  Bytes bytes() const { return {data_, size_}; }

 private:
  const uint8_t *data_ = nullptr;
  size_t size_ = 0;
};

[[noreturn]] void fail_errno(const std::string &action, const std::string &path, int error_number);

}  // namespace opd
