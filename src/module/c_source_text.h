// Extracts facts from the text of a C source, without a compiler. They are correct for sources that TVM generated.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace opd {

bool is_identifier(char c);  // true for a letter, a digit or '_'

// The functions that a C source names as __tvm_ffi_<name>(…). Names that macros form are not found.
std::vector<std::string> functions_named_in(std::string_view c_source);

// The bytes of an array in a C source if it has TVM's form `NAME[COUNT] = {0x12,0x34 …}`, else "".
std::string bytes_written_in(std::string_view c_source, std::string_view array);

}  // namespace opd
