#include "cli/tensors/tensor_make.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr int kMostNested = 16;  // nested tuples; the same limit as for results of programs

bool ends_call(std::string_view text, std::string_view name, std::string_view &inside) {
  if (!text.starts_with(name) || !text.substr(name.size()).starts_with('(') || !text.ends_with(')')) return false;
  inside = text.substr(name.size() + 1, text.size() - name.size() - 2);
  return true;
}

[[noreturn]] void fail_spec(const InputSpec &spec, std::string_view problem) {
  fail_usage(cat("input '", spec.text, "': ", problem));
}

std::optional<DLDataType> read_dtype(std::string_view text) {
  if (text.empty()) return std::nullopt;
  try {
    return opdyno::dtype_of(std::string(text));  // also accepts f32, i8 and the like
  } catch (const opdyno::Error &) { return std::nullopt; }
}

// Throws an error for an invalid type, with the probably meant one.
[[noreturn]] void fail_type(const InputSpec &spec, std::string_view type) {
  const std::string_view text = spec.text, rest = text.substr(std::min(text.size(), type.size()));
  const bool is_named = !spec.name.empty();
  const size_t last = type.rfind('x') + 1;  // 0 without an "x"
  if (access(std::string(type).c_str(), F_OK) == 0)
    fail_spec(spec, cat("'", type, "' is a file; its tensor is read by ", is_named ? spec.name + ":" : "", "@", type));
  if (read_int(type.substr(last)))
    fail_spec(spec, cat("'", type, "' has sizes but no dtype; write ", type, "xf32 for float32"));
  if (!is_named && is_word(type) && rest.starts_with('='))
    fail_spec(spec,
              cat("'", type, "' is not a type; if it is the name of a parameter, write ", type, ":",
                  rest.starts_with("=@") || rest.find('=', 1) != rest.npos ? rest.substr(1) : cat("4x8xf32", rest)));
  fail_spec(spec,
            cat("'", type,
                "' is not a type; write sizes and a dtype as 4x8xf32, a scalar as i64=7 or f64=0.5, or shape(2,3)"));
}

// "4x8xf32": sizes up to the first part that starts a dtype (a dtype may contain an x itself: int8x4).
void parse_tensor_type(InputSpec &spec, std::string_view type) {
  std::vector<Dim> dims;
  std::string_view rest = type;
  if (rest.starts_with("0dx")) rest.remove_prefix(3);
  while (!(spec.dtype = read_dtype(rest))) {
    const size_t end = rest.find('x');
    const std::string_view part = rest.substr(0, end);
    const std::optional<int64_t> size = read_int(part);
    if (end == std::string_view::npos || (!size && !is_word(part)) || (size && *size < 0)) fail_type(spec, type);
    dims.push_back(size ? Dim(*size) : Dim(std::string(part)));
    rest.remove_prefix(end + 1);
  }
  if (dims.empty() && !type.starts_with("0dx"))
    fail_spec(spec, cat("'", type, "' has no sizes; write 0dx", type,
                        " for a tensor without dimensions, or i64=, f64= or bool= for a plain number"));
  spec.dims = std::move(dims);
}

Fill parse_fill(const InputSpec &spec, std::string_view text) {
  Fill fill;
  std::string_view inside;
  if (text.starts_with('@')) {
    fill.kind = Fill::Kind::file;
    fill.file = text.substr(1);
    if (fill.file.empty()) fail_spec(spec, "a file name must follow '@'");
  } else if (text == "range") {
    fill.kind = Fill::Kind::range;
  } else if (ends_call(text, "rand", inside)) {
    const std::vector<std::string_view> ends = split(inside, ',');
    const std::optional<double> low = read_double(trim(ends[0])), high = read_double(trim(ends.back()));
    if (ends.size() != 2 || !low || !high || !(*low <= *high))
      fail_spec(spec, "rand takes two numbers, the lower first: rand(0,1)");
    fill.low = *low;
    fill.high = *high;
  } else if (text != "rand") {
    fill.kind = Fill::Kind::numbers;
    for (const std::string_view number : split(text, ',')) {
      if (!read_double(trim(number)))
        fail_spec(spec, cat("'", number,
                            "' is not a number; a tensor is filled by a number, a list as 1,2,3, rand(lo,hi), range, "
                            "@x.npy or @file.npz:key"));
      fill.numbers.emplace_back(trim(number));
    }
  }
  return fill;
}

// Parses plain values; false if `type` is another one.
bool parse_plain(InputSpec &spec, std::string_view type, std::optional<std::string_view> value) {
  const auto needs = [&](bool is_good, std::string_view example) {
    if (!is_good) fail_spec(spec, cat("write ", type, "=", example));
  };
  if (type == "i64") {
    const std::optional<int64_t> number = value ? read_int(*value) : std::nullopt;
    needs(number.has_value(), "7");
    spec.value = Value::of(*number);
  } else if (type == "f64") {
    const std::optional<double> number = value ? read_double(*value) : std::nullopt;
    needs(number.has_value(), "0.5");
    spec.value = Value::of(*number);
  } else if (type == "bool") {
    const bool is_true = value == "true" || value == "1";
    needs(is_true || value == "false" || value == "0", "true");
    spec.value = Value::of(is_true);
  } else if (type == "str") {
    spec.value = Value::of(std::string(value.value_or("")));
  } else if (type != "none" || value) {
    return false;
  }
  spec.kind = InputSpec::Kind::plain;
  return true;
}

InputSpec parse_nested(std::string_view text, int depth);

bool parse_group(InputSpec &spec, std::string_view text, int depth) {
  std::string_view inside;
  if (ends_call(text, "shape", inside)) {
    spec.kind = InputSpec::Kind::shape;
    if (trim(inside).empty()) return true;
    for (const std::string_view part : split(inside, ',')) {
      const std::optional<int64_t> size = read_int(trim(part));
      if (!size) fail_spec(spec, cat("'", part, "' is not an integer; write shape(2,3)"));
      spec.shape.push_back(*size);
    }
    return true;
  }
  if (!ends_call(text, "tuple", inside)) return false;
  spec.kind = InputSpec::Kind::tuple;
  if (trim(inside).empty()) return true;
  if (depth == kMostNested)
    fail_usage(cat("an input has tuples nested more than ", kMostNested, " deep, which no program takes"));
  for (const std::string_view part : split(inside, ';')) {
    spec.items.push_back(parse_nested(trim(part), depth + 1));
    if (!spec.items.back().name.empty()) fail_spec(spec, "the items of a tuple have no names");
  }
  return true;
}

InputSpec parse_nested(std::string_view text, int depth) {
  InputSpec spec;
  spec.text = text;
  const size_t colon = text.find(':');
  if (colon < text.find_first_of("=@(") && is_word(text.substr(0, colon))) {
    spec.name = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  if (text.starts_with('@')) {
    spec.fill = parse_fill(spec, text);
    return spec;
  }
  if (parse_group(spec, text, depth)) return spec;
  const size_t equals = text.find('=');
  const std::string_view type = text.substr(0, equals);
  const std::optional<std::string_view> value =
      equals == std::string_view::npos ? std::nullopt : std::optional(text.substr(equals + 1));
  if (parse_plain(spec, type, value)) return spec;
  parse_tensor_type(spec, type);
  if (value) spec.fill = parse_fill(spec, *value);
  return spec;
}

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

InputSpec parse_input(std::string_view text) { return parse_nested(text, 0); }

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
  const Params params = Params::load(path);
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

}  // namespace opd::cli
