// Calls of compiled functions: arguments that they would misread are converted or refused.
#include "module/kernel_args.h"

namespace opd {

int KernelFunction::run(void *self, const View *args, int32_t num_args, View *result) {
  const auto *kernel = static_cast<KernelFunction *>(self);
  if (check_kernel_args(args, num_args)) [[likely]]
    return kernel->raw(nullptr, args, num_args, result);
  return raising([&] { return kernel->run_converted(args, num_args, result); });
}

int KernelFunction::run_converted(const View *args, int32_t num_args, View *result) const {
  std::vector<View> converted(args, args + num_args);
  for (int32_t i = 0; i < num_args; ++i) {
    const View &arg = args[i];
    if (check_kernel_args(&arg, 1)) continue;
    if (!is_text(arg))
      fail_as("TypeError", OPD_INVALID_ARGUMENT, "argument ", i, " of compiled function ", name, " is of type ",
              type_key(arg.type), "; compiled functions take tensors, numbers, pointers and strings");
    const std::string_view text =
        as_text(arg, "argument");  // a 0 follows it: in the object, or in the unused bytes of the value
    if (text.find('\0') != std::string_view::npos || text.data()[text.size()] != '\0')
      fail_as("ValueError", OPD_INVALID_ARGUMENT, "argument ", i, " of compiled function ", name,
              " is a string with a 0 byte in it");
    converted[static_cast<size_t>(i)] = opd_cstring(text.data());
  }
  return raw(nullptr, converted.data(), num_args, result);
}

}  // namespace opd
