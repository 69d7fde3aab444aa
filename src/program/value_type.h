// Types of parameters and results, inferred from the instructions. Parameter types come from the checks of parameters,
// result types from the calls that make the results.
#pragma once
#include <unordered_map>

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

// Reads the types of one program's functions. Gives up ("any") if a hostile program would take too long.
class TypeReader {
 public:
  explicit TypeReader(const Executable &executable)
      : x_(executable), budget_(4096 + 8 * static_cast<int64_t>(executable.offsets.size())) {}

  struct Types {
    std::vector<ValueType> params;
    ValueType result;
  };
  Types read(const FunctionInfo &function);

 private:
  using Args = std::span<const int64_t>;

  // value_type.cc: checks of parameters at the start of the function
  void read_check(std::string_view callee, Args args, ValueType &type) const;
  void read_dtype(Args args, size_t i, ValueType &type) const;
  void set_rank(int64_t rank, ValueType &type) const;
  ValueType::Size size_at(Args args, size_t i) const;  // reads a code and its operand
  int64_t integer(Args args, size_t i) const;          // -1 if unknown

  // result_type.cc: the types of the returned registers
  ValueType result_of(const FunctionInfo &function, const std::vector<ValueType> &params);
  ValueType of_register(int64_t reg, int depth);
  ValueType of_operand(Args args, size_t i, int depth);
  ValueType of_call(const Instruction &call, int depth);
  ValueType of_constant(int64_t index) const;

  const Executable &x_;
  const std::vector<ValueType> *params_ = nullptr;
  std::unordered_map<int64_t, std::vector<int64_t>> writes_;  // register → calls that write it
  bool resets_items_ = false;                                 // the function changes tuples
  int64_t budget_;                                            // number of values to look at, for all functions together
};

}  // namespace opd
