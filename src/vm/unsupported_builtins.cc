#include "vm/unsupported_builtins.h"

#include "base/error.h"

namespace opd {
namespace {

struct Family {
  std::string_view prefix, sentence;
};
constexpr Family kFamilies[] = {
    {"vm.builtin.kv_cache_disagg_", "; the transfer of KV caches between machines is not offered"},
    {"runtime.disco.", "; programs that run in several processes (disco) are not offered"},
};

bool has_prefix(std::string_view names, std::string_view prefix) {
  for (size_t at = 0;;) {
    if (names.substr(at).starts_with(prefix)) return true;
    const size_t end = names.find(", ", at);
    if (end == std::string_view::npos) return false;
    at = end + 2;
  }
}

// Returns clauses that begin with a semicolon. "" if no name belongs to a family.
std::string why_not_offered(std::string_view names) {
  std::string out;
  for (const Family &family : kFamilies)
    if (has_prefix(names, family.prefix)) out += family.sentence;
  return out;
}

}  // namespace

void fail_missing_functions(std::string_view names) {
  fail(OPD_NOT_FOUND,
       "the program needs functions that neither its imported modules nor the global registry offer: ", names,
       why_not_offered(names));
}

}  // namespace opd
