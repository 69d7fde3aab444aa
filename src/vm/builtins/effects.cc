// Printing and assertions. The library never prints: the text goes to the log, as information.
#include "base/log.h"
#include "vm/builtins/builtins.h"
#include "vm/builtins/render.h"
#include "vm/builtins/tensor_args.h"

namespace opd {
namespace {

std::string joined(std::span<const std::string> values, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += concat(i ? between : "", values[i]);
  return out;
}

std::vector<std::string> rendered(Args args) {
  std::vector<std::string> texts;
  for (const View &arg : args) texts.push_back(render(arg));
  return texts;
}

Value print(Args args) {
  check_count(args, 1, SIZE_MAX, "(format, values …)");
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
  check_count(args, 2, SIZE_MAX, "(condition, format, values …)");
  const std::string_view format = as_text(args[1], "format");
  if (holds(args[0])) return {};
  const auto values = rendered(args.subspan(2));
  const std::string text = format.empty() ? joined(values, ", ") : format_text(format, values);
  fail_as("AssertionError", OPD_CALL_FAILED, text.empty() ? "Assertion Failed" : text.c_str());
}

Value debug_print(Args args) {
  check_count(args, 2, 2, "(line, tensor)");
  const DLTensor &tensor = as_dltensor(args[1], "tensor");
  std::string shape;
  append_dims(shape, dims_of(tensor));
  log_message(OPD_LOG_INFO, concat(as_text(args[0], "line"), ": shape = ", shape,
                                   ", dtype = ", dtype_name(tensor.dtype), ", data =\n", render(args[1])));
  return {};
}

// T.trace: logs its arguments and returns the last one, the traced value.
Value trace(Args args) {
  check_count(args, 1, SIZE_MAX, "(names …, value)");
  log_message(OPD_LOG_INFO, concat("[", joined(rendered(args), ", "), "]"));
  return Value(args.back());
}

constexpr Builtin kEffectBuiltins[] = {
    builtin<"relax.run.print", print>(),
    builtin<"relax.run.assert_op", assert_op>(),
    builtin<"tvm.default_trace_action", trace>(),
    builtin<"vm.builtin.debug_print", debug_print>(),
};

}  // namespace

std::span<const Builtin> effect_builtins() { return kEffectBuiltins; }

}  // namespace opd
