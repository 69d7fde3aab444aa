// Object files to shared libraries, as the C compiler links them: once per content, kept in the cache directory.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "module/build_directory.h"
#include "module/compiler.h"

namespace opd {

struct LinkInput {
  std::string name;  // only its suffix matters: .o, .a or .c; the rest is for messages
  std::string content;
};

// Refuses what is no object file, archive or C source of this machine: OPD_BAD_FORMAT, OPD_UNSUPPORTED.
void check_link_inputs(const std::vector<LinkInput> &inputs, const std::string &origin);

// Writes the inputs to the directory and gives a command's words for them, all of every archive included.
std::vector<std::string> write_link_inputs(const std::vector<LinkInput> &inputs, const BuildDirectory &build);

// `origin` is where they came from, for messages. Throws OPD_CALL_FAILED with what the linker wrote; OPD_NOT_FOUND
// without one.
CompiledLibrary link_objects(const std::vector<LinkInput> &inputs, const std::string &origin,
                             const ModuleOptions &options);

}  // namespace opd
