// Estimates the arithmetic operations and the bytes of an operator from its name and the shapes of its tensors.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "report/report.h"
#include "value/dtype.h"
#include "value/function.h"
#include "value/tvm_names.h"

namespace opd {
namespace {

constexpr double kMost = 0x1p63;  // a report's counts must be less

struct TensorShape {
  double item_bytes = 0;
  std::vector<double> dims;
  double size() const {
    double elements = 1;
    for (const double dim : dims) elements *= dim;
    return elements;
  }
};
using Shapes = std::vector<TensorShape>;

Shapes parse(std::string_view text) {
  Shapes shapes;
  while (!text.empty()) {
    const ShapeText part = take_shape(text);
    TensorShape shape;
    try {
      const DLDataType dtype = parse_dtype(part.dtype);
      shape.item_bytes = dtype.bits * dtype.lanes / 8.0;
    } catch (const Exception &) {}  // the report may come from elsewhere
    for (std::string_view rest = part.dims; !rest.empty();) {
      const size_t digit = rest.find_first_of("0123456789");
      if (digit == std::string_view::npos) break;
      if (digit > 0 && rest[digit - 1] == '-') return {};  // not a shape
      double dim = 0;
      const auto [end, error] = std::from_chars(rest.data() + digit, rest.data() + rest.size(), dim);
      if (error != std::errc()) break;
      shape.dims.push_back(dim);
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

// 2·m·n·k. k is the last dimension of the first argument, or its second-last if the second argument has no such
// dimension.
std::optional<double> matmul(const Shapes &s) {
  if (s.size() < 3 || s[0].dims.empty() || s[1].dims.empty()) return std::nullopt;
  const std::vector<double> &a = s[0].dims;
  const bool has_last = std::ranges::find(s[1].dims, a.back()) != s[1].dims.end();
  const double inner = has_last || a.size() < 2 ? a.back() : a[a.size() - 2];
  return 2 * s.back().size() * inner;
}

// The output channels are the first or last dimension of the weights, whichever the result also has.
std::optional<double> convolution(const Shapes &s) {
  if (s.size() < 3 || s[1].dims.size() < 3 || s.back().dims.size() != s[1].dims.size()) return std::nullopt;
  const std::vector<double> &weights = s[1].dims, &result = s.back().dims;
  const double channels = weights[0] == result[1] || weights.back() != result.back() ? weights[0] : weights.back();
  return channels > 0 ? std::optional(2 * s.back().size() * (s[1].size() / channels)) : std::nullopt;
}

// Every input element is multiplied by all weights of its channel.
std::optional<double> transposed_convolution(const Shapes &s) {
  if (s.size() < 3 || s[1].dims.size() < 3 || s[1].dims[0] <= 0) return std::nullopt;
  return 2 * s[0].size() * (s[1].size() / s[1].dims[0]);
}

struct Word {
  std::string_view word;
  double each;     // operations
  bool of_result;  // true: for each element of the result; false: for each element of the largest tensor
};
constexpr Word kWords[] = {
    {"add", 1, true},     {"subtract", 1, true}, {"sub", 1, true},      {"multiply", 1, true},  {"mul", 1, true},
    {"divide", 1, true},  {"div", 1, true},      {"maximum", 1, true},  {"minimum", 1, true},   {"power", 1, true},
    {"relu", 1, true},    {"clip", 2, true},     {"negative", 1, true}, {"abs", 1, true},       {"sqrt", 1, true},
    {"rsqrt", 2, true},   {"exp", 1, true},      {"log", 1, true},      {"tanh", 1, true},      {"erf", 1, true},
    {"sigmoid", 3, true}, {"silu", 4, true},     {"gelu", 5, true},     {"leaky", 1, true},     {"softmax", 4, true},
    {"norm", 5, true},    {"bias", 1, true},     {"square", 1, true},   {"sum", 1, false},      {"mean", 1, false},
    {"max", 1, false},    {"min", 1, false},     {"prod", 1, false},    {"variance", 3, false}, {"pool", 1, false},
    {"pool1d", 1, false}, {"pool2d", 1, false},  {"pool3d", 1, false},  {"argmax", 1, false},   {"argmin", 1, false},
    {"cumsum", 1, true},
};
constexpr std::string_view kMoves[] = {  // operators without arithmetic
    "transpose", "reshape", "concatenate", "split", "take",  "gather",  "cast",     "copy",
    "pad",       "flatten", "expand",      "dims",  "slice", "squeeze", "broadcast"};

std::string_view without_digits(std::string_view text) {
  while (!text.empty() && text.back() >= '0' && text.back() <= '9') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('_', at), name.size());
    const std::string_view word = name.substr(at, end - at);
    // "conv2d1" is the second "conv2d"; names like "conv2d" and "pool2d" end with a letter.
    if (!word.empty()) words.push_back(without_digits(word));
    at = end + 1;
  }
  return words;
}

bool is_contraction(std::string_view word) {
  return word == "matmul" || word == "dense" || word == "gemm" || word == "linear" || word == "bmm";
}
bool is_convolution(std::string_view word) { return word == "conv1d" || word == "conv2d" || word == "conv3d"; }

std::optional<double> flop_of(std::string_view name, const Shapes &shapes) {
  if (shapes.empty()) return std::nullopt;
  const std::vector<std::string_view> words = words_of(name);
  double largest = 0, sum = 0;
  for (const TensorShape &shape : shapes) largest = std::max(largest, shape.size());
  bool known = false;
  for (size_t i = 0; i < words.size(); ++i) {
    std::optional<double> more;
    if (is_contraction(words[i])) more = matmul(shapes);
    else if (is_convolution(words[i]))
      more = i + 1 < words.size() && words[i + 1] == "transpose" ? transposed_convolution(shapes) : convolution(shapes);
    for (const Word &each : kWords)
      if (words[i] == each.word) more = each.each * (each.of_result ? shapes.back().size() : largest);
    if (std::ranges::find(kMoves, words[i]) != std::end(kMoves)) more = more.value_or(0);
    if (!more) continue;
    known = true;
    sum += *more;
  }
  return known ? std::optional(sum) : std::nullopt;
}

}  // namespace

OperatorCost operator_cost(std::string_view name, std::string_view shapes) {
  OperatorCost cost;
  if (name.starts_with(kBuiltinPrefix)) return cost;  // builtins read no elements
  const Shapes parsed = parse(shapes);
  for (const TensorShape &shape : parsed) cost.bytes += shape.size() * shape.item_bytes;
  if (const Ref<Function> own = find_function(concat("opdyno.flop.", without_digits(name)))) {
    const std::string text(shapes);
    const View args[] = {opd_cstring(text.c_str())};
    const Value result = call(*own, args);
    cost.flop = as_float(result.view(), "the number of operations");
  } else {
    cost.flop = flop_of(name, parsed);
  }
  if (!(cost.bytes < kMost)) cost.bytes = 0;
  if (cost.flop && !(std::abs(*cost.flop) < kMost)) cost.flop.reset();
  return cost;
}

}  // namespace opd
