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
inline constexpr std::string_view kTvmEntry = "_tvm";  // in our own tree: u64, the place of an entry in TVM's
inline constexpr std::string_view kOwnKindPrefix = "opdyno.";

// Reads what a library's symbol __tvm_ffi__library_bin holds; entry 0 is the root. Throws OPD_BAD_FORMAT with the
// offset in the symbol: for counts that the bytes cannot hold, an import that does not exist, a cycle, a second "_lib".
// `name` is the library's, for messages.
std::vector<EmbeddedModule> read_embedded_modules(Bytes blob, const std::string &name);

// Makes the modules, `library` standing for "_lib", links them and gives the root. `derived`: a slot for each module.
Ref<Module> make_embedded_modules(Bytes blob, const Ref<Module> &library, const std::string &name,
                                  const ModuleOptions &options, std::vector<Ref<Object>> &derived);

// The same of the symbol __opdyno_library_bin, which holds the tree as it is where TVM is given one without our own
// modules: its entries are "_lib", "_tvm" and kinds "opdyno.…". `blob` is TVM's, which may be absent.
using OwnLoader = std::function<Ref<Module>(std::string_view kind, Bytes bytes)>;
Ref<Module> make_own_modules(Bytes own, Bytes blob, const Ref<Module> &library, const std::string &name,
                             const ModuleOptions &options, std::vector<Ref<Object>> &derived, const OwnLoader &loader);

}  // namespace opd
