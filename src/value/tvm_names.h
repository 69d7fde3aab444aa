// Names in TVM's artifacts that several components recognise.
#pragma once
#include <string_view>

namespace opd {

inline constexpr std::string_view kBuiltinPrefix = "vm.builtin.";     // prefix of functions that the VM itself offers
inline constexpr const char *kExecutableKind = "relax.VMExecutable";  // kind of modules that are VM programs

}  // namespace opd
