// Loads modules from bytes. Their first bytes decide about the format, else the name's suffix.
#pragma once
#include "module/kinds/library_module.h"
#include "module/module.h"
#include "module/toolchain/linker.h"

namespace opd {

std::string module_kind_of_magic(uint64_t magic);  // "" if no kind of file has this magic

// Loads a shared library with its embedded modules and returns the root of the import tree. `mapped` and `file` are as
// in LibraryModule. `original` returns the library's bytes again.
Ref<Module> load_shared_library(const std::shared_ptr<LibraryImage> &image, const std::string &mapped,
                                const std::string &file, const ModuleOptions &options,
                                LibraryModule::Original original);
// Makes the tree of a library's embedded modules, with `library` in its place. `blob` and `own` are those of
// make_own_modules(), without data if there are none.
Ref<Module> load_embedded(Bytes blob, Bytes own, const Ref<Module> &library, const std::string &file,
                          const std::string &name, const ModuleOptions &options, std::vector<Ref<Object>> &derived);

// Links object files, archives of them and C sources, and loads the result. `file` is the file that they came from,
// `name` its name for messages.
Ref<Module> load_objects(const std::vector<LinkInput> &inputs, const std::string &file, const std::string &name,
                         const ModuleOptions &options);

// Compiles a C source and loads the result.
Ref<Module> load_source(const std::string &text, const std::string &path, const ModuleOptions &options);

}  // namespace opd
