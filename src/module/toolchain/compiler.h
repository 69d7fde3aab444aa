// Compiles C sources to shared libraries. The results are kept in the cache directory. They are reused until an input
// changes: the source, a header, the compiler, its flags or the files that these name.
#pragma once
#include <string>

#include "base/sealed_file.h"
#include "module/module_options.h"
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

}  // namespace opd
