// C functions of a shared library as a module. Each has a name and a signature.
#pragma once
#include "base/bytes.h"
#include "module/module.h"

namespace opd {

struct NativeEntry {
  std::string name, signature;  // name, and signature as for opd_function_create_native()
};

// Throws OPD_NOT_FOUND for a symbol that the library lacks, OPD_INVALID_ARGUMENT for an invalid signature. With
// `inspect_only` the library was not loaded, and its functions are only listed.
Ref<Module> make_native_module(Ref<Module> library, std::vector<NativeEntry> entries, bool inspect_only = false);

// The embedded form of such a module: the path of the library, and the table of functions.
struct NativeTable {
  std::string library;  // its path; relative if it lies in the embedding file's directory
  std::vector<NativeEntry> entries;
};
inline constexpr std::string_view kNativeKind = "opdyno.native";
// Throws OPD_BAD_FORMAT with the offset. `name`: the embedding file, for messages.
NativeTable read_native_table(Bytes bytes, const std::string &name);

}  // namespace opd
