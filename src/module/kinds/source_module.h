// C sources as modules: their text, and the library compiled from it.
#pragma once
#include "module/module.h"

namespace opd {

// Compiles `text`. `path`: file that it came from; "" for memory.
Ref<Module> make_source_module(const std::string &text, const std::string &path, const ModuleOptions &options);

struct SourceText {
  std::string text, format;
  std::vector<std::string> functions;  // the known functions
};
// Makes a module of a source that is compiled at the first request for a function; with `inspect_only` it is never
// compiled. `origin`: its name in messages. `file`: "" for a source that is embedded in a library.
Ref<Module> make_uncompiled_source(SourceText source, std::string origin, std::string file,
                                   const ModuleOptions &options);

}  // namespace opd
