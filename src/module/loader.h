// From bytes to a module: by what they start with, else by the name's suffix.
#pragma once
#include "module/library_image.h"
#include "module/module.h"

namespace opd {

std::string module_kind_of_magic(uint64_t magic);  // "" if no kind of file starts so

// A shared library with what is embedded in it; gives the root of the import tree. `path` is "" for bytes from memory.
Ref<Module> load_shared_library(const std::shared_ptr<LibraryImage> &image, const std::string &path,
                                const ModuleOptions &options);

// A C source, compiled.
Ref<Module> load_source(const std::string &text, const std::string &path, const ModuleOptions &options);

}  // namespace opd
