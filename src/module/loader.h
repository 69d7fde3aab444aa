// From bytes to a module: by what they start with, else by the name's suffix.
#pragma once
#include "module/library_module.h"
#include "module/linker.h"
#include "module/module.h"

namespace opd {

std::string module_kind_of_magic(uint64_t magic);  // "" if no kind of file starts so

// A shared library with what is embedded in it; gives the root of the import tree. `mapped` and `file` as in
// LibraryModule.
// `original` gives its bytes once more.
Ref<Module> load_shared_library(const std::shared_ptr<LibraryImage> &image, const std::string &mapped,
                                const std::string &file, const ModuleOptions &options,
                                LibraryModule::Original original);
// The tree of what is embedded in a library, with `library` in its place; `blob` and `own` are those of
// make_own_modules(), without data if there are none.
Ref<Module> load_embedded(Bytes blob, Bytes own, const Ref<Module> &library, const std::string &file,
                          const std::string &name, const ModuleOptions &options, std::vector<Ref<Object>> &derived);

// Object files, archives of them and C sources, linked. `file` is what they came from, `name` that for messages.
Ref<Module> load_objects(const std::vector<LinkInput> &inputs, const std::string &file, const std::string &name,
                         const ModuleOptions &options);

// A C source, compiled.
Ref<Module> load_source(const std::string &text, const std::string &path, const ModuleOptions &options);

}  // namespace opd
