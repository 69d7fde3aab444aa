// Reads, writes and prints elements of tensors as numbers, for every dtype that the program can show.
#include "cli/tensors/element.h"

#include <cstring>

#include "cli/support/failure.h"
#include "cli/support/text.h"
#include "cli/tensors/half.h"

namespace opd::cli {

namespace {

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
  switch (dtype.code) {
    case kDLInt:
      if (whole) return Scalar{Kind::integer, bytes, lanes};
      break;
    case kDLUInt:
      if (dtype.bits == 1) return Scalar{Kind::boolean, 1, lanes};
      if (whole) return Scalar{Kind::natural, bytes, lanes};
      break;
    case kDLBool:
      if (dtype.bits == 8) return Scalar{Kind::boolean, 1, lanes};
      break;
    case kDLFloat:
      if (dtype.bits == 16) return Scalar{Kind::half, 2, lanes};
      if (bytes == 4 || bytes == 8) return Scalar{Kind::real, bytes, lanes};
      break;
    case kDLBfloat:
      if (dtype.bits == 16) return Scalar{Kind::bfloat, 2, lanes};
      break;
    case kDLComplex:
      if (dtype.bits == 64 || dtype.bits == 128) return Scalar{Kind::real, bytes / 2, 2 * lanes};
      break;
    default:
      break;
  }
  return std::nullopt;
}

template <class Use>
auto with_integer_type(Scalar scalar, Use use) {
  const bool is_signed = scalar.kind == Scalar::Kind::integer;
  switch (scalar.bytes) {
    case 1:
      return is_signed ? use(int8_t{}) : use(uint8_t{});
    case 2:
      return is_signed ? use(int16_t{}) : use(uint16_t{});
    case 4:
      return is_signed ? use(int32_t{}) : use(uint32_t{});
    default:
      return is_signed ? use(int64_t{}) : use(uint64_t{});
  }
}

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
  switch (scalar.kind) {
    case Kind::boolean:
      return load<uint8_t>(data, index) != 0;
    case Kind::half:
      return half_to_float(load<uint16_t>(data, index));
    case Kind::bfloat:
      return bfloat16_to_float(load<uint16_t>(data, index));
    case Kind::real:
      return scalar.bytes == 4 ? static_cast<double>(load<float>(data, index)) : load<double>(data, index);
    default:
      return with_integer_type(
          scalar, [&]<class T>(T) -> long double { return static_cast<long double>(load<T>(data, index)); });
  }
}

void write_scalar(void *data, size_t index, Scalar scalar, double number) {
  using Kind = Scalar::Kind;
  switch (scalar.kind) {
    case Kind::boolean:
      return store<uint8_t>(data, index, number != 0);
    case Kind::half:
      return store(data, index, float_to_half(static_cast<float>(number)));
    case Kind::bfloat:
      return store(data, index, float_to_bfloat16(static_cast<float>(number)));
    case Kind::real:
      return scalar.bytes == 4 ? store(data, index, static_cast<float>(number)) : store(data, index, number);
    default:
      return write_integer(data, index, scalar, static_cast<int64_t>(number));
  }
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

}  // namespace opd::cli
