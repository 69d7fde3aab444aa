// Facts from an artifact's symbols before it is loaded: the TVM release that made it, and what it requires from the
// loader.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "module/elf/elf_file.h"
#include "module/function_names.h"

namespace opd {

// The functions that artifacts expect in the process, by name. tvmffi/ fills the table; module/ binds artifacts to it.
struct ProvidedSymbol {
  const char *name;
  void *address;
};

void provide_symbols(std::span<const ProvidedSymbol> symbols);  // they must have static storage duration
void *provided_symbol(std::string_view name);                   // null if opdyno does not have it

// The prefix of kContextSymbol, kBlobSymbol and function names in code that TVM compiled for a system library (its
// attribute system_lib_prefix). "" if there is none or more than one. If there is more than one, the caller must
// choose.
std::string system_prefix(std::span<const std::string_view> symbol_names);
std::string system_prefix(const ElfFile &file);

// Whether the symbol is a slot: a pointer in the artifact that the loader sets to a function. The function's name is
// the symbol's without the leading "__".
inline bool is_context_slot(const ElfSymbol &s) {
  return s.is_defined() && s.name.starts_with("__TVM") && (s.type == STT_OBJECT || s.type == STT_NOTYPE);
}
// Whether the artifact defines the symbol for its loader to read or to fill.
inline bool is_own_tvm_name(const ElfSymbol &s) {
  return s.is_defined() && s.section != SHN_ABS && s.type != STT_GNU_IFUNC &&
         (s.name.starts_with("__tvm") || s.name.starts_with("__TVM") || s.name.ends_with(kContextSymbol));
}

// Whether the file has symbols of TVM's conventions. Other libraries are opened with dlopen() only.
bool uses_tvm_names(const ElfFile &file);

// "0.26 or newer", "0.22 or 0.23" …; "" if unknown. Determined from a file, or from the names of its symbols.
std::string tvm_release(const ElfFile &file);
std::string tvm_release(std::span<const std::string_view> symbol_names);

// Throws OPD_UNSUPPORTED if the file was made by a TVM release with another calling convention, expects functions that
// opdyno lacks, or needs a newer processor. Throws OPD_BAD_FORMAT if filling its slots would damage it.
void require_loadable(const ElfFile &file);

}  // namespace opd
