#include "cli/tensors/element.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cli/support/failure.h"

namespace opd::cli {

namespace {

// ---- float16 and bfloat16 to and from float, rounding to nearest even

float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t float_to_bfloat16(float number) {
  const uint32_t bits = std::bit_cast<uint32_t>(number);
  if (number != number) return static_cast<uint16_t>(bits >> 16 | 0x40);  // a NaN must not become infinity
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // subnormal; exact
  return sign ? -magnitude : magnitude;
}

uint16_t float_to_half(float number) {
  const uint32_t bits = std::bit_cast<uint32_t>(number);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);   // NaN
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // from 65520 on: infinity
  if (magnitude < 0x38800000) {                                              // below 2^-14: subnormal
    // Adding 0.5 moves the unit 2^-24 to the float's last bit, so the addition rounds to it.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

// ---- elements

template <class T>
T load(const void *data, size_t index) {
  T element;  // files and views may be unaligned
  std::memcpy(&element, static_cast<const char *>(data) + index * sizeof(T), sizeof(T));
  return element;
}

template <class T>
void store(void *data, size_t index, T element) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &element, sizeof(T));
}

std::optional<Scalar> find_scalar(DLDataType dtype) {
  using Kind = Scalar::Kind;
  const int lanes = dtype.lanes;
  const bool whole = dtype.bits == 8 || dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
  const int bytes = dtype.bits / 8;
  const bool is_bool = (dtype.code == kDLBool && dtype.bits == 8) || (dtype.code == kDLUInt && dtype.bits == 1);
  if (is_bool) return Scalar{Kind::boolean, 1, lanes};
  if (dtype.code == kDLInt && whole) return Scalar{Kind::integer, bytes, lanes};
  if (dtype.code == kDLUInt && whole) return Scalar{Kind::natural, bytes, lanes};
  if (dtype.code == kDLFloat && dtype.bits == 16) return Scalar{Kind::half, 2, lanes};
  if (dtype.code == kDLFloat && whole && bytes >= 4) return Scalar{Kind::real, bytes, lanes};
  if (dtype.code == kDLBfloat && dtype.bits == 16) return Scalar{Kind::bfloat, 2, lanes};
  if (dtype.code == kDLComplex && (dtype.bits == 64 || dtype.bits == 128))
    return Scalar{Kind::real, bytes / 2, 2 * lanes};
  return std::nullopt;
}

template <class Use>
auto with_integer_type(Scalar scalar, Use use) {
  const bool is_signed = scalar.kind == Scalar::Kind::integer;
  if (scalar.bytes == 1) return is_signed ? use(int8_t{}) : use(uint8_t{});
  if (scalar.bytes == 2) return is_signed ? use(int16_t{}) : use(uint16_t{});
  if (scalar.bytes == 4) return is_signed ? use(int32_t{}) : use(uint32_t{});
  return is_signed ? use(int64_t{}) : use(uint64_t{});
}

constexpr size_t full_limit = 1000;  // elements
constexpr int64_t edge = 3;          // places shown at each end of a long dimension
constexpr int short_digits = 6;

class Printer {
 public:
  Printer(const DLTensor &view, bool full)
      : view_(view),
        data_(data_of(view)),
        scalar_(scalar_of(view.dtype, "printing")),
        cuts_(!full && element_count(view) > full_limit),
        digits_(full ? 0 : short_digits) {}

  std::string print() {
    if (element_count(view_) == 0) return "[]";
    print_level(0, 0);  // finds the width
    out_.clear();
    print_level(0, 0);
    return std::move(out_);
  }

 private:
  // The indices shown along a dimension; -1 stands for the omitted ones.
  std::vector<int64_t> places(int level) const {
    const int64_t size = view_.shape[level];
    std::vector<int64_t> shown;
    for (int64_t i = 0; i < size; ++i) {
      if (cuts_ && size > 2 * edge && i == edge) {
        shown.push_back(-1);
        i = size - edge;
      }
      shown.push_back(i);
    }
    return shown;
  }

  std::string element(size_t index) const {
    std::vector<std::string> numbers;
    const auto count = static_cast<size_t>(scalar_.per_element);
    for (size_t i = 0; i < count; ++i) numbers.push_back(print_scalar(data_, index * count + i, scalar_, digits_));
    return count == 1 ? numbers[0] : cat("(", join(numbers, " "), ")");
  }

  void print_level(int level, size_t index) {
    if (level == view_.ndim) {
      const std::string text = element(index);
      width_ = std::max(width_, text.size());
      out_ += pad_left(text, width_);
      return;
    }
    const bool is_row = level + 1 == view_.ndim;
    const std::string between = is_row ? " "
                                       : cat(std::string(static_cast<size_t>(view_.ndim - level - 1), '\n'),
                                             std::string(static_cast<size_t>(level) + 1, ' '));
    out_ += '[';
    bool is_first = true;
    for (const int64_t place : places(level)) {
      if (!is_first) out_ += between;
      is_first = false;
      if (place < 0) out_ += "...";
      else print_level(level + 1, index * static_cast<size_t>(view_.shape[level]) + static_cast<size_t>(place));
    }
    out_ += ']';
  }

  const DLTensor &view_;
  const void *data_;
  Scalar scalar_;
  bool cuts_;
  int digits_;
  size_t width_ = 0;
  std::string out_;
};

}  // namespace

bool has_scalars(DLDataType dtype) { return find_scalar(dtype).has_value(); }

Scalar scalar_of(DLDataType dtype, std::string_view what) {
  const std::optional<Scalar> scalar = find_scalar(dtype);
  if (!scalar)
    throw Failure(Exit::failed,
                  cat(what, ": elements of dtype ", opdyno::to_string(dtype), " cannot be read or made here"));
  return *scalar;
}

long double read_scalar(const void *data, size_t index, Scalar scalar) {
  using Kind = Scalar::Kind;
  if (scalar.kind == Kind::boolean) return load<uint8_t>(data, index) != 0;
  if (scalar.kind == Kind::half) return half_to_float(load<uint16_t>(data, index));
  if (scalar.kind == Kind::bfloat) return bfloat16_to_float(load<uint16_t>(data, index));
  if (scalar.kind == Kind::real)
    return scalar.bytes == 4 ? static_cast<double>(load<float>(data, index)) : load<double>(data, index);
  return with_integer_type(scalar, [&]<class T>(T) { return static_cast<long double>(load<T>(data, index)); });
}

void write_scalar(void *data, size_t index, Scalar scalar, double number) {
  using Kind = Scalar::Kind;
  const auto real = static_cast<float>(number);
  if (scalar.kind == Kind::boolean) return store<uint8_t>(data, index, number != 0);
  if (scalar.kind == Kind::half) return store(data, index, float_to_half(real));
  if (scalar.kind == Kind::bfloat) return store(data, index, float_to_bfloat16(real));
  if (scalar.kind == Kind::real) return scalar.bytes == 4 ? store(data, index, real) : store(data, index, number);
  write_integer(data, index, scalar, static_cast<int64_t>(number));
}

void write_integer(void *data, size_t index, Scalar scalar, int64_t number) {
  if (scalar.kind == Scalar::Kind::boolean) return store<uint8_t>(data, index, number != 0);
  with_integer_type(scalar, [&]<class T>(T) { store(data, index, static_cast<T>(number)); });
}

std::string print_scalar(const void *data, size_t index, Scalar scalar, int digits) {
  using Kind = Scalar::Kind;
  if (scalar.kind == Kind::boolean) return load<uint8_t>(data, index) ? "true" : "false";
  if (!scalar.is_real()) return with_integer_type(scalar, [&]<class T>(T) { return cat(+load<T>(data, index)); });
  if (digits) return significant(static_cast<double>(read_scalar(data, index, scalar)), digits);
  if (scalar.bytes < 8) return cat(static_cast<float>(read_scalar(data, index, scalar)));
  return cat(static_cast<double>(read_scalar(data, index, scalar)));
}

void *data_of(const DLTensor &view) { return static_cast<char *>(view.data) + view.byte_offset; }

size_t element_count(const DLTensor &view) {
  size_t count = 1;
  for (int i = 0; i < view.ndim; ++i) count *= static_cast<size_t>(view.shape[i]);
  return count;
}

std::string tensor_text(const Tensor &tensor, bool full) {
  const DLTensor &view = tensor.view();
  return has_scalars(view.dtype) ? Printer(view, full).print() : "";
}

std::string tensor_type(const Tensor &tensor) {
  const DLTensor &view = tensor.view();
  return cat(opdyno::to_string(view.dtype), dims_text(view.shape, view.ndim));
}

}  // namespace opd::cli
