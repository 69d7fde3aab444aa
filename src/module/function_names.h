// The names of symbols in artifacts, which belong to functions or are for the loader.
#pragma once
#include <string_view>

namespace opd {

inline constexpr std::string_view kFunctionPrefix = "__tvm_ffi_";
inline constexpr std::string_view kPlacePrefix = ".tvm_func.";  // local symbols: the function is stored there
inline constexpr std::string_view kContextSymbol = "__tvm_ffi__library_ctx";  // receives the module's address
inline constexpr std::string_view kBlobSymbol = "__tvm_ffi__library_bin";     // embedded modules
inline constexpr std::string_view kOwnBlobSymbol = "__opdyno_library_bin";    // the tree with opdyno's own modules

// Whether a name, without the function prefix, is for loaders or describes another function. Such functions are not
// offered.
inline bool is_special_name(std::string_view name) {
  return name.starts_with("_metadata_") || name.starts_with("_doc_") || name.starts_with("_library_");
}

}  // namespace opd
