// The text after -i: what an argument is and where its elements come from.
#include "input_spec.h"

#include <algorithm>

#include "failure.h"
#include "text.h"

namespace opd::cli {

namespace {

bool is_word(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && !is_digit(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || is_digit(c) || c == '.'; });
}

bool ends_call(std::string_view text, std::string_view name, std::string_view &inside) {
  if (!text.starts_with(name) || !text.substr(name.size()).starts_with('(') || !text.ends_with(')')) return false;
  inside = text.substr(name.size() + 1, text.size() - name.size() - 2);
  return true;
}

[[noreturn]] void fail_spec(const InputSpec &spec, std::string_view problem) {
  fail_usage(cat("input '", spec.text, "': ", problem));
}

std::optional<DLDataType> read_dtype(std::string_view text) {
  DLDataType dtype;
  if (text.empty()) return std::nullopt;
  opd_error *error = opd_dtype_from_string(std::string(text).c_str(), &dtype);  // knows f32, i8 and the like, too
  if (!error) return dtype;
  opd_error_release(error);
  return std::nullopt;
}

// "4x8xf32": sizes up to the first part that, with what follows it, is a dtype (which may hold an x itself: int8x4).
void parse_tensor_type(InputSpec &spec, std::string_view type) {
  std::vector<Dim> dims;
  std::string_view rest = type;
  if (rest.starts_with("0dx")) rest.remove_prefix(3);
  while (!(spec.dtype = read_dtype(rest))) {
    const size_t end = rest.find('x');
    const std::string_view part = rest.substr(0, end);
    const std::optional<int64_t> size = read_int(part);
    if (end == std::string_view::npos || (!size && !is_word(part)) || (size && *size < 0))
      fail_spec(spec,
                cat("'", type,
                    "' is no type; write sizes and a dtype as 4x8xf32, a scalar as i64=7 or f64=0.5, or shape(2,3)"));
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
                            "' is no number; a tensor is filled by a number, a list as 1,2,3, rand(lo,hi), range, "
                            "@x.npy or @file.npz:key"));
      fill.numbers.emplace_back(trim(number));
    }
  }
  return fill;
}

// Plain values; false if the type is none of theirs.
bool parse_plain(InputSpec &spec, std::string_view type, std::optional<std::string_view> value) {
  using Kind = InputSpec::Kind;
  const auto needs = [&](bool is_good, std::string_view example) {
    if (!is_good) fail_spec(spec, cat("write ", type, "=", example));
  };
  if (type == "i64") {
    const std::optional<int64_t> number = value ? read_int(*value) : std::nullopt;
    needs(number.has_value(), "7");
    spec.kind = Kind::integer;
    spec.int64 = *number;
  } else if (type == "f64") {
    const std::optional<double> number = value ? read_double(*value) : std::nullopt;
    needs(number.has_value(), "0.5");
    spec.kind = Kind::real;
    spec.float64 = *number;
  } else if (type == "bool") {
    const bool is_true = value == "true" || value == "1";
    needs(is_true || value == "false" || value == "0", "true");
    spec.kind = Kind::boolean;
    spec.int64 = is_true;
  } else if (type == "str") {
    spec.kind = Kind::string;
    spec.string = value.value_or("");
  } else if (type == "none" && !value) {
    spec.kind = Kind::none;
  } else {
    return false;
  }
  return true;
}

bool parse_group(InputSpec &spec, std::string_view text) {
  std::string_view inside;
  if (ends_call(text, "shape", inside)) {
    spec.kind = InputSpec::Kind::shape;
    if (trim(inside).empty()) return true;
    for (const std::string_view part : split(inside, ',')) {
      const std::optional<int64_t> size = read_int(trim(part));
      if (!size) fail_spec(spec, cat("'", part, "' is no integer; write shape(2,3)"));
      spec.shape.push_back(*size);
    }
    return true;
  }
  if (!ends_call(text, "tuple", inside)) return false;
  spec.kind = InputSpec::Kind::tuple;
  if (trim(inside).empty()) return true;
  for (const std::string_view part : split(inside, ';')) {
    spec.items.push_back(parse_input(trim(part)));
    if (!spec.items.back().name.empty()) fail_spec(spec, "the items of a tuple have no names");
  }
  return true;
}

}  // namespace

InputSpec parse_input(std::string_view text) {
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
  if (parse_group(spec, text)) return spec;
  const size_t equals = text.find('=');
  const std::string_view type = text.substr(0, equals);
  const std::optional<std::string_view> value =
      equals == std::string_view::npos ? std::nullopt : std::optional(text.substr(equals + 1));
  if (parse_plain(spec, type, value)) return spec;
  parse_tensor_type(spec, type);
  if (value) spec.fill = parse_fill(spec, *value);
  return spec;
}

}  // namespace opd::cli
