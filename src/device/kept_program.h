// Compiled kernels, kept in the cache directory so that later loads need no compiler (base/cache_directory.h). If
// $OPDYNO_KEPT_PROGRAMS_MB is 0, none is kept or read.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/content_hash.h"

namespace opd {

class KeptProgram {
 public:
  // `wanted`: the cache directory, or "" for the default one. If it cannot be used, nothing is kept. `made_of`: hash of
  // everything that determines the code.
  KeptProgram(std::string_view wanted, const ContentHash &made_of);

  // nullopt if there is no file, or if it is damaged or belongs to another user.
  std::optional<std::string> read() const;
  // Writes the file; a failure is not an error. Several processes may do this at once.
  void keep(std::string_view code) const;

 private:
  std::string path() const;

  size_t most_bytes_;
  std::string directory_;  // "" if nothing is kept
  const std::string key_;
};

}  // namespace opd
