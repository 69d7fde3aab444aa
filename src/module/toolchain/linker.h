// Links object files to shared libraries with the C compiler. Each content is linked once; the result is kept in the
// cache directory.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/build_directory.h"
#include "module/toolchain/compiler.h"

namespace opd {

struct LinkInput {
  std::string name;  // the suffix .o, .a or .c matters; the rest is for messages
  std::string content;
};

// Throws OPD_BAD_FORMAT or OPD_UNSUPPORTED unless all inputs are object files, archives or C sources for this machine.
void check_link_inputs(const std::vector<LinkInput> &inputs, const std::string &origin);

// Writes the inputs to the directory and returns their words for a link command. Archives are linked as a whole.
std::vector<std::string> write_link_inputs(const std::vector<LinkInput> &inputs, const BuildDirectory &build);

// `origin`: where the inputs came from, for messages. Throws OPD_CALL_FAILED with the linker's output, or OPD_NOT_FOUND
// if there is no linker.
CompiledLibrary link_objects(const std::vector<LinkInput> &inputs, const std::string &origin,
                             const ModuleOptions &options);

}  // namespace opd
