// The modules embedded in a library: their tree, and the bytes of each.
#pragma once
#include <string>
#include <vector>

#include "base/bytes.h"
#include "module/kind_registry.h"

namespace opd {

struct EmbeddedModule {
  std::string_view kind;  // "_lib" is the library itself
  Bytes bytes;
  std::vector<size_t> imports;  // indices in the list
};
inline constexpr std::string_view kLibraryEntry = "_lib";
inline constexpr std::string_view kTvmEntry = "_tvm";  // in opdyno's tree; its bytes: u64, index of an entry in TVM's
inline constexpr std::string_view kOwnKindPrefix = "opdyno.";

// Reads the content of a library's symbol __tvm_ffi__library_bin; entry 0 is the root. Throws OPD_BAD_FORMAT with the
// offset in the symbol: for counts that the bytes cannot hold, an import that does not exist, a cycle, a second "_lib".
// `name` is the library's, for messages.
std::vector<EmbeddedModule> read_embedded_modules(Bytes blob, const std::string &name);

// A module from the bytes that its kind stores in libraries, without its imports.
Ref<Module> make_module(std::string_view kind, const EmbeddedBytes &given);
// Makes the modules, with `library` for "_lib", links them and returns the root. `derived` gets a slot for each module.
Ref<Module> make_embedded_modules(Bytes blob, const Ref<Module> &library, const std::string &name,
                                  const ModuleOptions &options, std::vector<Ref<Object>> &derived);

// The same for the symbol __opdyno_library_bin. It holds the whole tree; the tree for TVM leaves opdyno's own modules
// out. Its entries are "_lib", "_tvm" and kinds "opdyno.…". `blob` is TVM's, which may be absent.
using OwnLoader = std::function<Ref<Module>(std::string_view kind, Bytes bytes)>;
Ref<Module> make_own_modules(Bytes own, Bytes blob, const Ref<Module> &library, const std::string &name,
                             const ModuleOptions &options, std::vector<Ref<Object>> &derived, const OwnLoader &loader);

}  // namespace opd
