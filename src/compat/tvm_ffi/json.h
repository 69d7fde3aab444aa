// Reads and writes JSON text as values: None, bool, int, float, strings, arrays, and maps of strings.
#pragma once
#include <string>

#include "value/value.h"

namespace opd {

Value parse_json(std::string_view text);  // throws an error with the problem and its position
std::string json_text(const View &value, int indent = 0);

}  // namespace opd
