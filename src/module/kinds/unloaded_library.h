// A library loaded with ModuleOptions::inspect_only. Its functions are listed, but cannot be called.
#pragma once
#include <functional>

#include "module/library_facts.h"
#include "module/module.h"

namespace opd {

// `bytes` returns the library's bytes, as for a load. It is called only for an export.
using LibraryBytes = std::function<std::string()>;
Ref<Module> make_unloaded_library(LibraryFacts facts, std::string file, LibraryBytes bytes);

// Throws an error because a module loaded with inspect_only has no code.
[[noreturn]] void fail_not_loaded(std::string_view what, const std::string &file);

}  // namespace opd
