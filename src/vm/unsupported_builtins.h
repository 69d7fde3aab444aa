// Functions that TVM's runtime has and ours, on purpose, has not.
#pragma once
#include <string>
#include <string_view>

namespace opd {

// Refuses a program that needs the functions `names`, a list separated by ", ".
[[noreturn]] void fail_missing_functions(std::string_view names);

}  // namespace opd
