// What the bytes of a shared library, or of the objects that one is linked from, tell without running any of them.
#pragma once
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "module/elf_file.h"
#include "module/linker.h"

namespace opd {

struct LibrarySizes {
  uint64_t file = 0, memory = 0, code = 0, embedded = 0;
  void describe(JsonWriter &json) const;
};
LibrarySizes sizes_of(const ElfFile &file);

// Whether a symbol is a function that the library offers. Indirect functions (ifunc) count: the loader asks their
// resolver for the address, so only a loaded library knows it.
bool is_offered_function(const ElfFile &file, const ElfSymbol &symbol);

// Modules embedded in a library: the whole of a symbol, within the file's bytes; no data if it has none.
Bytes embedded_in(const ElfFile &file, std::string_view name);
// The modules that TVM embedded, also those of a system library.
Bytes embedded_by_tvm(const ElfFile &file);

struct LibraryFacts {
  struct OfferedFunction {
    std::string name;  // without the prefix
    uint64_t bytes;
  };
  std::string release;       // the TVM releases that make such files; "" if it cannot be told
  std::string not_loadable;  // why this build cannot load it; "" if nothing is known against it
  std::string prefix;        // system_prefix()
  bool is_compiled = true;   // false if part of it is C sources, which may have more functions than their text names
  std::vector<OfferedFunction> functions;
  LibrarySizes sizes;
};
// Throws OPD_BAD_FORMAT as loading would.
LibraryFacts facts_of(const ElfFile &file);

struct ObjectFacts {
  LibraryFacts library;
  std::string embedded, own;  // kBlobSymbol, kOwnBlobSymbol; "" if there are none
};
// Of what link_objects() would link: objects, archives of them, C sources. `origin` is for messages. Throws
// OPD_BAD_FORMAT with the offset.
ObjectFacts facts_of(const std::vector<LinkInput> &inputs, const std::string &origin);

}  // namespace opd
