// The modules embedded in a library: their tree, and the bytes of each.
#pragma once
#include <string>
#include <vector>

#include "base/bytes.h"
#include "module/module.h"

namespace opd {

struct EmbeddedModule {
  std::string_view kind;  // "_lib" is the library itself
  Bytes bytes;
  std::vector<size_t> imports;  // places in the list
};
inline constexpr std::string_view kLibraryEntry = "_lib";

// Reads what a library's symbol __tvm_ffi__library_bin holds; entry 0 is the root. Throws OPD_BAD_FORMAT with the
// offset in the symbol: for counts that the bytes cannot hold, an import that does not exist, a cycle, a second "_lib".
// `name` is the library's, for messages.
std::vector<EmbeddedModule> read_embedded_modules(Bytes blob, const std::string &name);

// Makes the modules, `library` standing for "_lib", links them and gives the root. `derived`: a slot for each module.
Ref<Module> make_embedded_modules(Bytes blob, Ref<Module> library, const std::string &name,
                                  std::vector<Ref<Object>> &derived);

}  // namespace opd
