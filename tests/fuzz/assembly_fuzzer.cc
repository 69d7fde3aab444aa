// Any text as assembly: refused with a place, or a program whose text gives the same program.
#include <cstdlib>
#include <cstring>
#include <opdyno/opdyno.hpp>

using namespace opdyno;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Executable executable;
  if (opd_error *error = opd_executable_assemble(reinterpret_cast<const char *>(data), size, executable.out())) {
    if (!*opd_error_message(error)) abort();
    opd_error_release(error);
    return 0;
  }
  const Executable again = Executable::assemble(executable.disassemble());
  if (again.save() != executable.save()) abort();
  return 0;
}
