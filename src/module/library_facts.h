// Facts from the bytes of a shared library, or of the objects that it is linked from, without running any code.
#pragma once
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "module/elf/elf_file.h"
#include "module/toolchain/linker.h"

namespace opd {

struct LibrarySizes {
  uint64_t file = 0, memory = 0, code = 0, embedded = 0;
  void describe(JsonWriter &json) const;
};
LibrarySizes sizes_of(const ElfFile &file);

// Whether a symbol is a function that the library offers. Indirect functions (ifunc) count: the loader asks their
// resolver for the address, so only a loaded library has it.
bool is_offered_function(const ElfFile &file, const ElfSymbol &symbol);

// The bytes of a symbol of that name, such as embedded modules; no data if the library has none.
Bytes embedded_in(const ElfFile &file, std::string_view name);
// The modules that TVM embedded, also those of a system library.
Bytes embedded_by_tvm(const ElfFile &file);

// The read-only parts of its bytes without the embedded modules.
std::vector<AddressRange> constants_without_embedded(const ElfFile &file);

// The functions that code calls by name come from two sources, since neither has all. TVM gives each place where code
// keeps a function a local symbol with the function's name; stripping removes these.
std::vector<std::string_view> functions_with_places(const ElfFile &file);
// Builtins of VM programs are called otherwise: code passes the name to its loader, as a string among its constants.
void add_called_builtins(Bytes constants, std::vector<std::string_view> &names);
void describe_called(JsonWriter &json, const std::vector<std::string_view> &names);  // "calls", if there are any

struct LibraryFacts {
  struct OfferedFunction {
    std::string name;  // without the prefix
    uint64_t bytes;
  };
  std::string release;       // the TVM releases that make such files; "" if unknown
  std::string not_loadable;  // why this build cannot load it; "" if no reason is known
  std::string prefix;        // system_prefix()
  bool is_compiled = true;   // false if part of it is C sources, which may have more functions than their text names
  std::vector<OfferedFunction> functions;
  std::vector<std::string> called;  // from both sources
  LibrarySizes sizes;
};
// Throws OPD_BAD_FORMAT as loading would.
LibraryFacts facts_of(const ElfFile &file);

struct ObjectFacts {
  LibraryFacts library;
  std::string embedded, own;  // kBlobSymbol, kOwnBlobSymbol; "" if there are none
};
// Facts of the inputs of link_objects(): objects, archives of them, C sources. `origin` is for messages. Throws
// OPD_BAD_FORMAT with the offset.
ObjectFacts facts_of(const std::vector<LinkInput> &inputs, const std::string &origin);

}  // namespace opd
