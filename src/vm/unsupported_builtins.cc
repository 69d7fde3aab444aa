#include "vm/unsupported_builtins.h"

#include "base/error.h"

namespace opd {
namespace {

struct Family {
  std::string_view sentence;
  std::string_view prefixes[6];
};

constexpr Family kFamilies[] = {
    {"; the transfer of KV caches between machines is not offered", {"vm.builtin.kv_cache_disagg_"}},
};

bool has_prefix(std::string_view names, std::string_view prefix) {
  for (size_t at = 0;;) {
    if (names.substr(at).starts_with(prefix)) return true;
    const size_t end = names.find(", ", at);
    if (end == std::string_view::npos) return false;
    at = end + 2;
  }
}

// Clauses that begin with a semicolon; "" if none of the names is of a family.
std::string why_not_offered(std::string_view names) {
  std::string out;
  for (const Family &family : kFamilies)
    for (const auto prefix : family.prefixes)
      if (!prefix.empty() && has_prefix(names, prefix)) {
        out += family.sentence;
        break;
      }
  return out;
}

}  // namespace

void fail_missing_functions(std::string_view names) {
  fail(OPD_NOT_FOUND,
       "the program needs functions that neither its imported modules nor the global registry offer: ", names,
       why_not_offered(names));
}

}  // namespace opd
