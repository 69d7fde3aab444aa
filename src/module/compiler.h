// C sources to shared libraries, once per source, compiler and flags: the results are kept in the cache folder.
#pragma once
#include <string>

#include "module/module.h"

namespace opd {

struct CompiledLibrary {
  std::string path;     // in the cache folder
  std::string content;  // as it was read and found intact
};

bool includes_tvm_headers(std::string_view source);  // which are then given by us, unless the flags lead to others

// `path` is the source's, "" if it came from memory: for messages, and for headers beside it. Throws OPD_CALL_FAILED
// with what the compiler wrote; OPD_NOT_FOUND without a compiler. Several threads and processes may compile one source
// at once.
CompiledLibrary compile_source(const std::string &text, const std::string &path, const ModuleOptions &options);

}  // namespace opd
