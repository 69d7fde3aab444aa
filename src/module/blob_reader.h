// Loaders of modules by kind, and the modules embedded in a library: their tree, and the bytes of each. Embedded
// modules have the name of their kind; files are recognised by their first bytes. Higher layers register their loaders
// here.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "module/module.h"

namespace opd {

struct EmbeddedBytes {
  Bytes bytes;
  const std::string &name;  // name of the file, for messages
  const ModuleOptions &options;
  // Null, or a slot for an object that later loads of the same bytes may use. Two loads never use it at the same time.
  // Their modules may share only the immutable parts of the object.
  Ref<Object> *derived = nullptr;
};
using BytesLoader = std::function<Ref<Module>(const EmbeddedBytes &given)>;
void register_module_kind(std::string kind, BytesLoader loader);
BytesLoader find_module_kind(std::string_view kind);  // empty if unknown
// `magic`: the first 8 bytes of a file of that kind, little-endian.
void register_module_magic(uint64_t magic, std::string kind);
std::string module_kind_of_magic(uint64_t magic);  // "" if the magic is unknown

// The kinds of host modules that TVM embeds in libraries beside the library's own code.
void register_static_library_kind();  // object code, which is not changed
void register_const_loader_kind();    // constants of other modules
void register_source_kind();          // C sources, compiled at the first request for a function
void register_device_functions();     // not a kind: global functions that kernels of devices need

// ---- embedded modules

struct EmbeddedModule {
  std::string_view kind;  // "_lib" is the library itself
  Bytes bytes;
  std::vector<size_t> imports;  // indices in the list of modules
};
inline constexpr std::string_view kLibraryEntry = "_lib";
inline constexpr std::string_view kTvmEntry = "_tvm";  // in opdyno's tree: its bytes are a u64, the index in TVM's tree
inline constexpr std::string_view kOwnKindPrefix = "opdyno.";

// Reads the content of a library's symbol __tvm_ffi__library_bin; entry 0 is the root. Throws OPD_BAD_FORMAT with the
// offset in the symbol if a count exceeds the bytes, an import does not exist, there is a cycle, or "_lib" occurs
// twice. `name` is the library's, for messages.
std::vector<EmbeddedModule> read_embedded_modules(Bytes blob, const std::string &name);

// Makes a module from the bytes that its kind stores in libraries. Its imports are not set.
Ref<Module> make_module(std::string_view kind, const EmbeddedBytes &given);
// Makes the modules, with `library` for "_lib". Links them and returns the root. `derived` gets a slot for each module.
Ref<Module> make_embedded_modules(Bytes blob, const Ref<Module> &library, const std::string &name,
                                  const ModuleOptions &options, std::vector<Ref<Object>> &derived);

// Makes the modules of the symbol __opdyno_library_bin. It holds the whole tree, while the tree for TVM lacks opdyno's
// own modules. Its entries have the kinds "_lib", "_tvm" and "opdyno.…". `blob` is TVM's tree; it may be absent.
using OwnLoader = std::function<Ref<Module>(std::string_view kind, Bytes bytes)>;
Ref<Module> make_own_modules(Bytes own, Bytes blob, const Ref<Module> &library, const std::string &name,
                             const ModuleOptions &options, std::vector<Ref<Object>> &derived, const OwnLoader &loader);

}  // namespace opd
