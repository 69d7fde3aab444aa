// A program of one kernel, which adds 1 to four floats, and VMs of programs that call it.
#pragma once
#include "support/opdyno_test.h"

namespace opdyno_test {

// out[i] = in[i] + 1 for four floats.
inline void define_add_one() {
  define("test.add_one", [](const opd_value *args, int32_t num_args, opd_value *) {
    if (num_args != 2) throw std::runtime_error("add_one takes 2 arguments");
    for (int i = 0; i < 4; ++i) elements(args[1])[i] = elements(args[0])[i] + 1;
  });
}

inline Vm make_vm(const std::string &body, const opd_vm_options *options = nullptr) {
  define_add_one();
  return Vm(Executable::assemble(body).to_module(), options);
}

inline const char *const kAddOne = R"(
.func main(x) {
  call vm.builtin.check_tensor_info(%x, 1, dtype(float32), "main")
  call vm.builtin.match_shape(%x, %void, 1, 0, 4, "main")
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.add_one(%x, %t)
  ret %t
})";

}  // namespace opdyno_test
