#include "module/allowed_modules.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"

namespace opd {
namespace {

constexpr size_t kDigits = 2 * std::tuple_size_v<Sha256>;

// The digest at the line's begin; "" if there is none.
std::string digest_in(std::string_view line) {
  if (line.starts_with('\\')) line.remove_prefix(1);  // marks a name with escaped characters
  if (line.size() < kDigits || (line.size() > kDigits && line[kDigits] != ' ')) return "";
  std::string digest(line.substr(0, kDigits));
  for (char &digit : digest) {
    if (digit >= 'A' && digit <= 'F') digit = static_cast<char>(digit - 'A' + 'a');
    if (!(digit >= '0' && digit <= '9') && !(digit >= 'a' && digit <= 'f')) return "";
  }
  return digest;
}

}  // namespace

AllowedModules::AllowedModules(std::string_view list) {
  for (size_t number = 1; !list.empty(); ++number) {
    const size_t end = std::min(list.find('\n'), list.size());
    std::string_view line = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    std::string digest = digest_in(line);
    if (digest.empty())
      fail(OPD_BAD_FORMAT, "line ", number, " of the list of modules must be a SHA-256 in ", kDigits,
           " digits and a name, as sha256sum prints it");
    digests_.insert(std::move(digest));
  }
}

}  // namespace opd
