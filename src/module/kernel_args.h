// Checks arguments for compiled kernels. A kernel reads any object as a tensor, so other objects must be refused or
// converted before the call. Cost: a compare per argument.
#pragma once
#include "value/function.h"
#include "value/tensor.h"

namespace opd {

// Whether a kernel would read every argument correctly. Strings must become C strings first, and objects must be
// tensors.
inline bool check_kernel_args(const View *args, int32_t num_args) {
  bool good = true;
  for (int32_t i = 0; i < num_args; ++i) {
    const int32_t type = args[i].type;
    good &= (type < OPD_OBJECT && type != OPD_SMALL_STRING) || (type == OPD_TENSOR && args[i].u.object);
  }
  return good;
}

// Whether an argument is a read-only tensor. Returns false for a DLTensor without its object. It is not known which
// DLTensors compiled code writes. So calls with read-only tensors are refused, unless the caller passes a DLTensor
// view. The interpreter checks a program's own calls.
inline bool has_read_only(const View *args, int32_t num_args) {
  bool found = false;
  for (int32_t i = 0; i < num_args; ++i)
    found |= args[i].type == OPD_TENSOR && args[i].u.object && is_read_only(*static_cast<Tensor *>(object_of(args[i])));
  return found;
}
[[noreturn]] void refuse_read_only(const std::string &function, const View *args, int32_t num_args);

// A function of a compiled library in tvm-ffi's calling convention. If check_kernel_args() is true and has_read_only()
// is false, its holder may call `raw(nullptr, args, num_args, result)` directly. as_kernel() finds it.
struct KernelFunction final : Function {
  SafeCall raw;
  Ref<Object> library;  // keeps the code mapped, and the module in which the code looks functions up
  std::string name;

  KernelFunction(SafeCall code, Ref<Object> keep_alive, std::string called)
      : Function(&run), raw(code), library(std::move(keep_alive)), name(std::move(called)) {}
  static int run(void *self, const View *args, int32_t num_args, View *result);

 private:
  int run_converted(const View *args, int32_t num_args, View *result) const;
};

// A C++ function that checks and converts its arguments itself, with tvm-ffi's headers.
struct TypedFunction final : Function {
  SafeCall raw;
  Ref<Object> library;
  std::string name;

  TypedFunction(SafeCall code, Ref<Object> keep_alive, std::string called)
      : Function(&run), raw(code), library(std::move(keep_alive)), name(std::move(called)) {}
  static int run(void *self, const View *args, int32_t num_args, View *result);
};

inline KernelFunction *as_kernel(Function &function) {
  return function.safe_call == &KernelFunction::run ? static_cast<KernelFunction *>(&function) : nullptr;
}
inline TypedFunction *as_typed(Function &function) {
  return function.safe_call == &TypedFunction::run ? static_cast<TypedFunction *>(&function) : nullptr;
}

}  // namespace opd
