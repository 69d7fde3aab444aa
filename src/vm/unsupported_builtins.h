// Functions of TVM's runtime that opdyno omits on purpose.
#pragma once
#include <string>
#include <string_view>

namespace opd {

// Throws an error for a program that needs the functions `names`, a list separated by ", ".
[[noreturn]] void fail_missing_functions(std::string_view names);

}  // namespace opd
