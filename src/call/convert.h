// Between packed values and C values. Nothing is truncated: what does not fit is an error that names the place.
#pragma once
#include "call/prepared_call.h"
#include "value/value.h"

namespace opd {

// Where a value stands, for messages: "args[1] of pow", "args[0][2] of f", "the result of f".
struct Place {
  std::string_view function;
  size_t index;
  const Place *outer = nullptr;  // the struct that this is a field of
  bool is_result = false;

  std::string text() const;
};

inline constexpr size_t kShortText = 8;  // bytes that a small string needs beside its pointer

// Writes `value` as the C value of `layout` to `to`. `texts` has kShortText bytes for each str of the layout and is
// moved past those used: small strings are copied there, since what C gets must end with a NUL.
void store(const CLayout &layout, const View &value, char *to, char *&texts, const Place &place);
size_t text_count(const CLayout &layout);

// Reads a C value. `borrow`: strings and tensors stay views of what C gave; else strings are copied.
Value load(const CLayout &layout, const char *from, bool borrow, const Place &place);

// The C type that carries a value after the fixed arguments of a variadic function.
const CLayout &variadic_layout(const View &value, const Place &place);

}  // namespace opd
