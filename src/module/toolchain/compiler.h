// Compiles C sources to shared libraries. The results are kept in the cache directory, and used again until any of
// their inputs changes: the source, a header, the compiler, its flags or the files that these name.
#pragma once
#include <string>

#include "base/sealed_file.h"
#include "module/module_options.h"
#include "module/toolchain/toolchain.h"

namespace opd {

using CompiledLibrary = KeptFile;  // in the cache directory

bool includes_tvm_headers(std::string_view source);  // opdyno then provides them, unless the flags name others

// Writes a source to `build` as source.c and preprocesses it by `command`. Returns the compiler's result, and the text
// without the names of scratch files.
std::pair<ProcessResult, std::string> preprocessed(const Toolchain &tools, std::vector<std::string> command,
                                                   const std::string &text, const std::string &path,
                                                   const BuildDirectory &build);

// `path` is the source's, "" if it came from memory: for messages, and for headers beside it. Throws OPD_CALL_FAILED
// with the compiler's output; OPD_NOT_FOUND if there is no compiler. Several threads and processes may compile one
// source at once.
CompiledLibrary compile_source(const std::string &text, const std::string &path, const ModuleOptions &options);

}  // namespace opd
