// The parts of an exported module tree: files to compile and link, and bytes to embed.
#pragma once
#include <string>
#include <vector>

#include "module/module.h"
#include "module/toolchain/linker.h"

namespace opd {

struct ExportLayout {
  std::vector<LinkInput> inputs;
  std::string library;   // the bytes of a finished library, in place of inputs
  std::string embedded;  // the content of __tvm_ffi__library_bin; "" if the tree is only code
  std::string own;       // content of __opdyno_library_bin; "" without opdyno's own modules
};

// All modules with code are linked into one library module. If `with_more_code`, that module exists even if the tree
// has no code, as an import of the root. If the only code is a library that was loaded from a file, that library is not
// changed. `directory` is where the exported file will be. Throws OPD_UNSUPPORTED for a module that can be neither
// linked nor embedded, or that lies between modules that become the library.
ExportLayout plan_export(Module &root, bool with_more_code, const std::string &directory);

}  // namespace opd
