// The text after -i: the type of an argument and the source of its elements.
//
//     [name:]4x8xf32[=FILL]      a tensor; 0dxf32 is one without dimensions, nxf32 takes n from --dim
//     [name:]@x.npy  @f.npz:key  a tensor with the file's shape and dtype
//     [name:]i64=7  f64=0.5  bool=true  str=text  none
//     [name:]shape(2,3)
//     [name:]tuple(SPEC;SPEC)
//     FILL: rand  rand(lo,hi)  range  a number  numbers with commas between  @x.npy  @f.npz:key
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/face.h"
#include "cli/tensors/dim.h"

namespace opd::cli {

struct Fill {
  enum class Kind { random, range, numbers, file } kind = Kind::random;
  double low = 0, high = 1;          // random: [low, high) for reals, [low, high] for integers
  std::vector<std::string> numbers;  // one for all elements, or one per element
  std::string file;                  // path, or path:key
};

struct InputSpec {
  enum class Kind { tensor, plain, shape, tuple } kind = Kind::tensor;
  std::string text;  // as given, for messages
  std::string name;  // "" if positional

  std::optional<std::vector<Dim>> dims;  // tensor: as given; none for a plain file
  std::optional<DLDataType> dtype;
  Fill fill;

  Value value;  // plain: a number, a text, or none
  std::vector<int64_t> shape;
  std::vector<InputSpec> items;
};

// Fails with Exit::usage.
InputSpec parse_input(std::string_view text);

}  // namespace opd::cli
