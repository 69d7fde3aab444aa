// Facts from the bytes of a shared library, or of the objects for linking it. No code of it runs.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_writer.h"
#include "module/elf/elf_file.h"
#include "module/toolchain/compiler.h"

namespace opd {

struct LibrarySizes {
  uint64_t file = 0, memory = 0, code = 0, embedded = 0;
  void describe(JsonWriter &json) const {
    json.key("size_bytes").value(file).key("memory_bytes").value(memory);
    json.key("code_bytes").value(code).key("embedded_bytes").value(embedded);
  }
};
LibrarySizes sizes_of(const ElfFile &file);

// Whether a symbol is a function that the library offers. Indirect functions (ifunc) count. Only a loaded library has
// their addresses, because the loader gets these from the resolvers.
bool is_offered_function(const ElfFile &file, const ElfSymbol &symbol);

// The bytes of the symbol with this name, such as embedded modules. No data if the library has none.
Bytes embedded_in(const ElfFile &file, std::string_view name);
// The modules that TVM embedded, including those of a system library.
Bytes embedded_by_tvm(const ElfFile &file);

// The read-only parts of the file's bytes, without the embedded modules.
std::vector<AddressRange> constants_without_embedded(const ElfFile &file);

// The functions that code calls by name. There are two sources, because neither is complete. TVM gives each place where
// code stores a function a local symbol with the function's name. Stripping a library removes these.
std::vector<std::string_view> functions_with_places(const ElfFile &file);
// Adds the builtins of VM programs that code calls. Code calls them in another way: it passes the name to its loader,
// as a string among its constants.
void add_called_builtins(Bytes constants, std::vector<std::string_view> &names);
void describe_called(JsonWriter &json, const std::vector<std::string_view> &names);  // writes "calls", if there are any

// The signatures of compiled kernels by name, from the kernels' error messages. A kernel's message for a wrong argument
// contains the whole signature. TVM stores that text among the constants of the library:
// "add(x: Tensor([T.int64(4)], float32), y: Tensor([T.int64(4)], float32))". Nothing else in a library describes the
// arguments of its kernels. The text is read without a call: a kernel that does not check its arguments must not be
// called with wrong ones. The texts are parts of `constants`. Cost: one search.
using KernelSignatures = std::unordered_map<std::string_view, std::string_view>;
KernelSignatures kernel_signatures(std::span<const Bytes> constants);

struct LibraryFacts {
  struct OfferedFunction {
    std::string name;  // without the prefix
    uint64_t bytes;
  };
  std::string release;       // TVM releases that make such files; "" if unknown
  std::string not_loadable;  // reason why this build cannot load it; "" if none is known
  std::string prefix;        // system_prefix()
  bool is_compiled = true;   // false if it includes C sources, which may have more functions than are listed
  std::vector<OfferedFunction> functions;
  std::vector<std::string> called;  // from functions_with_places() and add_called_builtins()
  LibrarySizes sizes;
};
// Throws OPD_BAD_FORMAT, like a load.
LibraryFacts facts_of(const ElfFile &file);

struct ObjectFacts {
  LibraryFacts library;
  std::string embedded, own;  // kBlobSymbol, kOwnBlobSymbol; "" if there are none
};
// Facts about the inputs of link_objects(): objects, archives, C sources. `origin` is for messages. Throws
// OPD_BAD_FORMAT with the offset.
ObjectFacts facts_of(const std::vector<LinkInput> &inputs, const std::string &origin);

}  // namespace opd
