#include "vm/builtins/render.h"

#include <charconv>
#include <cmath>

#include "params/params.h"
#include "value/number_blocks.h"

namespace opd {
namespace {

constexpr int64_t kEdge = 3;              // elements shown at each end of an axis that is abbreviated
constexpr uint64_t kMostElements = 1000;  // numpy's threshold
constexpr int kMaxDepth = 32;
constexpr size_t kMaxSize = 1 << 20;  // bytes. Nested tuples may share items, so few objects could give endless text.

void append_real(std::string &out, auto number) {
  if (std::isnan(number)) return append(out, "nan");
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_element(std::string &out, DLDataType dtype, const char *at) {
  if (!has_numbers(dtype) || dtype.code == kDLComplex) return append(out, "?");
  if (is_real(dtype)) {
    double number = 0;
    read_numbers(at, dtype, 0, 1, &number);
    return dtype.bits == 64 ? append_real(out, number) : append_real(out, static_cast<float>(number));
  }
  long double number = 0;
  read_integers(at, dtype, 0, 1, &number);
  if (dtype.code == kDLBool) return append(out, number != 0 ? "True" : "False");
  if (dtype.code == kDLUInt) return append(out, static_cast<uint64_t>(number));
  append(out, static_cast<int64_t>(number));
}

// Writes one axis of a compact tensor; each line of an inner axis starts on a new line.
void append_axis(std::string &out, const DLTensor &t, int32_t axis, uint64_t count, const char *at, bool cut) {
  if (axis == t.ndim) return append_element(out, t.dtype, at);
  const int64_t size = t.shape[axis];
  const uint64_t below = size ? count / static_cast<uint64_t>(size) : 0;
  out += '[';
  for (int64_t i = 0; i < size; ++i) {
    if (i) {
      if (axis + 1 == t.ndim) out += ' ';
      else out.append(1, '\n').append(static_cast<size_t>(axis) + 1, ' ');
    }
    if (cut && size > 2 * kEdge && i == kEdge) {
      out += "...";
      i = size - kEdge - 1;
      continue;
    }
    append_axis(out, t, axis + 1, below, at + static_cast<uint64_t>(i) * below * (t.dtype.bits / 8), cut);
  }
  out += ']';
}

std::string render_tensor(const View &v) {
  const DLTensor &given = as_dltensor(v, "tensor");
  const uint64_t bytes = bytes_of(given);
  if (v.type != OPD_TENSOR && !(given.device.device_type == kDLCPU && is_contiguous(given))) return to_text(v);
  if (bytes == 0 || given.dtype.lanes != 1 || given.dtype.bits % 8) return to_text(v);
  const auto tensor = v.type == OPD_TENSOR ? on_host(Ref<Tensor>::share(&as<Tensor>(v, "tensor"))) : nullptr;
  const DLTensor &t = tensor ? tensor->dl : given;
  std::string out;
  const uint64_t count = bytes / (t.dtype.bits / 8);
  append_axis(out, t, 0, count, data_of(t), count > kMostElements);
  return out;
}

void append_value(std::string &out, const View &v, int depth) {
  if (try_dltensor(v)) return append(out, render_tensor(v));
  if (is_text(v)) return append(out, as_text(v, "text"));
  if (v.type == OPD_BOOL) return append(out, v.u.int64 ? "True" : "False");
  const auto *array = try_as<Array>(v);
  if (!array) return append(out, to_text(v));
  if (depth == kMaxDepth || out.size() > kMaxSize) return append(out, "(...)");
  out += '(';
  for (size_t i = 0; i < array->size(); ++i) {
    if (i) out += ", ";
    append_value(out, array->items()[i], depth + 1);
  }
  out += ')';
}

}  // namespace

std::string render(const View &v) {
  std::string out;
  append_value(out, v, 0);
  return out;
}

std::string format_text(std::string_view format, std::span<const std::string> values) {
  std::string out;
  size_t next = 0;
  for (size_t at = 0; at < format.size(); ++at) {
    const char c = format[at];
    if (c != '{' && c != '}') {
      out += c;
    } else if (at + 1 < format.size() && format[at + 1] == c) {
      out += c;
      ++at;
    } else {
      const size_t end = format.find('}', at);
      require(c == '{' && end != std::string_view::npos, "the format \"", format, "\" has a single '", c, "' at byte ",
              at);
      const std::string_view field = format.substr(at + 1, end - at - 1);
      size_t index = next;
      const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), index);
      if (field.empty()) ++next;
      else if (error != std::errc() || stop != field.data() + field.size())
        fail(OPD_UNSUPPORTED, "the format \"", format, "\" has the field {", field, "}; {} and {number} are offered");
      if (index >= values.size())
        fail_as("IndexError", OPD_OUT_OF_RANGE, "the format \"", format, "\" names value ", index, ", but there are ",
                values.size());
      out += values[index];
      at = end;
    }
  }
  return out;
}

}  // namespace opd
