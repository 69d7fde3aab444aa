// What a module tree becomes when it is exported: files to compile and link, and bytes to embed.
#pragma once
#include <string>
#include <vector>

#include "module/linker.h"
#include "module/module.h"

namespace opd {

struct ExportLayout {
  std::vector<LinkInput> inputs;
  std::string library;   // the bytes of a library that is linked already, in place of inputs
  std::string embedded;  // the content of __tvm_ffi__library_bin; "" if the tree is its code alone
  std::string own;       // that of __opdyno_library_bin; "" without modules that only opdyno knows
};

// Modules that are compiled or linked become one, the library itself; `with_more_code` that is not of the tree it is
// there in any case, as an import of the root. Throws OPD_UNSUPPORTED for a module that can be neither linked nor
// embedded, or that lies between others that become the library. The file will lie in `directory`.
// A library that was loaded from a file is kept as it is, if it is the only code.
ExportLayout plan_export(Module &root, bool with_more_code, const std::string &directory);

}  // namespace opd
