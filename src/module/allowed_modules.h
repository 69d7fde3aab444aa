// A list of the files that may be loaded as modules, by the SHA-256 of their bytes.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/sha256.h"

namespace opd {

class AllowedModules {
 public:
  // Lines in the format of `sha256sum`: 64 hexadecimal digits, two characters, a name. Empty lines and lines that begin
  // with # are skipped. Throws OPD_BAD_FORMAT.
  explicit AllowedModules(std::string_view list);

  // Throws OPD_FAILED_PRECONDITION, with the name and the hash, unless a file with these bytes is in the list. Pass the
  // same bytes that are loaded: a file may change in between.
  void require(Bytes content, std::string_view name) const {
    const std::string digest = hex(sha256(as_text(content)));
    if (!digests_.contains(digest))
      fail(OPD_FAILED_PRECONDITION, "the module ", std::string(name), " with the SHA-256 ", digest,
           " is not in the list of allowed modules (opdyno serve --allow-modules)");
  }

 private:
  std::set<std::string, std::less<>> digests_;  // lower-case
};

}  // namespace opd
