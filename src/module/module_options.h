// Options for loading modules.
#pragma once
#include <opdyno/module.h>

#include <chrono>
#include <memory>
#include <string>

namespace opd {

class AllowedModules;

struct ModuleOptions {  // opd_module_options with defaults filled in
  opd_copy_policy copy = OPD_COPY_ALWAYS;
  std::string format, compiler, c_flags, cache_dir;
  bool inspect_only = false;                                // no code of the file may run
  std::chrono::milliseconds build_timeout{0};               // limit for the compiler and linker; 0: none
  bool alone = false;                                       // load without the embedded modules
  std::shared_ptr<const AllowedModules> allowed = nullptr;  // the files that may be loaded; null: all
};

}  // namespace opd
