// Ranges of the library's own work, which show in a time line what happens before the first call. Cost: a load if no
// recording asks for ranges.
#pragma once
#include <new>
#include <string_view>

#include "base/text.h"
#include "trace/model/names.h"
#include "trace/record/ranges.h"

namespace opd {

class LibraryRange {
 public:
  // With "load" and "/models/mlp.so", the range is "load mlp.so".
  explicit LibraryRange(std::string_view what, std::string_view path = {})
      : begin_(is_recording(Interest::kRanges) ? begin(what, path) : 0) {}
  ~LibraryRange() { end_range(begin_); }
  LibraryRange(const LibraryRange &) = delete;

 private:
  static uint64_t begin(std::string_view what, std::string_view path) noexcept try {
    const std::string_view file = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
    return begin_range(file.empty() ? name_id(what) : name_id(concat(what, " ", file)));
  } catch (const std::bad_alloc &) { return 0; }

  const uint64_t begin_;
};

}  // namespace opd
