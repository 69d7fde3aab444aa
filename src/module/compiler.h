// C sources to shared libraries. The results are kept in the cache directory, and used again as long as nothing has
// changed of all that was compiled and linked: the source, every header, the compiler, its flags and the files in them.
#pragma once
#include <string>

#include "module/module.h"
#include "module/toolchain.h"

namespace opd {

using CompiledLibrary = KeptLibrary;  // in the cache directory

bool includes_tvm_headers(std::string_view source);  // which are then given by us, unless the flags lead to others

// Writes a source to `build` as source.c and preprocesses it by `command`: what the compiler said, and the text without
// the names of scratch files.
std::pair<ProcessResult, std::string> preprocessed(const Toolchain &tools, std::vector<std::string> command,
                                                   const std::string &text, const std::string &path,
                                                   const BuildDirectory &build);

// `path` is the source's, "" if it came from memory: for messages, and for headers beside it. Throws OPD_CALL_FAILED
// with what the compiler wrote; OPD_NOT_FOUND without a compiler. Several threads and processes may compile one source
// at once.
CompiledLibrary compile_source(const std::string &text, const std::string &path, const ModuleOptions &options);

}  // namespace opd
