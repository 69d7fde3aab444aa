// Reads, writes and prints tensors and their elements as numbers, for every dtype that the program can show.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cli/support/face.h"
#include "cli/support/text.h"

namespace opd::cli {

// A size of a tensor: a number, or a name whose number comes from --dim or another argument.
using Dim = std::variant<int64_t, std::string>;
using DimValues = std::map<std::string, int64_t, std::less<>>;

inline std::string dims_text(const std::vector<Dim> &dims) {
  const auto text = [](const Dim &dim) { return std::visit([](const auto &size) { return cat(size); }, dim); };
  return cat("[", join(mapped(dims, text), ", "), "]");
}

inline std::string dims_text(const int64_t *dims, int ndim) { return dims_text(std::vector<Dim>(dims, dims + ndim)); }

// One number of a tensor: an element, a lane of a vector element, or half of a complex one.
struct Scalar {
  enum class Kind { integer, natural, boolean, real, half, bfloat } kind;
  int bytes;
  int per_element;
  bool is_real() const { return kind >= Kind::real; }
};

// Fails with Exit::failed for dtypes without numbers or whole bytes (int4, float8 …).
Scalar scalar_of(DLDataType dtype, std::string_view what);
bool has_scalars(DLDataType dtype);

// Reads a number of any kind exactly: long double has the 64 bits of the widest integers.
long double read_scalar(const void *data, size_t index, Scalar scalar);
void write_scalar(void *data, size_t index, Scalar scalar, double number);
void write_integer(void *data, size_t index, Scalar scalar, int64_t number);  // exact; for integer kinds
std::string print_scalar(const void *data, size_t index, Scalar scalar, int digits);

// The first element of a CPU tensor.
void *data_of(const DLTensor &view);
size_t element_count(const DLTensor &view);

// Rows of aligned numbers. `tensor` must be on the CPU. With `full` every element is shown. Otherwise a tensor of more
// than 1000 elements shows the first and last three of each dimension. A dtype without numbers gives "".
std::string tensor_text(const Tensor &tensor, bool full);

// "float32[2, 3]".
std::string tensor_type(const Tensor &tensor);

}  // namespace opd::cli
