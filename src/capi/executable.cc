// Implements include/opdyno/executable.h.
#include "program/executable.h"

#include "capi/handles.h"
#include "vm/executable_module.h"

using namespace opd;

opd_error *opd_executable_load_bytes(const void *data, size_t size, opd_executable **out_executable) {
  return guard([&] {
    OPD_REQUIRE(out_executable);
    OPD_REQUIRE_ITEMS(data, size);
    *out_executable = wrap<opd_executable>(Executable::read({static_cast<const uint8_t *>(data), size}));
  });
}

opd_error *opd_executable_save_bytes(const opd_executable *executable, opd_buffer **out_bytes) {
  return guard([&] {
    OPD_REQUIRE(executable, out_bytes);
    give_text(unwrap<Executable>(executable)->write(), out_bytes);
  });
}

opd_error *opd_executable_assemble(const char *text, size_t size, opd_executable **out_executable) {
  return guard([&] {
    OPD_REQUIRE(out_executable);
    OPD_REQUIRE_ITEMS(text, size);
    *out_executable = wrap<opd_executable>(Executable::assemble({text, size}));
  });
}

opd_error *opd_executable_write(const opd_executable *executable, opd_executable_format format, opd_buffer **out_text) {
  return guard([&] {
    OPD_REQUIRE(executable, out_text);
    const Executable &program = *unwrap<Executable>(executable);
    switch (static_cast<int>(format)) {
      case OPD_EXECUTABLE_ASSEMBLY:
        return give_text(program.to_assembly(), out_text);
      case OPD_EXECUTABLE_PYTHON:
        return give_text(program.to_python(), out_text);
      case OPD_EXECUTABLE_JSON:
        return give_text(program.to_json(), out_text);
      case OPD_EXECUTABLE_STATS:
        return give_text(program.to_stats(), out_text);
      default:
        fail(OPD_INVALID_ARGUMENT, "format must be a format of executables, but is ", static_cast<int>(format));
    }
  });
}

opd_error *opd_executable_from_module(opd_module *module, opd_executable **out_executable) {
  return guard([&] {
    OPD_REQUIRE(module, out_executable);
    *out_executable = wrap<opd_executable>(executable_with_imports(*unwrap<Module>(module)));
  });
}

opd_error *opd_executable_to_module(opd_executable *executable, opd_module **out_module) {
  return guard([&] {
    OPD_REQUIRE(executable, out_module);
    *out_module = wrap<opd_module>(module_with_imports(Ref<Executable>::share(unwrap<Executable>(executable))));
  });
}
