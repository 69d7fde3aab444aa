// Renders values as Python prints them, for relax.print and relax.assert_op.
#pragma once
#include "value/value.h"

namespace opd {

// Tensors with their elements, tuples in parentheses, text without quotes.
std::string render(const View &v);
// Python's str.format for texts: "{}", "{1}", "{{" and "}}". Throws for texts that Python refuses, and for format
// specifications.
std::string format_text(std::string_view format, std::span<const std::string> values);

}  // namespace opd
