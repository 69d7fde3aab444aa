// Converts between packed values and C values. Nothing is truncated: if a value does not fit, the error names its
// place.
#pragma once
#include "call/prepared_call.h"
#include "value/value.h"

namespace opd {

// A value's place for messages, such as "args[1] of pow", "args[0][2] of f", "the result of f".
struct Place {
  std::string_view function;
  size_t index;
  const Place *outer = nullptr;  // the struct that contains this field
  bool is_result = false;

  std::string text() const;
};

inline constexpr size_t kShortText = 8;  // bytes of a small string's copy

// Writes `value` as the C value of `layout` to `to`. `texts` has kShortText bytes for each str of the layout. Small
// strings are copied there, because C needs a NUL at the end, and `texts` is advanced.
void store(const CLayout &layout, const View &value, char *to, char *&texts, const Place &place);
size_t text_count(const CLayout &layout);

// Reads a C value. If `borrow`, strings are views of C's memory; otherwise they are copied. Tensors are always views.
Value load(const CLayout &layout, const char *from, bool borrow, const Place &place);

// Returns the C type of a value that follows the fixed arguments of a variadic function.
const CLayout &variadic_layout(const View &value, const Place &place);

}  // namespace opd
