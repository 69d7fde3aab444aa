// The parts of an exported module tree: files to compile and link, and bytes to embed.
#pragma once
#include <string>
#include <vector>

#include "module/module.h"
#include "module/toolchain/linker.h"

namespace opd {

struct ExportLayout {
  std::vector<LinkInput> inputs;
  std::string library;   // the bytes of a library that is linked already, in place of inputs
  std::string embedded;  // the content of __tvm_ffi__library_bin; "" if the tree is only code
  std::string own;       // that of __opdyno_library_bin; "" without modules of opdyno's own
};

// All modules that contain code are linked into one library module. If `with_more_code`, that module exists even if the
// tree has no code, as an import of the root. If the only code is a library that was loaded from a file, it is kept as
// it is. The exported file will lie in `directory`. Throws OPD_UNSUPPORTED for a module that can be neither linked nor
// embedded, or that lies between modules that become the library.
ExportLayout plan_export(Module &root, bool with_more_code, const std::string &directory);

}  // namespace opd
