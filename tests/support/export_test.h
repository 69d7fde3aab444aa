// A module tree to export: a VM program, a C source in the form that TVM generates, an object file.
#pragma once
#include "support/module_test.h"

namespace opdyno_test {

inline const std::string kSumSource = R"(#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/base.h>
#include <tvm/runtime/c_backend_api.h>
TVM_DLL int32_t __tvm_ffi_sum(void* self_handle, void* args, int32_t num_args, void* result) {
  TVMFFIAny* arg = (TVMFFIAny*)args;
  if (num_args != 1 || arg->type_index != kTVMFFITensor) {
    const char* parts[2] = {"sum takes ", "a tensor"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, 2);
    return -1;
  }
  DLTensor* x = (DLTensor*)((char*)arg->v_ptr + 24);
  double sum = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) sum += ((float*)x->data)[i];
  ((TVMFFIAny*)result)->type_index = kTVMFFIFloat;
  ((TVMFFIAny*)result)->zero_padding = 0;
  ((TVMFFIAny*)result)->v_float64 = sum;
  return 0;
}
)";
inline const std::string kSquareSource = kArtifactHead + R"(
int __tvm_ffi_square(void *self, const Any *args, int32_t n, Any *result) {
  (void)self, (void)n;
  result->type = 3, result->length = 0, result->u.f = args[0].u.f * args[0].u.f;
  return 0;
}
)";

inline std::string build_object(const std::string &name, const std::string &source) {
  const std::string text = write_text(name + ".c", source), path = scratch_directory() + "/" + name + ".o";
  const char *cc = std::getenv("CC");
  const std::string command = std::string(cc && *cc ? cc : "cc") + " -O1 -fPIC -c -o '" + path + "' '" + text + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return path;
}

inline Module source_module(const std::string &text) {
  Module module;
  check(load_source(text, nullptr, module.out()));
  return module;
}

/** main(x) gives the square of the sum of x: the sum is C, the square an object file. */
inline Module tree_to_export() {
  const Module program = Executable::assemble(R"(
.func main(x) {
  %s = call sum(%x)
  %r = call square(%s)
  ret %r
}
)")
                             .to_module();
  program.add_import(source_module(kSumSource));
  program.add_import(Module::load_static_library(build_object("square", kSquareSource), {"square"}));
  return program;
}

}  // namespace opdyno_test
