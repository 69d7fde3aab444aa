// Types of parameters and results, inferred from the instructions. Parameter types come from the checks of parameters,
// result types from the calls that make the results.
#pragma once
#include "program/executable.h"

namespace opd {

struct ValueType {
  struct Size {
    enum Kind { kUnknown, kFixed, kSlot } kind = kUnknown;  // kSlot: the value in a slot of the shape heap
    int64_t value = 0;
    bool operator==(const Size &) const = default;
  };

  std::string_view kind = "any";  // as in JSON: tensor, shape, tuple, int, float, string, dtype, function, none, any
  std::string dtype;
  bool has_shape = false, has_items = false;
  std::vector<Size> sizes;
  Size number;                   // for an int that is a size
  std::vector<ValueType> items;  // for a tuple
  bool operator==(const ValueType &) const = default;
};

struct FunctionTypes {
  std::vector<ValueType> params;
  ValueType result;
};

// Gives up ("any") if a hostile program would take too long. Packed functions have no types.
std::vector<FunctionTypes> types_of(const Executable &executable, std::span<const FunctionInfo> functions);

const char *constant_kind(const View &constant);  // a kind as in ValueType::kind

}  // namespace opd
