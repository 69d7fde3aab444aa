// Any bytes as an executable: refused, or a program that runs safely, is printed, and assembles again.
#include <cstdlib>
#include <opdyno/opdyno.hpp>

namespace {

using namespace opdyno;

// Whatever the program does, it must end; what it asks for must fit.
void run_functions(const Executable &executable) {
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.memory_limit_bytes = 16 << 20;
  options.max_depth = 50;
  Vm vm;
  const Module module = executable.to_module();
  if (opd_error *error = opd_vm_create(module.get(), &options, vm.out())) return opd_error_release(error);
  Handle<opd_array> names;
  check(opd_vm_list_functions(vm.get(), names.out()));
  static const Tensor x({4}, "float32");
  for (int32_t i = 0; i < opd_array_count(names.get()) && i < 4; ++i) {
    Value name;
    check(opd_array_get(names.get(), i, name.out()));
    const char *data;
    size_t size;
    check(opd_string_get(&name.view(), &data, &size));
    const std::string text(data, size);
    Handle<opd_array> params;
    check(opd_vm_list_params(vm.get(), text.c_str(), params.out()));
    const std::vector<opd_value> args(opd_array_count(params.get()), arg(x));
    opd_call_options call;
    opd_call_options_init(&call);
    call.timeout_ns = 20'000'000;
    Value result;
    opd_error_release(
        opd_vm_call(vm.get(), text.c_str(), args.data(), static_cast<int32_t>(args.size()), &call, result.out()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Executable executable;
  if (opd_error *error = opd_executable_load_bytes(data, size, executable.out())) {
    if (!*opd_error_message(error)) abort();
    opd_error_release(error);
    return 0;
  }
  text_of(opd_executable_write, executable.get(), OPD_EXECUTABLE_JSON);
  const Executable again = Executable::load(executable.save());
  if (again.save() != executable.save()) abort();
  const std::string text = executable.disassemble();
  opd_executable *assembled = nullptr;  // functions that overlap or share a name have no text of their own
  if (opd_error *error = opd_executable_assemble(text.data(), text.size(), &assembled)) opd_error_release(error);
  else opd_executable_release(assembled);
  run_functions(executable);
  return 0;
}
