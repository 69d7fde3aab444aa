#include "trace_views/libdw.h"

#include <dlfcn.h>

#include <type_traits>

#include "base/fork_mutex.h"

namespace opd {

bool Libdw::load() {
  const LoaderCall call;
  void *const library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  const auto find = [&](auto &function, const char *name) {
    void *const found = dlsym(library, name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    return found != nullptr;
  };
#define FIND(NAME) find(NAME, "dwfl_" #NAME)
#define FIND_DWARF(NAME) find(NAME, "dwarf_" #NAME)
  return FIND(begin) && FIND(end) && FIND(report_begin_add) && FIND(report_elf) && FIND(report_end) &&
         FIND(module_build_id) && FIND(module_addrname) && FIND(module_getsrc) && FIND(lineinfo) &&
         FIND(build_id_find_debuginfo) && FIND(module_nextcu) && FIND_DWARF(haspc) && FIND_DWARF(getsrc_die) &&
         FIND_DWARF(linesrc) && FIND_DWARF(lineno);
#undef FIND
#undef FIND_DWARF
}

const Libdw *Libdw::get() {
  struct Loaded {
    Libdw functions{};
    bool is_there = functions.load();
  };
  static const Loaded loaded{};
  return loaded.is_there ? &loaded.functions : nullptr;
}

}  // namespace opd
