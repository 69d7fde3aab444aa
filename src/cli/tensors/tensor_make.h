// Inputs of a call. The text after -i has the type of an argument and the source of its elements. The tensors made of
// it are random, counted, filled with given numbers, or read from a file. The syntax of the text:
//
//     [name:]4x8xf32[=FILL]      a tensor; 0dxf32 is one without dimensions, nxf32 takes n from --dim
//     [name:]@x.npy  @f.npz:key  a tensor with the file's shape and dtype
//     [name:]i64=7  f64=0.5  bool=true  str=text  none
//     [name:]shape(2,3)
//     [name:]tuple(SPEC;SPEC)
//     FILL: rand  rand(lo,hi)  range  a number  numbers with commas between  @x.npy  @f.npz:key
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/face.h"
#include "cli/tensors/element.h"

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

// Random numbers that are the same on every machine: integers only, until one exact conversion at the end. The
// generator is SplitMix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  // `stream` separates the arguments of one seed, so that the numbers of one do not depend on the others.
  Random(uint64_t seed, uint64_t stream) : state_(seed) { state_ = next() ^ (stream * 0xd1342543de82ef95); }

  uint64_t next() {
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }

  // Uniform in [low, high). The build disables fused multiply-add, which would round differently.
  double real(double low, double high) {
    const double unit = static_cast<double>(next() >> 11) * 0x1p-53;
    const double number = low + unit * (high - low);
    return number < high ? number : low;
  }

  // Uniform in [low, high].
  int64_t integer(int64_t low, int64_t high) {
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;  // 0: all 2^64
    if (span == 0) return static_cast<int64_t>(next());
    const uint64_t limit = UINT64_MAX - UINT64_MAX % span;
    uint64_t number = next();
    while (number >= limit) number = next();
    return static_cast<int64_t>(static_cast<uint64_t>(low) + number % span);
  }

 private:
  uint64_t state_;
};

// Settings for making tensors.
struct TensorMaker {
  uint64_t seed = 0;
  DLDevice device = {kDLCPU, 0};

  // `what` names the input in messages; `stream` separates its random numbers from those of other inputs.
  Tensor make(const std::vector<int64_t> &dims, DLDataType dtype, const Fill &fill, std::string_view what,
              uint64_t stream) const;
  // The file's tensor as it is.
  Tensor read(const std::string &file, std::string_view what) const;
  Tensor to_device(Tensor tensor) const;
};

// A tensor that the CPU can read: `tensor` itself, or a copy.
Tensor to_cpu(const Tensor &tensor);

// Returns the same bytes under another dtype of that size. NumPy's files hold bfloat16 and float8 as unsigned integers.
Tensor reinterpret(const Tensor &tensor, DLDataType dtype);
bool is_stored_as(DLDataType stored, DLDataType dtype);

// "path:key". A path may contain colons itself, so the shortest prefix that is a file is the path.
struct FileKey {
  std::string path;
  std::optional<std::string> key;
  explicit FileKey(const std::string &text);
};

}  // namespace opd::cli
