// Functions that TVM's runtime has and ours, on purpose, has not.
#pragma once
#include <string>
#include <string_view>

namespace opd {

// What to say of those among `names`, a list separated by ", ": clauses that begin with a semicolon; "" if there are
// none.
std::string why_not_offered(std::string_view names);

}  // namespace opd
