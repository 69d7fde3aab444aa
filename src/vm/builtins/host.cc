// Builtins that work with the host: printing and assertions, functions that it registers, device graphs.
#include <charconv>
#include <cmath>

#include "base/log.h"
#include "params/params.h"
#include "value/number_blocks.h"
#include "vm/builtins/builtins.h"
#include "vm/builtins/tensor_args.h"
#include "vm/vm.h"

namespace opd {
namespace {

// ---- values as Python prints them, for relax.print and relax.assert_op

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

// Renders tensors with their elements, tuples in parentheses, text without quotes.
std::string render(const View &v) {
  std::string out;
  append_value(out, v, 0);
  return out;
}

// Formats texts like Python's str.format: "{}", "{1}", "{{" and "}}". Throws for formats that Python refuses, and for
// format specifications.
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

// ---- printing and assertions. The library never prints: the text goes to the log, as information.

std::vector<std::string> rendered(Args args) {
  std::vector<std::string> texts;
  for (const View &arg : args) texts.push_back(render(arg));
  return texts;
}

Value print(Args args) {
  const std::string_view format = as_text(args[0], "format");
  const auto values = rendered(args.subspan(1));
  log_message(OPD_LOG_INFO, format.empty() ? joined(values, " ") : format_text(format, values));
  return {};
}

bool holds(const View &condition) {
  if (condition.type == OPD_BOOL || condition.type == OPD_INT) return condition.u.int64 != 0;
  const DLTensor &tensor = compact_tensor(condition, "condition");
  require(tensor.dtype.code == kDLBool && tensor.dtype.bits == 8 && tensor.dtype.lanes == 1 && tensor.ndim == 0,
          "condition must be a bool, an int or a bool tensor of rank 0, but is ", describe(tensor));
  return *data_of(tensor) != 0;
}

Value assert_op(Args args) {
  const std::string_view format = as_text(args[1], "format");
  if (holds(args[0])) return {};
  const auto values = rendered(args.subspan(2));
  const std::string text = format.empty() ? joined(values, ", ") : format_text(format, values);
  fail_as("AssertionError", OPD_CALL_FAILED, text.empty() ? "Assertion Failed" : text.c_str());
}

Value debug_print(Args args) {
  const DLTensor &tensor = as_dltensor(args[1], "tensor");
  log_message(OPD_LOG_INFO, concat(as_text(args[0], "line"), ": shape = ", dims_text(dims_of(tensor)),
                                   ", dtype = ", dtype_name(tensor.dtype), ", data =\n", render(args[1])));
  return {};
}

// T.trace: logs its arguments and returns the last one, the traced value.
Value trace(Args args) {
  log_message(OPD_LOG_INFO, concat("[", joined(rendered(args), ", "), "]"));
  return Value(args.back());
}

// ---- functions that the host registers by name, for programs to call: TVM's registry of Python functions, for any
// language

using HostFunctions = NamedObjects<Function, LockRank::kHostFunctions>;

Ref<Function> host_function(std::string_view name) {
  if (auto function = HostFunctions::global().find(name)) return function;
  const auto names = HostFunctions::global().names();
  fail(OPD_NOT_FOUND, "there is no function \"", name, "\" among the ", names.size(),
       " registered by vm.builtin.register_py_func.", suggestion(name, names));
}

Value register_py_func(Args args) {
  const std::string_view name = as_text(args[0], "name");
  HostFunctions::global().set(name, lasting_function(as<Function>(args[1], "function")), true);
  return {};
}

Value get_py_func(Args args) { return host_function(as_text(args[0], "name")); }

Value call_py_func(Args args) {  // the compiler passes one tuple: a name and a tuple of arguments
  const auto &pair = as<Array>(args[0], "the argument");
  require(pair.size() == 2, "the argument must be a tuple of a name and a tuple, but has ", pair.size(), " items");
  const auto function = host_function(as_text(pair.items()[0], "name"));
  return call(*function, as<Array>(pair.items()[1], "the function's arguments").views());
}

Value clear_py_func_registry(Args) {
  HostFunctions::global().clear();
  return {};
}

// ---- the memory and device graphs that a program keeps between its calls, as TVM's pass for CUDA graphs arranges them

Value get_cached_alloc(Args args) {
  return run_of(args[0]).graphs.allocation(as<Function>(args[1], "function"), as_int(args[2], "index"));
}

Value run_or_capture(Args args) {
  Run &run = run_of(args[0]);
  const auto &tuple = as<Array>(args[2], "arguments");
  const std::vector<View> items(tuple.items(), tuple.items() + tuple.size());
  const auto shape = args.size() == 5 ? as<Shape>(args[4], "shape").dims() : std::span<const int64_t>();
  return run.graphs.run(*run.vm, as<Function>(args[1], "function"), items, as_int(args[3], "index"), shape);
}

constexpr Builtin kHostBuiltins[] = {
    builtin<"relax.run.print", print, "(format, values …)", 1, SIZE_MAX>(),
    builtin<"relax.run.assert_op", assert_op, "(condition, format, values …)", 2, SIZE_MAX>(),
    builtin<"tvm.default_trace_action", trace, "(names …, value)", 1, SIZE_MAX>(),
    builtin<"vm.builtin.debug_print", debug_print, "(line, tensor)", 2>(),
    builtin<"vm.builtin.register_py_func", register_py_func, "(name, function)", 2>(),
    builtin<"vm.builtin.get_py_func", get_py_func, "(name)", 1>(),
    builtin<"vm.builtin.call_py_func", call_py_func, "((name, (arguments …)))", 1>(),
    builtin<"vm.builtin.clear_py_func_registry", clear_py_func_registry, "()", 0>(),
    builtin<"vm.builtin.cuda_graph.get_cached_alloc", get_cached_alloc, "(vm, function, index)", 3>(),
    builtin<"vm.builtin.cuda_graph.run_or_capture", run_or_capture, "(vm, function, arguments, index [, shape])", 4,
            5>(),
};

}  // namespace

std::span<const Builtin> host_builtins() { return kHostBuiltins; }

}  // namespace opd
