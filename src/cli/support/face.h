// The library's C++ API. Names of the program hide equal ones of the library.
#pragma once
#include <opdyno/opdyno.hpp>

#include "cli/support/text.h"

namespace opd::cli {

using namespace opdyno;

inline std::vector<opd_value> views_of(const std::vector<Value> &values) { return mapped(values, &Value::view); }

}  // namespace opd::cli
