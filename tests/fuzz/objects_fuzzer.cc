// Any bytes as an object file or an archive of object files, read for inspection: refused, or a module of which
// everything can be asked that inspecting shows. Nothing is linked and nothing runs.
#include <cstdlib>
#include <string>

#include "opdyno/opdyno.hpp"

namespace {

// Reading may fail for what the bytes hold, never for a reason of the library's own.
bool is_refusal(opd_error *error) {
  const opd_code code = opd_error_code(error);
  if (error && (code == OPD_INTERNAL || !*opd_error_message(error))) std::abort();
  opd_error_release(error);
  return code != OPD_OK;
}

void inspect(const uint8_t *data, size_t size, const char *format) {
  opd_module_options options;
  opd_module_options_init(&options);
  options.inspect_only = 1;
  options.format = format;
  opdyno::Module module;
  if (is_refusal(opd_module_load_bytes(data, size, "any", &options, module.out()))) return;
  opdyno::Array names;
  if (is_refusal(opd_module_list_functions(module.get(), names.out()))) return;
  for (const std::string &name : names.strings()) {
    opdyno::Function function;
    is_refusal(opd_module_get_function(module.get(), name.c_str(), 1, function.out()));
  }
  opdyno::Handle<opd_buffer> json;
  is_refusal(opd_module_to_json(module.get(), json.out()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  inspect(data, size, "o");
  inspect(data, size, "a");
  return 0;
}
