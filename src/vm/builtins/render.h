// Renders values as Python prints them, for relax.print and relax.assert_op.
#pragma once
#include "value/value.h"

namespace opd {

// Renders tensors with their elements, tuples in parentheses, text without quotes.
std::string render(const View &v);
// Formats texts like Python's str.format: "{}", "{1}", "{{" and "}}". Throws for formats that Python refuses, and for
// format specifications.
std::string format_text(std::string_view format, std::span<const std::string> values);

}  // namespace opd
