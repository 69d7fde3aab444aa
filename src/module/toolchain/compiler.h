// Compiles C sources, and links object files, to shared libraries with the C compiler. The results are kept in the
// cache directory. They are reused until an input changes: the source, a header, the compiler, its flags or the files
// that these name; or the content that is linked.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/cache_directory.h"
#include "module/module.h"
#include "module/toolchain/toolchain.h"

namespace opd {

using CompiledLibrary = KeptFile;  // a file in the cache directory

bool includes_tvm_headers(std::string_view source);  // if so, opdyno provides the headers, unless the flags name others

// Writes a source to `build` as source.c and preprocesses it with `command`. Returns the compiler's result, and the
// text without the names of scratch files.
std::pair<ProcessResult, std::string> preprocessed(const Toolchain &tools, std::vector<std::string> command,
                                                   const std::string &text, const std::string &path,
                                                   const BuildDirectory &build);

// `path`: the source's path, "" for memory. It is used for messages, and to find headers beside it. Throws
// OPD_CALL_FAILED with the compiler's output, or OPD_NOT_FOUND if there is no compiler. Several threads and processes
// may compile the same source at once.
CompiledLibrary compile_source(const std::string &text, const std::string &path, const ModuleOptions &options);

// ---- links

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
