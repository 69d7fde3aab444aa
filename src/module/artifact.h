// What an artifact's symbols tell before it is loaded: the TVM release it was made by, what it expects of its loader.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "module/elf_file.h"

namespace opd {

inline constexpr std::string_view kFunctionPrefix = "__tvm_ffi_";
inline constexpr std::string_view kContextSymbol = "__tvm_ffi__library_ctx";  // receives the module's address
inline constexpr std::string_view kBlobSymbol = "__tvm_ffi__library_bin";     // embedded modules
inline constexpr std::string_view kOwnBlobSymbol = "__opdyno_library_bin";    // their tree with modules that TVM lacks

// What precedes those two names, and the names of functions, in what TVM compiled for a system library (its attribute
// system_lib_prefix). "" if nothing does, or if there are several: then a loader must be told which one is meant.
std::string system_prefix(std::span<const std::string_view> symbol_names);
std::string system_prefix(const ElfFile &file);

// A pointer in the artifact that its loader fills with a function of that name, less the leading "__".
inline bool is_context_slot(const ElfSymbol &s) {
  return s.is_defined() && s.name.starts_with("__TVM") && (s.type == STT_OBJECT || s.type == STT_NOTYPE);
}
// A name of the artifact's own that a loader reads or fills.
inline bool is_own_tvm_name(const ElfSymbol &s) {
  return s.is_defined() && s.section != SHN_ABS && s.type != STT_GNU_IFUNC &&
         (s.name.starts_with("__tvm") || s.name.starts_with("__TVM") || s.name.ends_with(kContextSymbol));
}

// Whether anything of it is to be filled in or called by TVM's conventions; other libraries are opened as any program
// does.
bool uses_tvm_names(const ElfFile &file);

// "0.26 or newer", "0.22 or 0.23" …; "" if it cannot be told. Of a file, or of the names of its symbols.
std::string tvm_release(const ElfFile &file);
std::string tvm_release(std::span<const std::string_view> symbol_names);

// Throws OPD_UNSUPPORTED if it was made by a release with another calling convention, expects functions that nobody
// offers, or needs a better processor; OPD_BAD_FORMAT if filling its slots would damage it.
void require_loadable(const ElfFile &file);

}  // namespace opd
