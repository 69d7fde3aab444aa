// Makes tensors for inputs: random, counted, with given numbers, or from a file.
#include "cli/tensors/tensor_make.h"

#include <unistd.h>

#include <charconv>
#include <cmath>

#include "cli/support/failure.h"
#include "cli/support/text.h"
#include "cli/tensors/dim.h"
#include "cli/tensors/element.h"

namespace opd::cli {

namespace {

constexpr DLDevice cpu = {kDLCPU, 0};

Tensor move_to(Tensor tensor, DLDevice device) {
  const DLTensor &from = tensor.view();
  if (from.device.device_type == device.device_type && from.device.device_id == device.device_id) return tensor;
  const Tensor moved(tensor.shape(), from.dtype, device);
  moved.copy_from(from);
  return moved;
}

// Writes one number; an integer that does not fit is an error.
void write_number(void *data, size_t index, Scalar scalar, const std::string &number, std::string_view what) {
  const std::optional<int64_t> integer = read_int(number);
  const double real = *read_double(number);
  if (scalar.is_real()) return write_scalar(data, index, scalar, real);
  uint64_t natural = 0;  // numbers of uint64 may exceed an int64
  const char *const end = number.data() + number.size();
  if (const auto [stop, error] = std::from_chars(number.data(), end, natural);
      !integer && error == std::errc() && stop == end && scalar.kind == Scalar::Kind::natural && scalar.bytes == 8)
    return write_integer(data, index, scalar, static_cast<int64_t>(natural));
  if (integer) write_integer(data, index, scalar, *integer);
  if (!integer || read_scalar(data, index, scalar) != static_cast<long double>(*integer))
    fail_usage(cat(what, ": ", number, " does not fit the elements' dtype"));
}

void fill_random(void *data, size_t count, Scalar scalar, const Fill &fill, Random random, std::string_view what) {
  if (scalar.is_real()) {
    for (size_t i = 0; i < count; ++i) write_scalar(data, i, scalar, random.real(fill.low, fill.high));
    return;
  }
  const double low = std::ceil(fill.low), high = std::floor(fill.high);
  if (low > high) fail_usage(cat(what, ": no integer lies between ", fill.low, " and ", fill.high));
  uint64_t probe = 0;
  for (const double bound : {low, high}) {
    const bool is_int64 = bound >= -0x1p63 && bound < 0x1p63;
    write_number(&probe, 0, scalar, is_int64 ? cat(static_cast<int64_t>(bound)) : fixed(bound, 0), what);
  }
  for (size_t i = 0; i < count; ++i)
    write_integer(data, i, scalar, random.integer(static_cast<int64_t>(low), static_cast<int64_t>(high)));
}

void fill_numbers(void *data, size_t count, Scalar scalar, const Fill &fill, std::string_view what) {
  const size_t given = fill.numbers.size();
  if (given != 1 && given != count) fail_usage(cat(what, ": ", given, " numbers are given for ", count, " elements"));
  for (size_t i = 0; i < count; ++i) write_number(data, i, scalar, fill.numbers[given == 1 ? 0 : i], what);
}

}  // namespace

Tensor TensorMaker::make(const std::vector<int64_t> &dims, DLDataType dtype, const Fill &fill, std::string_view what,
                         uint64_t stream) const {
  if (fill.kind == Fill::Kind::file) {
    Tensor tensor = read(fill.file, what);
    if (is_stored_as(tensor.dtype(), dtype)) tensor = reinterpret(tensor, dtype);
    const DLTensor &view = tensor.view();
    const std::string wanted = cat(opdyno::to_string(dtype), dims_text(dims.data(), static_cast<int>(dims.size())));
    const std::string found = cat(opdyno::to_string(view.dtype), dims_text(view.shape, view.ndim));
    if (found != wanted) fail_usage(cat(what, ": ", fill.file, " holds ", found, ", not ", wanted));
    return to_device(std::move(tensor));
  }
  const Scalar scalar = scalar_of(dtype, what);
  Tensor tensor(dims, dtype);
  const DLTensor &view = tensor.view();
  void *const data = data_of(view);
  const size_t count = element_count(view) * static_cast<size_t>(scalar.per_element);
  if (fill.kind == Fill::Kind::random) fill_random(data, count, scalar, fill, Random(seed, stream), what);
  if (fill.kind == Fill::Kind::numbers) fill_numbers(data, count, scalar, fill, what);
  if (fill.kind == Fill::Kind::range)
    for (size_t i = 0; i < count; ++i) write_scalar(data, i, scalar, static_cast<double>(i));
  return to_device(std::move(tensor));
}

Tensor TensorMaker::read(const std::string &file, std::string_view what) const {
  const auto [path, key] = FileKey(file);
  const Params params = load_params(path);
  if (key)
    return attempt(Exit::usage, cat(what, ": ", path),
                   [&, &wanted = *key] { return params.get_tensor(wanted.c_str()); });
  const size_t count = params.size();
  if (count != 1) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.emplace_back(params.name(i));
    fail_usage(
        cat(what, ": ", path, " holds ", count, " tensors; name one as @", path, ":KEY (", join(names, ", "), ")"));
  }
  return attempt(Exit::failed, path, [&] { return params.get_tensor(params.name(0)); });
}

Tensor TensorMaker::to_device(Tensor tensor) const { return move_to(std::move(tensor), device); }

Tensor to_cpu(const Tensor &tensor) {
  if (tensor.is_contiguous()) return move_to(tensor, cpu);
  const Tensor compact(tensor.shape(), tensor.dtype(), tensor.view().device);
  compact.copy_from(tensor);
  return move_to(compact, cpu);
}

Tensor reinterpret(const Tensor &tensor, DLDataType dtype) {
  const DLTensor &view = tensor.view();
  Tensor out(tensor.shape(), dtype);
  if (const uint64_t size = tensor.bytes()) out.copy_from_bytes(data_of(view), size);
  return out;
}

bool is_stored_as(DLDataType stored, DLDataType dtype) {
  const bool is_foreign = dtype.code == kDLBfloat || dtype.code >= kDLFloat8_e3m4;
  return stored.code == kDLUInt && is_foreign && stored.bits == dtype.bits && stored.lanes == dtype.lanes;
}

FileKey::FileKey(const std::string &text) : path(text) {
  const auto is_file = [](const std::string &name) { return access(name.c_str(), F_OK) == 0; };
  if (is_file(text)) return;
  size_t colon = text.find(':');
  while (colon != std::string::npos && !is_file(text.substr(0, colon))) colon = text.find(':', colon + 1);
  if (colon == std::string::npos) colon = text.find(':');  // no such file: the message will name it
  if (colon == std::string::npos) return;
  path.resize(colon);
  key = text.substr(colon + 1);
}

Params load_params(const std::string &path) { return Params::load(path); }

}  // namespace opd::cli
