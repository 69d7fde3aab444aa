// A call as the VM's instrument shows it, for code that records the values that calls read and write.
#pragma once
#include <string>
#include <string_view>

#include "vm/vm.h"

namespace opd {

inline constexpr std::string_view kBuiltinPrefix = "vm.builtin.";
inline constexpr std::string_view kAllocTensor = "vm.builtin.alloc_tensor";
inline constexpr int kMostTuples = 16;  // limit for tuples around a value of a call; programs nest less

// The kernel that vm.builtin.call_tir_dyn calls; null for any other function. The kernel's arguments follow it, without
// the last one, which has sizes.
const Function *kernel_of(std::string_view name, Args args);

// False while the tensor's device captures a graph, because the copy would become a part of it.
bool is_readable(const DLTensor &tensor);

// Fills newly allocated memory with bytes 0xFF, which are NaN in floating point. Otherwise unwritten elements could
// have the right numbers from an earlier run by chance, and a kernel that forgets to write them would pass. It also
// makes writes visible as changed contents. Errors of the device are ignored here, because the call itself will report
// them.
void fill_unwritten(const DLTensor &tensor) noexcept;

}  // namespace opd
