// Values as Python prints them: what relax.print and relax.assert_op make of their arguments.
#pragma once
#include "value/value.h"

namespace opd {

// Tensors with their elements, tuples in parentheses, text without quotes.
std::string render(const View &v);
// Python's str.format for texts: "{}", "{1}", "{{" and "}}". Throws for what Python refuses, and for format
// specifications.
std::string format_text(std::string_view format, std::span<const std::string> values);

}  // namespace opd
