// Calls of compiled functions. Arguments that they would misread are converted or refused.
#include <algorithm>

#include "module/kernel_args.h"

namespace opd {
namespace {

void refuse_without_object(const std::string &function, const View *args, int32_t num_args) {
  for (int32_t i = 0; i < num_args; ++i)
    if (lacks_object(args[i]))
      fail(OPD_INVALID_ARGUMENT, "argument ", i, " of compiled function ", function, " is of type ",
           type_key(args[i].type), ", but has the object NULL");
}

}  // namespace

int KernelFunction::run(void *self, const View *args, int32_t num_args, View *result) {
  const auto *kernel = static_cast<KernelFunction *>(self);
  if (check_kernel_args(args, num_args) && !has_read_only(args, num_args)) [[likely]]
    return kernel->raw(nullptr, args, num_args, result);
  return raising([&] { return kernel->run_converted(args, num_args, result); });
}

int TypedFunction::run(void *self, const View *args, int32_t num_args, View *result) {
  const auto *function = static_cast<TypedFunction *>(self);
  if (!has_read_only(args, num_args) && std::none_of(args, args + num_args, lacks_object)) [[likely]]
    return function->raw(nullptr, args, num_args, result);
  return raising([&]() -> int {
    refuse_without_object(function->name, args, num_args);
    refuse_read_only(function->name, args, num_args);
  });
}

void refuse_read_only(const std::string &function, const View *args, int32_t num_args) {
  int32_t i = 0;
  while (i + 1 < num_args && !has_read_only(args + i, 1)) ++i;
  fail(OPD_INVALID_ARGUMENT, "argument ", i, " of compiled function ", function, " is ",
       describe(static_cast<Tensor *>(object_of(args[i]))->dl),
       ", which is read-only, and a compiled function does not say which arguments it writes; pass a copy, or a "
       "DLTensor "
       "view of the tensor if the function only reads it");
}

int KernelFunction::run_converted(const View *args, int32_t num_args, View *result) const {
  refuse_without_object(name, args, num_args);
  if (has_read_only(args, num_args)) refuse_read_only(name, args, num_args);
  std::vector<View> converted(args, args + num_args);
  for (int32_t i = 0; i < num_args; ++i) {
    const View &arg = args[i];
    if (check_kernel_args(&arg, 1)) continue;
    if (!is_text(arg))
      fail_as("TypeError", OPD_INVALID_ARGUMENT, "argument ", i, " of compiled function ", name, " is of type ",
              type_key(arg.type), "; compiled functions take tensors, numbers, pointers and strings");
    const std::string_view text =
        as_text(arg, "argument");  // a 0 follows: in the object, or in the unused bytes of the value
    if (text.find('\0') != std::string_view::npos || text.data()[text.size()] != '\0')
      fail_as("ValueError", OPD_INVALID_ARGUMENT, "argument ", i, " of compiled function ", name,
              " is a string with a 0 byte in it");
    converted[static_cast<size_t>(i)] = opd_cstring(text.data());
  }
  return raw(nullptr, converted.data(), num_args, result);
}

}  // namespace opd
